"""Shots for prediction: spent where the decision needs them, and no longer than it needs them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from aqka._util.arrays import FloatArray, IntArray, as_count, as_fraction, digest
from aqka.backends import Backend
from aqka.backends.base import as_backend
from aqka.core.blocks import BlockTable
from aqka.core.plans import ShotPlan
from aqka.errors import InputError
from aqka.readouts import FittedHead
from aqka.runs.driver import drive
from aqka.runs.session import Session
from aqka.runs.spend import Ceiling, Patience, Spend
from aqka.sessions.block_sessions import check_columns, check_head, milestones
from aqka.sessions.prediction_result import Prediction, check_level, prediction_of
from aqka.sessions.sequential_test import WinnerTest, draw_shots

ROUNDS = 12


def coefficients_per_class(head: FittedHead) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and intercepts with a column per class: of two classes, 0 and f.

    Only differences between classes are tested, so that one of two may stand at 0.
    """
    alpha = np.asarray(head.alpha, dtype=np.float64).reshape(len(head.alpha), -1)
    intercept = np.asarray(head.intercept, dtype=np.float64).reshape(-1)
    if alpha.shape[1] > 1:
        return alpha, intercept
    return np.hstack([np.zeros_like(alpha), alpha]), np.array([0.0, intercept[0]])


