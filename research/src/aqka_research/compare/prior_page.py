"""The page about predictions without shots: verdicts, both groups apart, and every task."""

import numpy as np

from aqka_research.circuit_tasks import LABELLED, NATURAL
from aqka_research.compare.prior import (
    LEVELS,
    MOST_POINTS,
    MOST_QUBITS,
    NOISY_LEVELS,
    NOISY_QUBITS,
    NOISY_SEEDS,
    SEEDS,
    compare_priors,
    prior_tasks,
)
from aqka_research.compare.prior_findings import (
    AIMS,
    ALONE,
    COMBINED,
    FREE,
    NEW_POINTS,
    PLAIN,
    REFERENCE,
    STATES,
    PriorFindings,
    PriorSaving,
)
from aqka_research.compare.total_findings import geometric_mean
from aqka_research.figures.page import PageRun
from aqka_research.markdown import table

LEAST_RATIO, MOST_WRONG = 2.0, 0.05
SHOWN = (STATES, FREE, COMBINED)


def verdicts(found: PriorFindings) -> list[tuple[str, bool]]:
    """Return each aim in words with what was found, and whether it is reached."""
    savings = found.savings(LABELLED, AIMS[0], 1000)
    ratio, error = geometric_mean([saving.ratio(COMBINED) for saving in savings])
    settled = [one for group in found.groups for one in found.settled(group)]
    worst = max(settled, key=lambda one: one.wrong_share)
    above = sum(one.wrong_share > MOST_WRONG for one in settled)
    surely = sum(one.exceeds(MOST_WRONG) for one in settled)
    losses = dearer(found)
    return [
        (
            f"At 1,000 new points, quantum-labelled tasks need {ratio:.2f} times fewer total shots "
            f"with the prior for {AIMS[0]} (geometric mean, ± {error:.2f} of its logarithm over "
            f"tasks; target: at least {LEAST_RATIO:g})",
            ratio >= LEAST_RATIO,
        ),
        (
            f"The most wrong answers of the prior at {REFERENCE} shots a training point are "
            f"{worst.wrong} of {worst.free} ({worst.wrong_share:.1%}), on “{worst.task}”; {above} "
            f"of {len(settled)} tasks are above {MOST_WRONG:.0%}, {surely} of them by more than "
            f"chance gives in one task of twenty (target: at most {MOST_WRONG:.0%} in every task)",
            worst.wrong_share <= MOST_WRONG,
        ),
        (
            f"The prior costs more than points without it by over two standard errors in "
            f"{len(losses)} of {_cells(found)} cells of tasks, aims and new points (target: none)",
            not losses,
        ),
    ]


def dearer(found: PriorFindings) -> list[PriorSaving]:
    """Return where the prior needs more shots than none by over two standard errors."""
    return [
        saving
        for group in found.groups
        for aim in AIMS
        for new_points in NEW_POINTS
        for saving in found.savings(group, aim, new_points)
        if np.log(saving.ratio(COMBINED)) < -2 * max(saving.error[COMBINED], 1e-9)
    ]


def _cells(found: PriorFindings) -> int:
    return sum(map(len, found.groups.values())) * len(AIMS) * len(NEW_POINTS)


def page(run: PageRun) -> list[str]:
    """Measure the held-out tasks without noise, and write the page."""
    return _page(run, None)


def fez_page(run: PageRun) -> list[str]:
    """Measure the held-out tasks of few qubits with a fake Heron's noise, and write the page."""
    return _page(run, "fake_fez")


def _page(run: PageRun, device: str | None) -> list[str]:
    half = run.pick("confirmation", "development", "development")
    groups = prior_tasks(half, device)
    if run.size != "full":
        groups = {group: names[-1:] for group, names in groups.items()}
    full = (LEVELS, SEEDS) if device is None else (NOISY_LEVELS, NOISY_SEEDS)
    levels, seeds = run.pick(full, (LEVELS[:2], 2), (LEVELS[:2], 2))
    found = compare_priors(groups, seeds, levels=levels, device=device, cells_of=run.cells)
    return prior_blocks(found, half, device)


