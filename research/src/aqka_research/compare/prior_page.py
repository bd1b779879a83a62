"""The page about predictions without shots: verdicts, both groups apart, and every task."""

import numpy as np

from aqka.designs.resolve import as_prior
from aqka_research.circuit_tasks import LABELLED
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
from aqka_research.compare.total_findings import bound, geometric_mean
from aqka_research.figures.page import PageRun
from aqka_research.markdown import table

LEAST_RATIO, MOST_WRONG = 2.0, 0.05
SHOWN = (STATES, FREE, COMBINED)
AGREE = ("agreement, classical", "agreement, majority")
AGREES = ("classical agrees", "majority agrees")
ACCURACIES = ("accuracy, classical", "accuracy, majority", "exact")
"""Keys of what needs no shots, and headings."""


def verdicts(found: PriorFindings) -> list[tuple[str, bool]]:
    """Return each aim in words with what was found, and whether it is reached."""
    saved, ratio, mark = _saved(found, LABELLED)
    settled = [one for group in found.groups for one in found.settled(group)]
    worst = max(settled, key=lambda one: one.wrong_share)
    above = sum(one.wrong_share > MOST_WRONG for one in settled)
    surely = sum(one.exceeds(MOST_WRONG) for one in settled)
    losses = dearer(found)
    return [
        (
            f"{saved}; target: at least {LEAST_RATIO:g})",
            ratio >= LEAST_RATIO and mark not in ("< ", "~ "),
        ),
        (
            f"In the worst task, “{worst.task}”, {worst.wrong_share:.1%} of the prior's answers "
            f"({worst.wrong} of {worst.free}) are wrong, at {REFERENCE} shots a training point; "
            f"{above} of {len(settled)} tasks {'is' if above == 1 else 'are'} above "
            f"{MOST_WRONG:.0%}, and in {surely or 'none'} is the excess significant at the 5% "
            f"level (target: at most {MOST_WRONG:.0%} in every task)",
            worst.wrong_share <= MOST_WRONG,
        ),
        (
            f"The prior costs more than points without it by over two standard errors in "
            f"{len(losses)} of {_cells(found)} combinations of task, target and number of new "
            "points (target: none)",
            not losses,
        ),
    ]


def _saved(found: PriorFindings, group: str) -> tuple[str, float, str]:
    """Return what the prior saves on a group, up to an open bracket; the ratio; its mark."""
    savings = found.savings(group, AIMS[0], 1000)
    ratio, error = geometric_mean([saving.ratio(COMBINED) for saving in savings])
    mark = _bound(savings, COMBINED)
    text = (
        f"At 1,000 new points, {group} tasks need {mark}{ratio:.2f} times fewer total shots with "
        f"the prior for {AIMS[0]} (geometric mean, ± {error:.2f} of its logarithm over tasks"
    )
    return text, ratio, mark


def _bound(savings: list[PriorSaving], method: str) -> str:
    return bound((saving.unreached for saving in savings), PLAIN, method)


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
    judged, others = verdicts(found), [group for group in found.groups if group != LABELLED]
    return [
        f"# Predictions without shots{where}" + ("" if half == "confirmation" else f", {half}"),
        _introduction(found, half, device),
        "## What holds",
        "\n".join(
            [
                *(f"- {text}: {'reached' if yes else '**not reached**'}." for text, yes in judged),
                *(f"- {_saved(found, group)[0]}; no target)." for group in others),
            ]
        ),
        _conclusion(found, all(yes for _, yes in judged)),
        "## Answered without a shot",
        "New points that the prior answers, mean and range over tasks, and shares of these "
        "answers. *Wrong*: the same head, with unlimited shots on the point, gives another class. "
        "*Not the exact label*: the exact kernel gives another. An answer that only the head "
        "contradicts has the exact kernel's label.",
        _answered(found),
        "The best classical model ([of four](classical.md), chosen on each task in hindsight) and "
        "the majority class need no shots: how often they give the exact kernel's label, and "
        "accuracies.",
        _controls(found),
        "## Total shots",
        "How many times fewer total shots than points without a prior (training, new points and a "
        "check of 5 % of the answers, at least 10): geometric mean over tasks ± "
        "the standard error of its logarithm. Columns are cumulative: first, training states serve "
        "as a prior when new points are read; then points about which the prior on gate angles is "
        "sure cost no shots; then that prior and shots are combined by precision for the rest. "
        "*No shots needed*: tasks on which the best classical model reaches the target. "
        "What falls short of it on a task counts with the most shots tried: “>” marks a mean where "
        "points without a prior fell short, “<” where the method did, “~” where both did.",
        _totals(found),
        "## Errors of f by shots",
        "Mean squared error of f over that of points without a prior, geometric mean over tasks "
        "and, in brackets, the largest of any task; how many intervals of 90 % cover; and how "
        "often the prior alone, with no shot on any new point, gives the exact label, beside the "
        "best classical model and the majority class, which need none at all.",
        *(f"{group} tasks:\n\n{_readings(found, group)}" for group in found.groups),
        *(_tasks(found, group) for group in found.groups),
    ]


