"""States of points by maximum likelihood from their counts, and the fidelity kernel they give.

The state of a point is pure where the device is good, and of low rank where it is not;
:mod:`aqka.estimates.state_rank` decides. The kernel then has two meanings: the *device's*,
Tr ρ_i ρ_j, which is what pairs would have measured with the same noise, and the *purified* one, the
fidelity of the states' largest eigenvectors, which takes most of the noise away.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from aqka._util.arrays import BoolArray, ComplexArray, FloatArray, IntArray, threads_for
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import PointPlan
from aqka.core.points import PointTable
from aqka.errors import InputError
from aqka.estimates.readout import as_confusion
from aqka.maths.angle_prior import spread_evenly
from aqka.maths.likelihood import SeenOutcomes, confuse, maximise_likelihood, spectral_start
from aqka.maths.product_bases import ProductBases
from aqka.maths.state_features import overlap_kernel, state_features

MAX_STATE_QUBITS = 10  # beyond this a state has more parameters than anyone measures shots
TOLERANCE = 1e-3  # a pure fit is done a thousandth of its statistical error away from the optimum
MIXED_TOLERANCE = 1e-2  # small eigenvalues are found slowly: a hundredth of the error is enough
BATCH_AMPLITUDES = 2**16  # amplitudes of a batch: one array of them stays in the cache
SURPRISE = 2.0  # deviations by which a likelihood must fall short for a point to start again
RESTARTS = 3
KernelOf = Literal["purified", "device"]


@dataclass(frozen=True, eq=False)
class FittedStates:
    """States of points.

    The state of point i before the readout is Σ_k |v_ki⟩⟨v_ki|; ``vectors`` is rank × points × 2^n.
    """

    vectors: ComplexArray
    log_likelihood: FloatArray  # Σ count · log p of each point
    converged: BoolArray
    confusion: FloatArray | None = None  # the readout errors that the counts were explained with
    noisy: "FittedStates | None" = None
    """Where noise is seen but left out for the better kernel: states that have it. Standard errors
    then count what it does to the kernel."""

    @classmethod
    def given(cls, vectors: ComplexArray) -> "FittedStates":
        """Return states that were not fitted here, ranks × points × amplitudes."""
        count = vectors.shape[1]
        return cls(np.asarray(vectors), np.zeros(count), np.ones(count, dtype=np.bool_))

    @classmethod
    def joined(cls, parts: "list[FittedStates]", confusion: FloatArray | None) -> "FittedStates":
        """Return the states of some points and of others, in their order."""
        vectors = np.concatenate([part.vectors for part in parts], axis=1)
        likelihoods = np.concatenate([part.log_likelihood for part in parts])
        return cls(vectors, likelihoods, np.concatenate([p.converged for p in parts]), confusion)

    @property
    def rank(self) -> int:
        """Vectors of a state: 1 for pure states."""
        return len(self.vectors)

    def subset(self, points: IntArray) -> "FittedStates":
        """Return the states of some of the points."""
        return replace(
            self,
            vectors=self.vectors[:, points],
            log_likelihood=self.log_likelihood[points],
            converged=self.converged[points],
            noisy=None if self.noisy is None else self.noisy.subset(points),
        )

    def kernel(self, others: "FittedStates | None" = None) -> FloatArray:
        """Return Tr ρ_i ρ_j: the device's kernel; of pure states |⟨u_i|u_j⟩|².

        A point with itself has Tr ρ², which is 1 for pure states only.
        """
        return overlap_kernel(self.vectors, None if others is None else others.vectors)

    def features(self) -> FloatArray:
        """Return 4^n real numbers for each point whose inner products are the kernel."""
        return state_features(self.vectors)

    def behind(self, kernel_of: KernelOf) -> "FittedStates":
        """Return the states whose overlaps are the kernel that is meant.

        ``"purified"`` is that of the pure states nearest to the fitted ones, without most of the
        device's noise; ``"device"`` that of the states as they left the device.
        """
        if kernel_of not in ("purified", "device"):
            raise InputError(f"kernel_of must be 'purified' or 'device', got {kernel_of!r}.")
        return self.purified() if kernel_of == "purified" else self

    def purified(self) -> "FittedStates":
        """Return the pure states nearest to these: their largest eigenvectors."""
        return self if self.rank == 1 else self.with_less_noise(0.0)

    def with_less_noise(self, kept: float) -> "FittedStates":
        """Return states whose eigenvalues but the largest are multiplied by ``kept``.

        What they lose the largest one gets. At 0 they are pure.
        """
        # The eigenvectors of V V† follow from those of the small V† V.
        gram = np.einsum("kid,lid->ikl", self.vectors.conj(), self.vectors)
        values, turn = np.linalg.eigh(gram)
        vectors = np.einsum("kid,ikl->lid", self.vectors, turn)  # lengths: square roots of values
        if kept == 0:
            u = vectors[-1] / np.linalg.norm(vectors[-1], axis=1, keepdims=True)
            return replace(self, vectors=u[None])
        top = np.maximum(values[:, -1], 1e-300)
        scale = np.full((self.rank, values.shape[0]), np.sqrt(kept))
        scale[-1] = np.sqrt((top + (1 - kept) * values[:, :-1].sum(axis=1)) / top)
        return replace(self, vectors=vectors * scale[:, :, None])


def fit_states(
    table: PointTable,
    rank: int = 1,
    start: FittedStates | None = None,
    confusion: FloatArray | None = None,
) -> FittedStates:
    """Return the states of all points with the highest likelihood among those of ``rank``.

    ``start`` are states of the same or a lower rank. Readout errors, ``confusion`` as in
    :func:`aqka.estimates.readout.confusion_matrices`, enter the likelihood: correcting counts would
    magnify the noise and give negative counts.

    The likelihood of a pure state is not concave. At four qubits the climb ended in a lower optimum
    at 7 % of the points with 8 · 2^n shots, 2 % with 32 · 2^n, and none of 200 with 128 · 2^n. A
    loss of a few units of log-likelihood did not change the kernel's error; a wrong optimum far
    below shows, because the log-likelihood then falls short of what the state itself predicts. Such
    points start again, three times, and keep their best. States of higher rank need no restarts.
    """
    check_measured(table)
    errors = None if confusion is None else as_confusion(confusion, table.n_qubits)
    bases = ProductBases(table.settings)
    parts = []
    with threads_for(0):  # as the processes of a sweep do: the same bits anywhere
        for points in _batches(table, rank):
            given = None if start is None else start.vectors[:, points]
            parts.append(_fit_batch(bases, table.subset(points), rank, given, errors))
    return FittedStates.joined(parts, errors)


StateFitter = Callable[[PointTable, int, FittedStates | None, FloatArray | None], FittedStates]
"""A function of the arguments of :func:`fit_states`, in its order."""
Fit = tuple[ComplexArray, FloatArray, BoolArray]


def _fit_batch(
    bases: ProductBases,
    part: PointTable,
    rank: int,
    start: ComplexArray | None,
    errors: FloatArray | None,
) -> FittedStates:
    seen, shots = _seen(part, errors).listed(bases), part.shots_per_point
    limit = TOLERANCE if rank == 1 else MIXED_TOLERANCE
    tolerance = limit * np.sqrt(bases.dimension / shots)
    first = _enriched(spectral_start(bases, seen) if start is None else start, rank)
    best = maximise_likelihood(bases, seen, first, tolerance)
    if rank == 1:
        best = _restarted(bases, part, seen, tolerance, best)
    return FittedStates(best[0], best[1] * shots, best[2])


def _restarted(
    bases: ProductBases, part: PointTable, seen: SeenOutcomes, tolerance: FloatArray, fit: Fit
) -> Fit:
    """Start points again whose likelihood is far below what their state predicts."""
    poor = np.flatnonzero(_surprise(bases, part, seen, fit) > SURPRISE)
    if not poor.size:
        return fit
    vectors, value, done = fit[0].copy(), fit[1].copy(), fit[2].copy()
    again = seen.subset(poor)
    random = np.random.default_rng(0)  # the same counts give the same states
    for _ in range(RESTARTS):
        shape = (1, 1, bases.dimension)
        noise = random.normal(size=shape) + 1j * random.normal(size=shape)
        first = np.repeat(noise / np.linalg.norm(noise), len(poor), axis=1)
        u, trial, finished = maximise_likelihood(bases, again, first, tolerance[poor])
        better = trial > value[poor]
        chosen = poor[better]
        vectors[:, chosen], value[chosen] = u[:, better], trial[better]
        done[chosen] = finished[better]
    return vectors, value, done


def _surprise(bases: ProductBases, part: PointTable, seen: SeenOutcomes, fit: Fit) -> FloatArray:
    """Return by how many standard deviations the log-likelihood is below its expectation."""
    p = np.maximum(outcome_probabilities(bases, fit[0], seen.confusion), 1e-12)
    mean, square = np.sum(p * np.log(p), axis=2), np.sum(p * np.log(p) ** 2, axis=2)
    expected = np.sum(part.shots * mean, axis=1)
    deviation = np.sqrt(np.sum(part.shots * (square - mean**2), axis=1))
    return np.asarray((expected - fit[1] * part.shots_per_point) / np.maximum(deviation, 1e-12))


def _enriched(vectors: ComplexArray, rank: int) -> ComplexArray:
    """Return vectors of ``rank``: the given ones, and small random ones for the rest."""
    missing = rank - len(vectors)
    if missing == 0:
        return vectors
    _, n_points, dimension = vectors.shape
    random = np.random.default_rng(0)
    shape = (missing, 1, dimension)
    noise = random.normal(size=shape) + 1j * random.normal(size=shape)
    noise *= 0.3 / np.sqrt(2 * dimension)
    full = np.concatenate([vectors, np.repeat(noise, n_points, axis=1)])
    return np.asarray(full / np.sqrt(np.sum(np.abs(full) ** 2, axis=(0, 2), keepdims=True)))


def check_measured(table: PointTable) -> None:
    """Refuse points without shots, and more qubits than a state can be fitted on."""
    if table.n_qubits > MAX_STATE_QUBITS:
        raise InputError(
            f"states can be fitted up to {MAX_STATE_QUBITS} qubits, got {table.n_qubits}; use a "
            "projected kernel."
        )
    empty = np.flatnonzero(table.shots_per_point == 0)
    if empty.size:
        raise InputError(
            f"every point must have shots before its state is fitted: point {empty[0]} has none "
            f"({empty.size} such points)."
        )


def batch_size(table: PointTable, rank: int) -> int:
    """Return how many points are fitted together; the last bits of a fit depend on its batch."""
    return max(1, int(BATCH_AMPLITUDES // (rank * table.n_settings * 2**table.n_qubits)))


def _batches(table: PointTable, rank: int) -> Iterator[IntArray]:
    size = batch_size(table, rank)
    for first in range(0, table.n_points, size):
        yield np.arange(first, min(first + size, table.n_points))


def _seen(part: PointTable, confusion: FloatArray | None) -> SeenOutcomes:
    point = part.cells // part.n_settings
    share = part.counts / part.shots_per_point[point]
    index = part.cells * 2**part.n_qubits + part.outcomes
    size = part.n_settings * 2**part.n_qubits
    return SeenOutcomes(part.n_points, size, index, share, point, confusion)


def outcome_probabilities(
    bases: ProductBases, vectors: ComplexArray, confusion: FloatArray | None = None
) -> FloatArray:
    """Return how likely each outcome is to be read, points × settings × outcomes."""
    p = np.zeros((vectors.shape[1], bases.n_settings, bases.dimension))
    for vector in vectors:
        amplitudes = bases.amplitudes(vector)
        p += amplitudes.real**2 + amplitudes.imag**2
    return p if confusion is None else confuse(p, confusion)


def some_points(
    table: PointTable, states: FittedStates, most: int
) -> tuple[PointTable, FittedStates]:
    """Return the counts and states of at most so many points, evenly spread."""
    points = spread_evenly(table.n_points, most)
    return table.subset(points), states.subset(points)


def draw_counts(states: FittedStates, table: PointTable, random: np.random.Generator) -> PointTable:
    """Return a table with the same shots, its outcomes drawn from ``states`` and their readout."""
    bases, m = ProductBases(table.settings), table.n_settings
    parts = []
    for points in _batches(table, states.rank):
        p = outcome_probabilities(bases, states.vectors[:, points], states.confusion)
        p /= p.sum(axis=2, keepdims=True)
        counts = random.multinomial(table.shots[points], p)
        seen = OutcomeCounts.of_dense(counts.reshape(-1, bases.dimension))
        parts.append((seen.rows + points[0] * m, seen.outcomes, seen.counts))
    # Added at once: each time a table is added to, all of it is sorted.
    point, setting = np.divmod(np.arange(table.shots.size), m)
    plan = PointPlan(point, setting, table.shots.reshape(-1), table.settings)
    drawn = PointTable(table.n_points, table.settings)
    drawn.add(plan, OutcomeCounts(*map(np.concatenate, zip(*parts, strict=True))))
    return drawn