def prior_blocks(found: PriorFindings, half: str, device: str | None = None) -> list[str]:
    """Return the page."""
    where = "" if device is None else f" on {device}"
    judged = verdicts(found)
    return [
        f"# Predictions without shots{where}" + ("" if half == "confirmation" else f", {half}"),
        _introduction(found, half, device),
        "## What holds",
        "\n".join(f"- {text}: {'reached' if yes else '**not reached**'}." for text, yes in judged),
        _conclusion(found, all(yes for _, yes in judged)),
        "## Answered without a shot",
        "New points that the prior answers, mean and range over tasks; how many of these answers "
        "endless shots on the point would contradict (*wrong*), by the same head; and how many the "
        "exact kernel contradicts. At few shots it is the head that is wrong more often.",
        _answered(found),
        "The classical control, a Gaussian process on the labels, needs no shots: how often it "
        "gives the exact kernel's label, and accuracies.",
        _controls(found),
        "## Total shots",
        "How many times fewer shots than points without a prior, for training and new points "
        "together with the audit (5 % of the answers, at least 10): geometric mean over tasks ± "
        "the standard error of its logarithm. Each column adds to the one before: new points are "
        f"*{STATES}*; sure *{FREE}* cost nothing; the *{COMBINED}*, by precision, decides the "
        "others. *No shots needed*: tasks on which the control alone meets the aim.",
        _totals(found),
        "## Errors of f by shots",
        "Mean squared error of f over that of points without a prior, geometric mean over tasks "
        "and, in brackets, the largest of any task; how many intervals of 90 % cover; and how "
        "often the prior alone, with no shot on any new point, gives the exact label.",
        *(f"{group} tasks:\n\n{_readings(found, group)}" for group in found.groups),
        *(_tasks(found, group) for group in found.groups),
    ]


def _conclusion(found: PriorFindings, reached: bool) -> str:
    """Say what follows for the default, and why."""
    if reached:
        return "All targets are reached, so the prior is on by default."
    shares = {group: np.mean([one.share for one in found.settled(group)]) for group in found.groups}
    natural = [name for name in found.groups[NATURAL] if found.control_reaches(name, AIMS[0])]
    return (
        "Not all targets are reached, so every point is measured unless a prior is named. At "
        f"{REFERENCE} shots the angles explain f well enough to answer {shares[NATURAL]:.0%} of "
        f"the new points on natural tasks, and {shares[LABELLED]:.0%} on quantum-labelled ones. "
        f"On {len(natural)} of {len(found.groups[NATURAL])} natural tasks a classical model meets "
        f"“{AIMS[0]}” without any shot, and the right bill is 0."
    )


def _introduction(found: PriorFindings, half: str, device: str | None) -> str:
    seeds = len(next(iter(found.by_task.values())))
    qubits = MOST_QUBITS if device is None else NOISY_QUBITS
    counts = " and ".join(f"{len(names)} {group}" for group, names in found.groups.items())
    runs = (
        "Nothing was tuned on these tasks."
        if half == "confirmation"
        else "Choices were made here; figures to quote are those of the confirmation half."
    )
    noise = (
        ""
        if device is None
        else f" Counts have the exact noise of {device}, and nothing is corrected; the labels to "
        "agree with are those of the exact kernel without noise."
    )
    return (
        "A Gaussian process on the circuit's gate angles, with widths learnt from the measured "
        "kernel, answers new points that it is sure of; the others get as many shots as a training "
        f"point, and are read with the training states as a prior. The {half} half of the tasks, "
        f"at most {qubits} qubits and {MOST_POINTS} training points: {counts}; {seeds} seeds. "
        f"{runs}{noise}\n\n"
        "Natural tasks are scikit-learn's data sets with their own labels. Quantum-labelled ones "
        "have labels made from the quantum kernel, and are kept where the exact kernel is at least "
        "five points more accurate than the best of five classical models."
    )


def _answered(found: PriorFindings) -> str:
    rows = []
    for group in found.groups:
        for shots in found.levels:
            settled = found.settled(group, shots)
            shares = [one.share for one in settled]
            free, wrong, inexact = (
                sum(getattr(one, what) for one in settled)
                for what in ("free", "wrong", "not_exact")
            )
            rows.append(
                (
                    group,
                    f"{shots:g}",
                    f"{np.mean(shares):.0%} ({min(shares):.0%} to {max(shares):.0%})",
                    f"{wrong / max(free, 1):.1%}",
                    f"{inexact / max(free, 1):.1%}",
                )
            )
    heads = ("tasks", "shots a point", "without a shot", "wrong", "not the exact label")
    return table(heads, rows)


