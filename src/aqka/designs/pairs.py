"""Pairs: each shot runs the fidelity circuit of two points."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from aqka._util.arrays import FloatArray, IntArray, digest
from aqka._util.text import unknown
from aqka.allocators.aqka import ridge_gradient
from aqka.allocators.targets import fill, kkt_targets
from aqka.backends.base import Backend, check_measures_pairs
from aqka.core.pairs import BlockTable, KernelPrior, PairTable
from aqka.core.plans import Landmarks, Plan, ShotPlan
from aqka.core.problem import FAIR, Problem
from aqka.core.tolerance import Tolerance
from aqka.designs._base import NewPoints, Settle, Stop, doubling
from aqka.designs.sequential_test import WinnerTest, draw_shots
from aqka.errors import InputError
from aqka.estimates.rows import RowPrior, RowReading
from aqka.learners import Decided, Estimate, FittedHead
from aqka.maths.point_law import state_fidelity
from aqka.maths.spectrum import Spectrum, reconstruct

READINGS = ("all-zero", "tolerant")
# Squared error of f that a shot on every training pair leaves, in units of that of a shot on every
# pair of a new and a training point. To first order it is |(K + λI)⁻¹ k|² for a new row k, the
# share of directions that the ridge lets through. docs/explanation/prediction.md measures it.
TRAINING_WEIGHT = 1 / 8

DEFAULT_TEST_SHOTS = 100
"""Shots of a pair of a new and a training point that come on top of a training budget."""

SETTLING_LOOKS, VALUE_LOOKS = 12, 4  # nothing is settled on the way of values: less to look for


class KernelEstimate(Estimate):
    """Entries of a kernel as they are: given, computed or corrected.

    Parameters
    ----------
    kernel : array of shape (points, points)
        The training kernel.
    identity : str, default=None
        What it was computed from; None for the entries themselves.
    rows_are_alike : bool, default=True
        Whether a new point's row is measured as the training rows were, so that these say what it
        is like; else it is read as measured.
    """

    tolerance: Tolerance | None = None  # what a shot with flipped bits counts; None counts hits

    def __init__(
        self, kernel: FloatArray, identity: str | None = None, *, rows_are_alike: bool = True
    ) -> None:
        self.design = Pairs("all-zero" if self.tolerance is None else "tolerant")
        self._kernel = kernel
        self._identity = identity
        self.rows_are_alike = rows_are_alike

    @property
    def kernel(self) -> FloatArray:
        """The training kernel."""
        return self._kernel

    @property
    def identity(self) -> str:
        """What the entries were computed from, or a digest of them."""
        return f"kernel {digest(self.kernel)}" if self._identity is None else self._identity

    def decide(self, head: FittedHead, table: BlockTable, seed: int = 0) -> Decided:
        """Return f of measured rows by linear Bayes (``aqka.estimates.rows``)."""
        alpha = head.coefficients
        if self.rows_are_alike:
            reading = RowReading.linear_bayes(table, row_prior(head), alpha)
        else:
            reading = RowReading.as_measured(table, alpha)
        shape = (len(reading.values), *np.asarray(head.alpha).shape[1:])
        f = reading.values.reshape(shape) + head.intercept
        return Decided(f, np.sqrt(reading.variances().reshape(shape)), reading)

    def decide_exactly(self, head: FittedHead, backend: Backend) -> FloatArray:
        """Return f from a simulator's exact entries."""
        if not (backend.has_kernel and self.is_fidelity):
            raise InputError(
                f"budget is needed: {type(backend).__name__} has no exact entries of this kernel; "
                "predict(X, budget=…), or new_points=… when the estimator is made."
            )
        return head.decision_function(backend.kernel())


def row_prior(head: FittedHead) -> RowPrior:
    """Return what the rows of a head's training kernel say about any row."""
    spectrum = head.spectrum
    if isinstance(spectrum, Spectrum) and spectrum.root is None:
        return RowPrior.of(spectrum)
    return RowPrior.of(Spectrum.of(head.kernel))


