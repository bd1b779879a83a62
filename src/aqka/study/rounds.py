"""The rounds of a run as its progress, its results and its report show them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka.core.outcomes import OutcomeCounts
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks, ShotPlan
from aqka.core.point_plans import PointPlan
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.designs import PairEstimate
from aqka.insight.diagnostics import Diagnostics, cross_validated_accuracy, diagnose
from aqka.learners import Learner
from aqka.runs.history import History, RecordedRound

MAX_ASSESSED_POINTS = 500  # cross-validation takes longer than a second above

Assess = Callable[[PairTable, Landmarks | None], tuple[float, float | None]]
"""From what is measured, the Gini of the sensitivities and the accuracy by cross-validation."""


@dataclass(frozen=True)
class RoundSummary:
    """One round that ended.

    Attributes
    ----------
    round
        Its number, from 0.
    failed
        Whether its job was lost.
    shots
        Shots of the run when it ended.
    seen
        Pairs, or points, with at least one shot by then.
    gini, accuracy
        Estimates from the counts by then; None where there are none.
    qpu_seconds
        What the backend reported for it.
    seconds
        From its plan to its result.
    ended_at
        Seconds since 1970, UTC.
    """

    round: int
    failed: bool
    shots: int
    seen: int
    gini: float | None
    accuracy: float | None
    qpu_seconds: float | None
    seconds: float
    ended_at: float


def make_assess(
    problem: Problem, labels: NDArray[Any] | None, learner: Learner, last: Diagnostics | None = None
) -> Assess:
    """Return what works out Gini and accuracy, the latter for classes and few points only.

    ``last`` is what is known already of all that the run measured.
    """

    def assess(table: PairTable, landmarks: Landmarks | None) -> tuple[float, float | None]:
        # Counts only grow: with as many shots as the last table it is the last one.
        is_last = last is not None and table.total / table.n_pairs == last.shots_per_pair
        gini = last.gini if last is not None and is_last else diagnose(table, problem).gini
        if labels is None or table.n_points > MAX_ASSESSED_POINTS:
            return gini, None
        kernel = PairEstimate(table, problem, landmarks).kernel
        return gini, cross_validated_accuracy(kernel, labels, learner, problem)

    return assess


def summarise_point_rounds(history: History, table: PointTable) -> list[RoundSummary]:
    """Return the rounds of a ledger of points, filling an empty table with their counts.

    What is seen of a round are points; neither a Gini nor an accuracy is worked out.
    """
    found, shots = [], 0
    for round in history.rounds:
        assert isinstance(round.answer, OutcomeCounts)
        if isinstance(round.measured, PointPlan):  # and not a calibration
            table.add(round.measured, round.answer)
        shots += round.measured.total
        seen = int(np.sum(table.shots_per_point > 0))
        found.append(_summary(round, shots, seen, None, None))
    return found


def _summary(
    round: RecordedRound, shots: int, seen: int, gini: float | None, accuracy: float | None
) -> RoundSummary:
    return RoundSummary(
        round=round.number,
        failed=round.failed,
        shots=shots,
        seen=seen,
        gini=gini,
        accuracy=accuracy,
        qpu_seconds=round.qpu_seconds,
        seconds=max(0.0, round.ended_at - round.planned_at),
        ended_at=round.ended_at,
    )


def summarise_rounds(
    history: History, table: PairTable, assess: Assess | None, assessed: int
) -> list[RoundSummary]:
    """Return the rounds of a sound ledger, filling an empty table with their counts.

    At most ``assessed`` rounds, evenly spread up to the last, have a Gini and an accuracy.
    """
    count = len(history.rounds)
    step = -(-count // assessed)
    landmarks: Landmarks | None = None
    found: list[RoundSummary] = []
    for round in history.rounds:
        assert isinstance(round.measured, ShotPlan)
        assert isinstance(round.answer, np.ndarray)
        table.add(round.measured, round.answer)
        landmarks = round.measured.landmarks or landmarks
        gini, accuracy = None, None
        if assess is not None and (count - 1 - round.number) % step == 0:
            gini, accuracy = assess(table, landmarks)
        found.append(_summary(round, table.total, int(np.sum(~table.unseen)), gini, accuracy))
    return found