def _controls(found: PriorFindings) -> str:
    rows = []
    for group, names in found.groups.items():
        controls = [found.control(name) for name in names]
        means = (
            np.mean([control[what] for control in controls])
            for what in ("agreement", "accuracy", "exact", "majority")
        )
        rows.append((group, *(f"{mean:.0%}" for mean in means)))
    heads = ("tasks", "control agrees", "its accuracy", "exact kernel's", "majority class's")
    return table(heads, rows)


def _totals(found: PriorFindings) -> str:
    rows = []
    for group, names in found.groups.items():
        for aim in AIMS:
            for new_points in NEW_POINTS:
                savings = found.savings(group, aim, new_points)
                ratios = [
                    geometric_mean([saving.ratio(method) for saving in savings]) for method in SHOWN
                ]
                free = sum(found.control_reaches(name, aim) for name in names)
                rows.append(
                    (
                        group,
                        aim,
                        f"{new_points:,}",
                        *(f"{ratio:.2f} ± {error:.2f}" for ratio, error in ratios),
                        f"{free} of {len(names)}",
                    )
                )
    return table(
        ("tasks", "aim", "new points", *SHOWN, "no shots needed"),
        rows,
    )


def _readings(found: PriorFindings, group: str) -> str:
    rows = []
    for level, shots in enumerate(found.levels):
        each = [
            [result["levels"][level] for result in found.by_task[name]]
            for name in found.groups[group]
        ]
        cells = [f"{shots:g}"]
        for method in (STATES, COMBINED):
            ratios = [
                np.mean([row["f"][method]["error"] for row in task])
                / np.mean([row["f"][PLAIN]["error"] for row in task])
                for task in each
            ]
            cells.append(f"{geometric_mean(ratios)[0]:.2f} ({max(ratios):.2f})")
        for method in (PLAIN, STATES, COMBINED):
            cells.append(f"{np.mean([r['f'][method]['covered'] for t in each for r in t]):.0%}")
        agreed = [np.mean([row[ALONE]["agreement"] for row in task]) for task in each]
        rows.append((*cells, f"{np.mean(agreed):.0%}"))
    covers = (f"{method}: cover" for method in (PLAIN, STATES, COMBINED))
    return table(("shots a point", STATES, COMBINED, *covers, f"{ALONE}: agrees"), rows)


def _tasks(found: PriorFindings, group: str) -> str:
    aimed = {new_points: found.savings(group, AIMS[0], new_points) for new_points in NEW_POINTS[:2]}
    rows = []
    for k, one in enumerate(found.settled(group)):
        control = found.control(one.task)
        rows.append(
            (
                one.task,
                f"{one.share:.0%}",
                f"{one.wrong} of {one.free}",
                f"{one.not_exact} of {one.free}",
                _shots(aimed[1000][k]),
                *(_ratio(savings[k]) for savings in aimed.values()),
                f"{control['agreement']:.0%}",
                f"{control['accuracy']:.0%} / {control['exact']:.0%}",
            )
        )
    heads = (
        "task",
        "without a shot",
        "wrong",
        "not the exact label",
        "points, 1,000 new",
        "times fewer, 100",
        "times fewer, 1,000",
        "control agrees",
        "accuracy: control / exact",
    )
    return (
        f"## Each {group} task\n\nShots are for {AIMS[0]}; “>” and “<” stand where one side did "
        f"not get there with the most shots that were tried.\n\n{table(heads, rows)}"
    )


def _shots(saving: PriorSaving) -> str:
    return ("> " if PLAIN in saving.unreached else "") + f"{saving.shots[PLAIN]:,.0f}"


def _ratio(saving: PriorSaving) -> str:
    if {PLAIN, COMBINED} <= saving.unreached:
        return "neither"
    bound = "< " if COMBINED in saving.unreached else "> " if PLAIN in saving.unreached else ""
    return f"{bound}{saving.ratio(COMBINED):.2f} ± {saving.error[COMBINED]:.2f}"