class PairEstimate(KernelEstimate):
    """The kernel from counts of pairs, completed where the allocator left rows to reconstruct.

    Parameters
    ----------
    table, problem : PairTable and Problem
        The counts, and the problem whose reading says how they are read.
    landmarks : Landmarks, default=None
        The rows that were measured, where the others are reconstructed.
    """

    def __init__(
        self, table: PairTable, problem: Problem, landmarks: Landmarks | None = None
    ) -> None:
        self.table, self._reading, self._landmarks = table, problem.reading, landmarks
        self.tolerance = table.tolerance
        if table.tolerance is not None:
            self.is_fidelity = table.tolerance.is_fidelity
            self.meaning = table.tolerance.meaning
        kernel = problem.reading.kernel(table)
        if landmarks is not None:
            kernel = reconstruct(kernel, landmarks, problem.ridge)
        super().__init__(kernel)

    @cached_property
    def _variances(self) -> FloatArray:
        return KernelPrior.of(self.table).variances(self.table)

    @property
    def variance(self) -> FloatArray:
        """Variance of each entry, that of the prior where there are no shots."""
        return self.table.square(self._variances, known_diagonal=0.0)

    def known_states(self, n_qubits: int) -> tuple[float, float]:
        """Return 2ⁿ, and the fidelity of states whose kernel has as much noise: S/4 on a pair."""
        shots = 4 * float(self.table.as_hits()[0].sum()) / self.table.n_pairs
        return 2.0**n_qubits, state_fidelity(n_qubits, shots)

    def mean_variance(self) -> float | None:
        """Return the mean variance of a pair; None where rows are completed, not counted."""
        return None if self._landmarks is not None else float(np.mean(self._variances))

    @property
    def identity(self) -> str:
        """A digest of the counts, and how they are read."""
        table, landmarks = self.table, self._landmarks
        counts = f"pairs {digest(table.shots)} {digest(table.counts)} {self._reading.describe()}"
        if landmarks is None:
            return counts
        return f"{counts} by {digest(landmarks.points)} {landmarks.keep_block}"