class PredictionSession(Session[ShotPlan]):
    """A shot budget for test points being spent round by round.

    Each round gives every open point the same shots, over training points in proportion to
    |α_j| sqrt(K_j (1 - K_j)) with K as known so far; of several classes, α is the contrast of the
    leader with the others, the close ones most. A point whose class is settled gets no more, so the
    session may end before the budget does.

    Parameters
    ----------
    head
        The fitted head.
    n_points
        Number of test points.
    budget
        Shots that may be spent in all.
    error_rate
        Chance, per point, that it is ever declared settled with another class than exact test
        entries would give, however often one looks
        (:class:`~aqka.sessions.sequential_test.WinnerTest`).
    rounds
        Rounds in which the budget is spent where points stay open. The shots spent after each grow
        by a common factor from one shot a pair, or less where the budget is small.
    seed
        Every draw comes from a generator seeded by (seed, round), so a session rebuilt from its
        recorded hits goes on bit for bit as the uninterrupted one.

    Examples
    --------
    >>> head = FittedHead(np.array([1.0, -1.0]), np.array(0.0), np.eye(2), 0.1, np.array([3, 8]))
    >>> session = PredictionSession(head, n_points=1, budget=1000)
    >>> while not session.done:
    ...     plan = session.ask()
    ...     session.tell(np.where(plan.cols == 0, plan.shots, 0))  # K = 1 and K = 0
    >>> found = session.result()
    >>> found.labels, found.settled, session.shots_left > 800
    (array([8]), array([ True]), True)
    """

    def __init__(
        self,
        head: FittedHead,
        n_points: int,
        budget: int,
        *,
        error_rate: float = 0.05,
        rounds: int = ROUNDS,
        seed: int = 0,
    ) -> None:
        check_head(head)
        super().__init__(budget)
        self.head = head
        self.n_points = as_count(n_points, "n_points")
        self.error_rate = as_fraction(error_rate, "error_rate")
        if not 0 < self.error_rate < 0.5:
            raise InputError(
                f"error_rate must lie above 0 and below 0.5, got {error_rate!r}; for example 0.05."
            )
        self.rounds = min(as_count(rounds, "rounds"), self.budget)
        self.seed = as_count(seed, "seed", minimum=0)
        self._alpha, self._intercept = coefficients_per_class(head)
        self.table = BlockTable(self.n_points, len(self._alpha))
        self._milestones = milestones(self.budget, self.rounds, self.table.shots.size)
        # The last points share what the others leave, so twice the mean is still worth a bet.
        self.test = WinnerTest(
            self._alpha,
            self._intercept,
            self.n_points,
            self.error_rate,
            (self._milestones[0] / self.n_points, 2 * self.budget / self.n_points),
        )
        self._drawn: tuple[FloatArray, ShotPlan] | None = None  # of this round, once computed

    def _figures(self) -> dict[str, object]:
        return {
            "points": self.n_points,
            "settled": int(self.test.settled.sum()),
            "shots": f"{self.shots_spent:,} of {self.budget:,}",
            "rounds": self.round,
        }

    @property
    def shots_measured(self) -> int:
        """Shots in the table."""
        return self.table.total

    @property
    def done(self) -> bool:
        """Whether the budget is spent or every point is settled."""
        return self.shots_left == 0 or bool(self.test.settled.all())

    @property
    def _tag_name(self) -> str:
        return "aqka-predict"

    def settings(self) -> dict[str, str]:
        """Return all that a run depends on besides the backend, as texts."""
        return {
            "alpha": digest(self._alpha),
            "intercept": digest(self._intercept),
            "budget": str(self.budget),
            "error_rate": repr(self.error_rate),
            "rounds": str(self.rounds),
            "seed": str(self.seed),
        }

    def extent(self) -> dict[str, str]:
        """Return the points that plans may name."""
        rows, cols = self.table.shots.shape
        return {"rows": str(rows), "cols": str(cols)}

    @property
    def _ending(self) -> str:
        return (
            f"{self.budget - self.shots_left} of {self.budget} shots are spent and "
            f"{int(self.test.settled.sum())} of {self.n_points} points settled"
        )

    def _next_plan(self) -> ShotPlan:
        return self._draw()[1]

    def _take(self, planned: ShotPlan, measured: ShotPlan, hits: IntArray) -> None:
        """Count for the estimate; for the test only if the shots are as drawn, which it needs."""
        chances, drawn = self._draw()
        # A plan taken up from elsewhere, such as another machine's rounding, is not as drawn here.
        if measured.equals(drawn):
            guesses = self.table.smoothed(self.table.prior())
            self.table.add(measured, hits)
            self.test.update(measured, hits, guesses, chances)
        else:
            self.table.add(measured, hits)
        self._drawn = None

    def result(self, level: float = 0.9, *, as_measured: bool = False) -> Prediction:
        """Return what is known so far; points that are not settled are flagged.

        ``as_measured`` reads f = Σ α_j K̂_j + b without what the training rows say about rows
        (``aqka.estimates.rows``); what is settled does not depend on it.
        """
        settled, level = self.test.settled, check_level(level)
        found = prediction_of(self.head, self.table, settled, level, as_measured=as_measured)
        found.labels[settled] = self.head.classes[self.test.winner[settled]]
        return found

    def _chances(self) -> FloatArray:
        """Return for each point the distribution ∝ |α_j| sqrt(K_j (1 - K_j))."""
        prior = self.table.prior()
        k = self.table.smoothed(prior)
        variance = self.table.variance(prior)
        scores = self.table.estimate(prior.mean) @ self._alpha + self._intercept
        leader, best = scores.argmax(axis=1), scores.max(axis=1)
        squares = np.zeros_like(k)
        for c, coefficients in enumerate(self._alpha.T):
            contrast = (self._alpha[:, leader].T - coefficients) ** 2
            # A class far behind, in units of what is known, needs few shots.
            gap = (best - scores[:, c]) ** 2 + np.sum(variance * contrast, axis=1)
            squares += contrast / np.maximum(gap, 1e-100)[:, None]
        score = np.sqrt(squares * k * (1 - k))
        score[~score.any(axis=1)] = 1.0  # no entry matters: all alike
        return np.asarray(score / score.sum(axis=1, keepdims=True))

    def _draw(self) -> tuple[FloatArray, ShotPlan]:
        """Return the round's distributions and the plan drawn from them."""
        if self._drawn is not None:
            return self._drawn
        chances = self._chances()
        rng = np.random.default_rng([self.seed, self.round])
        # Counted from what is measured, so shots that a failed round did not use come along.
        n_shots = self._milestones[min(self.round, len(self._milestones) - 1)]
        n_shots -= self.shots_spent
        open_points = np.flatnonzero(~self.test.settled)
        each = np.full(open_points.size, n_shots // open_points.size)
        each[rng.permutation(open_points.size)[: n_shots % open_points.size]] += 1
        shots = np.zeros_like(self.table.shots)
        for point, count in zip(open_points[each > 0], each[each > 0], strict=True):
            shots[point] = draw_shots(chances[point], int(count), rng)
        rows, cols = np.nonzero(shots)
        self._drawn = chances, ShotPlan(rows, cols, shots[rows, cols])
        return self._drawn


def predict(
    head: FittedHead,
    backend: Backend,
    budget: int,
    *,
    error_rate: float = 0.05,
    level: float = 0.9,
    rounds: int = ROUNDS,
    seed: int = 0,
    directory: str | Path | None = None,
    patience: Patience | None = None,
    on_round: Callable[[PredictionSession], None] | None = None,
    verbose: bool = False,
    ceiling: Ceiling | None = None,
) -> Prediction:
    """Predict the classes of a backend's test points, spending at most ``budget`` shots.

    Of a head for real targets these are their signs; :func:`~aqka.sessions.predict_values`
    predicts the values themselves.

    Parameters
    ----------
    head
        The fitted head.
    backend
        Who runs the shots: one row per test point, one column per training point.
    budget, error_rate, rounds, seed
        See :class:`~aqka.sessions.PredictionSession`.
    level
        Level of the intervals.
    directory, patience, on_round, verbose, ceiling
        See :func:`~aqka.acquire`; the directory must be another than the training run's.

    Examples
    --------
    >>> from aqka import MatrixBackend, acquire
    >>> from aqka.demo.tasks import planted_sparse
    >>> task = planted_sparse(60, 40, 4, seed=3, largest_class=0.7)
    >>> head = acquire(MatrixBackend(task.kernel), task.y, 20_000).fit()
    >>> test = MatrixBackend(task.test_kernel, rectangular=True)
    >>> found = predict(head, test, budget=200_000)
    >>> bool(found.settled.mean() > 0.5), bool(found.shots.sum() <= 200_000)
    (True, True)
    >>> agree = found.labels == head.predict(task.test_kernel)
    >>> bool(agree[found.settled].mean() > 0.95)
    True
    """
    backend = as_backend(backend)
    check_level(level)
    session = PredictionSession(
        head, backend.shape[0], budget, error_rate=error_rate, rounds=rounds, seed=seed
    )
    check_columns(head, backend)
    spend = Spend(directory, ceiling, patience or Patience(), on_round, verbose)
    drive(session, backend, spend)
    return session.result(level)
