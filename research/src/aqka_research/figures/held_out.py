"""The page about held-out tasks: every task's half, what was chosen on which, runs so far."""

from pathlib import Path

from aqka_research.circuit_tasks import KINDS, LABELLED, circuit_tasks, kind_of
from aqka_research.compare.tasks import TASKS
from aqka_research.figures.page import PageRun
from aqka_research.figures.run_record import read_runs, times_run
from aqka_research.markdown import table
from aqka_research.suite import HALVES, SUITE, half_of_suite
from aqka_research.suite_quantum import quantum_labelled

NONE = "none"
CHOICES = (
    ("the default learner: floor, tolerance, grid", "development", "candidates.md"),
    ("even shots as the default allocation of pairs", "development", "candidates.md"),
    ("the share of a budget that new points get", "breast cancer, digits 3/8, planted", NONE),
    ("linear Bayes and the test that settles a class", "breast cancer, digits 3/8, circles", NONE),
    ("settings of points, and where points replace pairs", "development", "points.md"),
    ("noise kept in projected kernels", "development", "points.md"),
    ("one pure state a point at few shots, nothing shared", "development", "points.md"),
    ("least quality of a tile", "calibrations of three fake Herons", "tiles.md"),
    ("scale and shots of Iris", "20 splits; accuracies are of 40 others", "iris.md"),
    ("training states and gate angles as priors of new points", "development", "prior.md"),
    ("which quantum-labelled candidates are kept", "seeds 1000 to 1002 of all; others run", NONE),
    ("the rules of verdicts on the paper", "before the first run", "readings.md"),
)
"""What was chosen, on which tasks, and the page that shows it."""


def page(run: PageRun) -> list[str]:
    """Write the page from the tasks and the record of runs."""
    runs = read_runs(run.path.parent)
    counts: dict[tuple[str, str], list[dict[str, str]]] = {}
    for one in runs:
        counts.setdefault((one["page"], one["half"]), []).append(one)
    rows = [
        (
            *(_link(run.path.with_name(f"{name}.md")), half, str(len(mine)), mine[-1]["version"]),
            "; ".join(dict.fromkeys(one["note"] for one in mine if "note" in one)),
        )
        for (name, half), mine in sorted(counts.items())
    ]
    chosen = [(what, where, _link(run.path.with_name(page))) for what, where, page in CHOICES]
    tasks = [(name, kind, half) for name, kind, half in _tasks()]
    sizes = {half: sum(one[2] == half for one in tasks) for half in HALVES}
    totals = ", ".join(f"the {half} half {times_run(run.path.parent, half)}" for half in HALVES)
    return [
        "# What is held out",
        f"Choices are made on development tasks, and figures to quote come from the "
        f"{sizes['confirmation']} confirmation tasks. The hash of a task's name decides its half, "
        f"{len(TASKS)} tasks apart on which earlier versions were developed. A run counts when it "
        f"begins, even if nobody likes what it shows; for all pages together: {totals} times.",
        "## What was chosen on which",
        table(("choice", "made on", "shown in"), chosen),
        "## How often each half was run",
        table(("page", "half", "runs", "last version", "remarks"), rows),
        "## All tasks",
        "\n".join(f"- *{kind}*: {words}." for kind, words in KINDS.items()),
        table(("task", "kind", "half"), tasks),
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