@dataclass(frozen=True)
class Pairs:
    """Spend shots on pairs of points: |⟨φ(x)|φ(x′)⟩|² is the chance that all bits read 0.

    Parameters
    ----------
    reading : {"all-zero", "tolerant"}, default="all-zero"
        How a shot is read. ``"tolerant"`` counts its flipped bits h and reads K = E[w^h], with the
        w whose entries vary most relative to their errors; labels are not used. It is a different
        kernel from the fidelity, for more than 10 qubits on devices that cannot measure points:
        elsewhere points predict labels better (docs/measured/flipped-bits.md).
    """

    reading: str = "all-zero"
    name: ClassVar[str] = "pairs"
    unit: ClassVar[str] = "pair"
    default_learner: ClassVar[str] = "ridge-noise"
    runs_inverse: ClassVar[bool] = True  # of the feature map, which must have one
    counts_entries: ClassVar[bool] = True  # each kernel entry has counts of its own
    calibration_shots: ClassVar[int] = 0
    not_shown: ClassVar[tuple[str, ...]] = ()  # what a report leaves out
    no_total_interval: ClassVar[str] = ""  # why intervals do not count training shots

    def __post_init__(self) -> None:
        if self.reading not in READINGS:
            raise unknown("reading of pairs", self.reading, READINGS)

    def reads(self, measured: object) -> bool:
        """Whether another design counts the same of pairs: other counts are not kept."""
        return self == measured

    def on(self, lattice: IntArray | None, n_qubits: int | None) -> Self:
        """Return the design itself: pairs are of any feature map."""
        return self

    def reduced_kernel(self, n_qubits: int) -> None:
        """Return None: it reads no reduced states."""

    def check_backend(
        self, backend: Backend, n_points: int, head: FittedHead | None = None
    ) -> None:
        """Refuse a backend of points alone, of hits alone, or of other points than the head's."""
        check_measures_pairs(backend)
        if self.reading == "tolerant" and backend.flipped_bits is None:
            raise InputError(
                f"reading 'tolerant' counts flipped bits, and {type(backend).__name__} counts hits "
                "alone, as all do with sentinels beside the pairs; take StatevectorBackend or one "
                "that sends jobs, without sentinels, or reading='all-zero'."
            )
        if head is None and backend.shape != (n_points, n_points):
            raise InputError(
                f"y labels {n_points} points, so the backend must be {n_points} by {n_points}; "
                f"its shape is {backend.shape}."
            )
        if head is not None and backend.shape[1] != len(head.alpha):
            raise InputError(
                f"the head was trained on {len(head.alpha)} points, so the backend must have that "
                f"many columns, one row per test point; its shape is {backend.shape}."
            )

    def default_shots(self, n_points: int, n_qubits: int) -> int:
        """Return 16 a pair, where the paper sees adaptive shots lose their advantage."""
        return 16 * n_points * (n_points - 1) // 2

    def units(self, n_points: int, n_pairs: int) -> tuple[int, str]:
        """Return how many pairs training measures, and how that comes about."""
        is_known = n_pairs == n_points * (n_points - 1) // 2
        return n_pairs, "N(N-1)/2, diagonal known" if is_known else "N(N+1)/2"

    def shots_per_entry(self, shots: int, n_pairs: int) -> float:
        """Return the shots of a kernel entry, on average."""
        return shots / n_pairs

    def new_units(self, n_train: int, n_new: int) -> int:
        """Return how many pairs new points make with the training points."""
        return n_train * n_new

    def new_shots(self, shots: int, n_train: int) -> int:
        """Return what a new pair gets on top of so many training shots."""
        return DEFAULT_TEST_SHOTS

    def shares(self, n_train: int, n_new: int) -> tuple[float, float, str]:
        """Return how training and predictions share a budget, and why."""
        pairs, new = n_train * (n_train - 1) // 2, n_train * n_new
        reason = (
            f"{n_new:,} new points have {new:,} pairs with the {n_train:,} training points, "
            f"which have {pairs:,} among themselves, and the noise of a training pair reaches a "
            "prediction only through what the ridge lets through."
        )
        return math.sqrt(TRAINING_WEIGHT * pairs), math.sqrt(new), reason

    def sensitivity(
        self, table: PairTable, problem: Problem, spectrum: Spectrum | None = None
    ) -> FloatArray:
        """Return |g| of each pair, given the spectrum of the counts' kernel if it is known."""
        known = Spectrum.of(problem.reading.kernel(table)) if spectrum is None else spectrum
        return np.abs(table.condense(ridge_gradient(known, problem)))

    def training_table(
        self, problem: Problem, n_qubits: int | None, seed: int, steers: bool
    ) -> PairTable:
        """Return an empty table, with the diagonal where the problem's reading measures it."""
        if self.reading == "all-zero":
            return problem.new_table()
        if n_qubits is None:
            raise InputError("reading 'tolerant' needs n_qubits, the qubits of the feature map.")
        return PairTable(problem.n_points, problem.reading.diagonal, n_qubits)

    def plan(self, table: PairTable, shots: IntArray, landmarks: Landmarks | None) -> ShotPlan:
        """Return the plan that gives each pair these shots."""
        index = np.flatnonzero(shots)
        rows, cols = table.pairs(index)
        return ShotPlan(rows, cols, shots[index], landmarks, bits=table.bits)

    def read(
        self,
        table: PairTable,
        problem: Problem,
        landmarks: Landmarks | None = None,
        confusion: FloatArray | None = None,
    ) -> PairEstimate:
        """Return the kernel that the counts give."""
        return PairEstimate(table, problem, landmarks)

    def new_points(
        self, head: FittedHead, n_points: int, budget: int, stop: Stop, seed: int
    ) -> NewPoints:
        """Return new points whose pairs with the training points are to be measured."""
        how = (head, n_points, budget, self.looks(stop), seed)
        if isinstance(stop, Settle):
            return NewPairsSettled(*how, error_rate=stop.error_rate)
        return NewPairs(*how)

    def decide_known(
        self, head: FittedHead, table: PairTable, rows: IntArray, columns: IntArray
    ) -> FloatArray:
        """Return f from the entries between the points; one without shots reads the mean."""
        return head.decision_function(FAIR.kernel(table)[np.ix_(rows, columns)])

    def least_shots(self, table: PairTable) -> int:
        """Return 0: a pair without shots is read too."""
        return 0

    def facts(self, table: PairTable) -> dict[str, str]:
        """Return the reading where it is not that of the problem."""
        return {} if table.tolerance is None else {"pairs": self.reading}

    def results(self, table: PairTable, estimate: Any) -> dict[str, Any]:
        """Return how many pairs there are, and how many have shots; and which kernel it is."""
        found = {"pairs": table.n_pairs, "pairs_seen": int(np.sum(table.seen))}
        return found if table.tolerance is None else found | {"kernel": estimate.meaning}

    def looks(self, stop: Stop) -> int:
        """Return the rounds of a prediction."""
        return stop.looks or (SETTLING_LOOKS if isinstance(stop, Settle) else VALUE_LOOKS)