def _conclusion(found: PriorFindings, reached: bool) -> str:
    """Say what the default does, and what the prior and classical models answer."""
    default = (
        "every point is measured unless a prior is named"
        if as_prior("auto") is None
        else "the prior is used"
    )
    shares = " and ".join(
        f"{np.mean([one.share for one in found.settled(group)]):.0%} on {group} tasks"
        for group in found.groups
    )
    free = " and ".join(
        f"{sum(found.control_reaches(name, AIMS[0]) for name in names)} of {len(names)} {group} "
        "tasks"
        for group, names in found.groups.items()
    )
    return (
        f"{'All' if reached else 'Not all'} targets are reached; by default {default}. The share "
        f"of new points that the prior answers at {REFERENCE} shots a training point is {shares}. "
        f"A classical model gives {AIMS[0]} without any shot on {free}; these need no shots."
    )


def _introduction(found: PriorFindings, half: str, device: str | None) -> str:
    seeds = len(next(iter(found.by_task.values())))
    qubits = MOST_QUBITS if device is None else NOISY_QUBITS
    counts = " and ".join(f"{len(names)} {group}" for group, names in found.groups.items())
    runs = (
        "No setting was tuned on these tasks; whether the prior is on by default was decided on "
        "them, by targets set in advance."
        if half == "confirmation"
        else "Choices were made here; figures to quote are those of the confirmation half."
    )
    noise = (
        ""
        if device is None
        else f" Counts have the exact noise of {device}, without error mitigation; the labels to "
        "agree with are those of the exact kernel without noise."
    )
    return (
        "A Gaussian process on the circuit's gate angles, its widths learnt from the measured "
        "kernel, answers the new points it is sure about. The others get as many shots as a "
        "training point, with the training states as a prior. "
        f"{half.capitalize()} tasks with at most {qubits} qubits and {MOST_POINTS} training "
        f"points: {counts}; {seeds} seeds. {runs}{noise}\n\n"
        "Natural tasks have the labels of their data. Quantum-labelled tasks have labels made by "
        "the quantum kernel, and are kept where the exact kernel is at least five percentage "
        "points more accurate than the best of five classical models."
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
        means = (np.mean([control[what] for control in controls]) for what in (*AGREE, *ACCURACIES))
        rows.append((group, *(f"{mean:.0%}" for mean in means)))
    accuracies = (f"accuracy: {of}" for of in ("classical", "majority", "exact kernel"))
    return table(("tasks", *AGREES, *accuracies), rows)


def _totals(found: PriorFindings) -> str:
    rows = []
    for group, names in found.groups.items():
        for aim in AIMS:
            for new_points in NEW_POINTS:
                savings = found.savings(group, aim, new_points)
                ratios = [
                    (
                        _bound(savings, method),
                        *geometric_mean([saving.ratio(method) for saving in savings]),
                    )
                    for method in SHOWN
                ]
                free = sum(found.control_reaches(name, aim) for name in names)
                rows.append(
                    (
                        group,
                        aim,
                        f"{new_points:,}",
                        *(f"{mark}{ratio:.2f} ± {error:.2f}" for mark, ratio, error in ratios),
                        f"{free} of {len(names)}",
                    )
                )
    return table(
        ("tasks", "target", "new points", *SHOWN, "no shots needed"),
        rows,
    )


def _readings(found: PriorFindings, group: str) -> str:
    rows = []
    controls = [found.control(name) for name in found.groups[group]]
    free = [f"{np.mean([control[what] for control in controls]):.0%}" for what in AGREE]
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
        rows.append((*cells, f"{np.mean(agreed):.0%}", *free))
    covers = (f"{method}: cover" for method in (PLAIN, STATES, COMBINED))
    return table(("shots a point", STATES, COMBINED, *covers, f"{ALONE}: agrees", *AGREES), rows)


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
                *(f"{control[what]:.0%}" for what in AGREE),
                " / ".join(f"{control[what]:.0%}" for what in ACCURACIES),
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
        *AGREES,
        "accuracy: classical / majority / exact",
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
    return (
        f"{_bound([saving], COMBINED)}{saving.ratio(COMBINED):.2f} ± {saving.error[COMBINED]:.2f}"
    )
