"""The rounds of a run as its progress, its results and its report show them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka.core.plans import Landmarks, UnitTable
from aqka.core.problem import Problem
from aqka.designs import Design, PairEstimate, as_design
from aqka.insight.diagnostics import Diagnostics, cross_validated_accuracy, diagnose
from aqka.learners import Learner
from aqka.runs.history import History

MAX_ASSESSED_POINTS = 500  # cross-validation takes longer than a second above

Assess = Callable[[Any, Landmarks | None], tuple[float, float | None]]
"""From what is measured, the Gini of the sensitivities and the accuracy by cross-validation."""


@dataclass(frozen=True)
class RoundSummary:
    """One round that ended, numbered from 0."""

    round: int
    failed: bool  # its job was lost
    shots: int  # of the run when it ended
    seen: int  # pairs or points with at least one shot by then
    gini: float | None  # both from the counts by then
    accuracy: float | None
    qpu_seconds: float | None  # as the backend reported
    seconds: float  # from its plan to its result
    ended_at: float  # since 1970, UTC


def make_assess(
    problem: Problem, labels: NDArray[Any] | None, learner: Learner, last: Diagnostics | None = None
) -> Assess:
    """Return what works out Gini and accuracy, the latter for classes and few points only.

    ``last`` is what is known already of all that the run measured.
    """

    def assess(table: Any, landmarks: Landmarks | None) -> tuple[float, float | None]:
        # Counts only grow: with as many shots as the last table it is the last one.
        is_last = last is not None and table.total / table.n_pairs == last.shots_per_pair
        gini = last.gini if last is not None and is_last else diagnose(table, problem).gini
        if labels is None or table.n_points > MAX_ASSESSED_POINTS:
            return gini, None
        kernel = PairEstimate(table, problem, landmarks).kernel
        return gini, cross_validated_accuracy(kernel, labels, learner, problem)

    return assess


def recorded_design(history: History) -> Design:
    """Return the design of a run."""
    design = as_design(history.extent.design)
    assert design is not None
    return design


def summarise_rounds(
    history: History, table: UnitTable, assess: Assess | None = None, assessed: int = 1
) -> list[RoundSummary]:
    """Return the rounds of a sound ledger, filling an empty table with their counts.

    At most ``assessed`` rounds, evenly spread up to the last, have a Gini and an accuracy, where
    entries of the kernel have counts.
    """
    count, spent = len(history.rounds), 0
    if not recorded_design(history).counts_entries:
        assess = None
    step = -(-count // assessed)
    landmarks: Landmarks | None = None
    found: list[RoundSummary] = []
    for round in history.rounds:
        round.add_to(table)
        spent += round.measured.total
        landmarks = round.measured.landmarks or landmarks
        gini, accuracy = None, None
        if assess is not None and (count - 1 - round.number) % step == 0:
            gini, accuracy = assess(table, landmarks)
        found.append(
            RoundSummary(
                round=round.number,
                failed=round.failed,
                shots=spent,
                seen=int(np.count_nonzero(table.unit_shots)),
                gini=gini,
                accuracy=accuracy,
                qpu_seconds=round.qpu_seconds,
                seconds=max(0.0, round.ended_at - round.planned_at),
                ended_at=round.ended_at,
            )
        )
    return found