class NewPairs(NewPoints):
    """Shots for real targets, spent where the error of f is.

    The squared errors of f that the test shots leave, Σ α_j² K_j (1 - K_j) / s_j of each point,
    have the least sum over all points where every pair's shots are in proportion to
    |α_j| sqrt(K_j (1 - K_j)) (as in Prop. 1); each round fills toward that, with K as known so far.
    With several outputs |α_j| is the norm of the pair's coefficients.
    """

    def __init__(self, head: FittedHead, n_points: int, budget: int, looks: int, seed: int) -> None:
        tolerance = head.estimate.tolerance  # type: ignore[attr-defined]
        super().__init__(head, BlockTable(n_points, len(head.alpha), tolerance), seed)
        # Growing by a common factor from one shot a pair, or less where the budget is small.
        self.milestones = doubling(budget, min(looks, budget), float(self.table.shots.size))

    def _end(self, round: int) -> int:
        """Return the shots spent after a round; after the last come rounds only if some failed."""
        return self.milestones[min(round, len(self.milestones) - 1)]

    def _plan_of(self, shots: IntArray) -> ShotPlan:
        rows, cols = np.nonzero(shots)
        return ShotPlan(rows, cols, shots[rows, cols], bits=self.table.bits)

    def plan(self, round: int, spent: int, left: int) -> ShotPlan:
        """Fill toward the shares that leave the least error."""
        shots = self._end(round) - spent
        k = self.table.prior().posterior_mean(self.table)
        score = np.linalg.norm(self.head.coefficients, axis=1) * np.sqrt(k * (1 - k))
        rng = np.random.default_rng([self.seed, round])
        targets = kkt_targets(score.ravel(), float(self.table.total + shots))
        flat = fill(targets, self.table.shots.ravel(), shots, rng)
        return self._plan_of(flat.reshape(self.table.shots.shape))


class NewPairsSettled(NewPairs):
    """Shots for classes, no longer than their decision needs them.

    Each round gives every open point the same shots, over training points in proportion to
    |α_j| sqrt(K_j (1 - K_j)) with K as known so far; with several classes, α is the contrast of the
    leader with the others, the close ones most. :class:`~aqka.designs.sequential_test.WinnerTest`
    settles classes at an error rate that holds however often one looks.
    """

    def __init__(
        self, head: FittedHead, n_points: int, budget: int, looks: int, seed: int, error_rate: float
    ) -> None:
        super().__init__(head, n_points, budget, looks, seed)
        self._alpha, self._intercept = coefficients_per_class(head)
        # The last points share what the others leave, so twice the mean is still worth a bet.
        self.test = WinnerTest(
            self._alpha,
            self._intercept,
            n_points,
            error_rate,
            (self.milestones[0] / n_points, 2 * budget / n_points),
            self.table.tolerance,
        )
        self._drawn: tuple[FloatArray, ShotPlan] | None = None  # of this round, once computed

    def plan(self, round: int, spent: int, left: int) -> ShotPlan:
        """Draw shots for the open points from this round's distributions."""
        return self._draw(round, self._end(round) - spent)[1]

    def _draw(self, round: int, shots: int) -> tuple[FloatArray, ShotPlan]:
        """Return the round's distributions and the plan drawn from them."""
        if self._drawn is not None:
            return self._drawn
        chances = self._chances()
        rng = np.random.default_rng([self.seed, round])
        open_points = np.flatnonzero(~self.settled)
        each = np.full(open_points.size, shots // open_points.size)
        each[rng.permutation(open_points.size)[: shots % open_points.size]] += 1
        drawn = np.zeros_like(self.table.shots)
        for point, count in zip(open_points[each > 0], each[each > 0], strict=True):
            drawn[point] = draw_shots(chances[point], int(count), rng)
        self._drawn = chances, self._plan_of(drawn)
        return self._drawn

    def take(self, round: int, planned: Plan, measured: Plan, answer: Any) -> None:
        """Count for the estimate; for the test only if the shots are as drawn, which it needs."""
        assert isinstance(measured, ShotPlan)
        chances, drawn = self._draw(round, planned.total)  # a resumed round was not drawn yet
        guesses = self.table.prior().posterior_mean(self.table)
        self.table.add(measured, answer)
        # A plan drawn on another machine, with other rounding, may not be the one drawn here.
        if measured.equals(drawn):
            self.test.update(measured, answer, guesses, chances)
        self._drawn = None
        self.settled = self.test.settled

    def winners(self) -> IntArray:
        """Return the numbers of the classes that the test declared."""
        return self.test.winner

    def _chances(self) -> FloatArray:
        """Return for each point the distribution ∝ |α_j| sqrt(K_j (1 - K_j))."""
        prior = self.table.prior()
        k = prior.posterior_mean(self.table)
        variance = prior.variances(self.table)
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


def coefficients_per_class(head: FittedHead) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and intercepts with a column per class: of two classes, 0 and f.

    Only differences between classes are tested, so that one of two may stand at 0.
    """
    alpha, intercept = head.coefficients, np.asarray(head.intercept, dtype=np.float64).reshape(-1)
    if alpha.shape[1] > 1:
        return alpha, intercept
    return np.hstack([np.zeros_like(alpha), alpha]), np.array([0.0, intercept[0]])
