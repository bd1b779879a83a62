"""The page about held-out tasks: every task's half, what was chosen on which, runs so far."""

from pathlib import Path

from aqka.demo.iris import SEED as DEMO_SEED
from aqka_research.benchmarks import (
    alignment,
    demo,
    feature_shrinkage,
    iris,
    point_allocation,
    point_prediction,
    projected,
    tolerant_pairs,
)
from aqka_research.circuit_tasks import KINDS, LABELLED, circuit_tasks, kind_of
from aqka_research.compare.tasks import TASKS
from aqka_research.figures.page import PageRun
from aqka_research.figures.run_record import read_runs, times_run
from aqka_research.markdown import table
from aqka_research.suite import HALVES, SUITE, Half, half_of_suite
from aqka_research.suite_quantum import quantum_labelled

NONE = "none"
CHOICES = (
    ("the default learner: floor, tolerance, grid", "development", "candidates.md"),
    ("even shots as the default allocation of pairs", "development", "candidates.md"),
    (
        "the share of a budget that new points get",
        "earlier tasks from breast cancer, digits 3/8, circles, planted",
        NONE,
    ),
    (
        "linear Bayes and the test that settles a class",
        "earlier tasks from breast cancer, digits 3/8, circles",
        NONE,
    ),
    ("settings of points, and where points replace pairs", "development", "points.md"),
    ("noise kept in projected kernels", "development", "points.md"),
    ("one pure state a point at few shots, nothing shared", "development", "points.md"),
    ("step lengths of every way to train a map", "its own development tasks", "alignment.md"),
    ("least quality of a tile", "calibrations of three fake Herons", "tiles.md"),
    ("scale and shots of Iris", "20 splits; accuracies are of 40 others", "iris.md"),
    ("training states and gate angles as priors of new points", "development", "prior.md"),
    (
        "no prior unless it is named: it must reach every target",
        "confirmation, with targets that were set before",
        "prior.md",
    ),
    ("shrinking below 30 shots per operator", "development", "shrinkage.md"),
    ("pairs read strictly unless named", "development", "flipped-bits.md"),
    ("`shrink=True` and no Wiener filter", "development", "models.md"),
    (
        "which quantum-labelled candidates are kept",
        "seeds 1000 to 1002 of all candidates; pages use other seeds",
        NONE,
    ),
    ("the rules of verdicts on the paper", "before the first run", "readings.md"),
)
"""What was chosen, on which tasks, and the page that shows it."""

OWN_TASKS: tuple[tuple[str, str, Half, list[str]], ...] = (
    ("alignment", "step lengths", "development", [*alignment.DEVELOPMENT]),
    ("alignment", "every figure of the page", "confirmation", [*alignment.HELD_OUT]),
    (
        "points",
        "even shots over points, or by sensitivity",
        "development",
        [
            f"{name}, {m} {n} qubits"
            for name, n in point_allocation.TASKS
            for m in point_allocation.MAPS
        ],
    ),
    (
        "points",
        "projected kernels; settings were chosen while looking at the test accuracy",
        "development",
        [name for name, *_ in projected.TASKS],
    ),
    (
        "points",
        "new points of three classes",
        "development",
        [f"Iris, {point_prediction.SPLITS} splits in halves"],
    ),
    (
        "flipped-bits",
        "pairs read tolerantly; the data are those of projected kernels",
        "development",
        [
            f"{name.split(',')[0]}, ZZ {n} qubits"
            for name, *_ in projected.TASKS
            for n in tolerant_pairs.QUBITS
        ],
    ),
    (
        "models",
        "features of many qubits, shrunk or not",
        "development",
        [f"{name}, ZZ map of all columns" for name in feature_shrinkage.WIDE],
    ),
    ("iris", "scale and shots", "development", [f"Iris, {len(iris.DEVELOPMENT)} splits"]),
    ("iris", "accuracies", "confirmation", [f"Iris, {len(iris.CONFIRMATION)} other splits"]),
    (
        "demo",
        "every figure of the page",
        "confirmation",
        [f"Iris, {demo.SEEDS} splits from seed {DEMO_SEED}"],
    ),
    ("public-data", "labels from fewer shots", "development", ["IBM's 60 qubits", "E.ON's 100"]),
)
"""Tasks that only one page has: the page, what they are used for, their half, their names."""


def page(run: PageRun) -> list[str]:
    """Write the page from the tasks and the record of runs."""
    runs = read_runs(run.path.parent)
    counts: dict[tuple[str, str], list[dict[str, str]]] = {}
    for one in runs:
        counts.setdefault((one["page"], one["half"]), []).append(one)
    rows = [
        (
            _link(run.path.with_name(f"{name}.md")),
            half,
            str(len(mine)),
            mine[-1]["version"],
            "; ".join(dict.fromkeys(one["note"] for one in mine if "note" in one)),
        )
        for (name, half), mine in sorted(counts.items())
    ]
    chosen = [(what, where, _link(run.path.with_name(page))) for what, where, page in CHOICES]
    tasks = _tasks()
    own = [
        (task, half, _link(run.path.with_name(f"{page}.md")) or page, use)
        for page, use, half, names in OWN_TASKS
        for task in names
    ]
    sizes = {half: sum(one[2] == half for one in tasks) for half in HALVES}
    totals = " and ".join(
        f"the {half} half {times_run(run.path.parent, half)} times" for half in HALVES
    )
    return [
        "# What is held out",
        "Choices are made on development tasks; figures to quote come from the "
        f"{sizes['confirmation']} confirmation tasks. The hash of a task's name decides its half, "
        f"except that {len(TASKS)} tasks on which earlier versions were developed are development "
        "tasks. Tasks that only one page uses are listed last. A run counts from its start, "
        f"whatever it shows: {totals} over all pages.",
        "## What was chosen on which tasks",
        table(("choice", "made on", "shown in"), chosen),
        "## How often each half was run",
        table(("page", "half", "runs", "last version", "remarks"), rows),
        "## All tasks of the suite",
        "\n".join(f"- *{kind}*: {words}." for kind, words in KINDS.items()),
        table(("task", "kind", "half"), tasks),
        "## Tasks of single pages",
        "A task is a confirmation task if nothing was chosen on it, and a development task if "
        "something was or may have been. Runs of Iris and of the demo are not counted above.",
        table(("task", "half", "page", "used for"), own),
    ]


def _link(path: Path) -> str:
    """Return a link to a page that is there."""
    return f"[{path.stem}]({path.name})" if path.is_file() else ""


def _tasks() -> list[tuple[str, str, str]]:
    found = [(name, "first eight", "development") for name in TASKS]
    for half in HALVES:
        with_circuit = set(circuit_tasks(half))
        for name in half_of_suite(half):
            other = "regression" if SUITE[name].kind == "regression" else "classical kernel"
            found.append((name, kind_of(name) if name in with_circuit else other, half))
        found += [(task.name, LABELLED, half) for task in quantum_labelled(half)]
    return found
