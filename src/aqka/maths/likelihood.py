"""States of low rank by maximum likelihood from counts in product bases, batched over points.

Readout errors are part of the model. A confusion matrix C_q has the probability to read r where the
bit of qubit q is t in row r and column t, so its columns sum to 1. Qubits err independently: the
probabilities of the bitstrings that are read are ⊗C_q applied to the true ones.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from aqka._util.arrays import BoolArray, ComplexArray, FloatArray, IntArray
from aqka.maths.product_bases import GROUP, ProductBases

SMALLEST = 1e-12  # probabilities are raised to this: a start may forbid an outcome that was seen
POWER_STEPS = 20
MAX_STEPS = 300
MAX_HALVINGS = 8
WRITTEN = 8  # qubits up to which a 2^n × 2^n matrix of each point takes little memory
FEW = 6  # multiplications per outcome, below which a bra for each seen one is the faster way


@dataclass(frozen=True, eq=False)
class SeenOutcomes:
    """The outcomes that some points showed, flattened; only they enter a likelihood.

    Without readout errors only the seen outcomes' own amplitudes matter. With them any true
    outcome may have been read as a seen one, and all amplitudes do.
    """

    n_points: int
    size: int  # outcomes of a point: settings × 2^n
    index: IntArray  # position in the points × settings × outcomes array, ascending
    share: FloatArray  # count divided by the shots of its point
    point: IntArray  # of each entry
    confusion: FloatArray | None = None  # a 2 × 2 matrix for each qubit
    bras: ComplexArray | None = None  # ⟨b| of each entry, where they are few

    def listed(self, bases: ProductBases) -> "SeenOutcomes":
        """Return these outcomes with their bras, if that is less work than all amplitudes are."""
        few = len(self.index) * bases.dimension <= FEW * self.n_points * self.size
        if self.confusion is not None or bases.n_qubits <= GROUP or not few:
            return self
        cells, outcomes = np.divmod(self.index, bases.dimension)
        return replace(self, bras=bases.bras(cells % bases.n_settings, outcomes))

    @cached_property
    def first(self) -> IntArray:
        """Where the entries of each point begin; each has some."""
        return np.searchsorted(self.point, np.arange(self.n_points))

    @cached_property
    def parts(self) -> list[slice]:
        """The entries of each point."""
        return [slice(*ends) for ends in pairwise([*self.first, len(self.point)])]

    @cached_property
    def needed(self) -> IntArray:
        """Positions of the amplitudes that the likelihood depends on."""
        return self.index if self.confusion is None else np.arange(self.n_points * self.size)

    @cached_property
    def needed_point(self) -> IntArray:
        """Point of each needed amplitude."""
        return self.point if self.confusion is None else self.needed // self.size

    def read(self, values: FloatArray) -> FloatArray:
        """Return what the readout makes of values of the needed outcomes, at the seen ones."""
        if self.confusion is None:
            return values
        table = values.reshape(-1, 2 ** len(self.confusion))
        return np.asarray(confuse(table, self.confusion).reshape(-1)[self.index])

    def read_back(self, values: FloatArray) -> FloatArray:
        """Return the transpose of :meth:`read`: from the seen outcomes to the needed ones."""
        if self.confusion is None:
            return values
        everything = np.zeros(self.n_points * self.size)
        everything[self.index] = values
        table = everything.reshape(-1, 2 ** len(self.confusion))
        return np.asarray(confuse(table, self.confusion.transpose(0, 2, 1)).reshape(-1))

    def subset(self, kept: IntArray) -> "SeenOutcomes":
        """Return the entries of the points ``kept`` (ascending)."""
        new = np.full(self.n_points, -1)
        new[kept] = np.arange(len(kept))
        moved = new[self.point]
        chosen = np.flatnonzero(moved >= 0)
        point = moved[chosen]
        index = self.index[chosen] + (point - self.point[chosen]) * self.size
        bras = None if self.bras is None else self.bras[chosen]
        share = self.share[chosen]
        return replace(self, n_points=len(kept), index=index, share=share, point=point, bras=bras)

    def sum(self, values: FloatArray) -> FloatArray:
        """Return the sum of ``values`` over the entries of each point."""
        return np.asarray(np.add.reduceat(values, self.first))


def confuse(probabilities: FloatArray, confusion: FloatArray) -> FloatArray:
    """Return ⊗C_q applied to the last axis, of 2^n outcomes: what is read. n 2^n steps.

    >>> confuse(np.array([1.0, 0.0, 0.0, 0.0]), np.array([np.eye(2), [[0.9, 0.2], [0.1, 0.8]]]))
    array([0.9, 0. , 0.1, 0. ])
    """
    shape = probabilities.shape
    result = probabilities
    for qubit, matrix in enumerate(confusion):
        halves = result.reshape(-1, 2, 2**qubit)
        result = np.stack([row[0] * halves[:, 0] + row[1] * halves[:, 1] for row in matrix], axis=1)
    return result.reshape(shape)


def spectral_start(bases: ProductBases, seen: SeenOutcomes) -> ComplexArray:
    """Return about the top eigenvector of Σ f|b⟩⟨b| of each point, by the power method."""
    random = np.random.default_rng(0)  # the same counts give the same states
    shape = (1, 1, bases.dimension)
    u: ComplexArray = random.normal(size=shape) + 1j * random.normal(size=shape)
    u = np.repeat(u, seen.n_points, axis=1)
    weights = seen.read_back(seen.share)
    sums = None
    if seen.bras is None and bases.n_qubits <= WRITTEN:
        everything = np.zeros((seen.n_points, bases.n_settings, bases.dimension))
        everything.reshape(-1)[seen.needed] = weights
        sums = bases.mixtures(everything)
    for _ in range(POWER_STEPS):
        if sums is not None:
            u = (sums @ u[0, :, :, None])[None, :, :, 0]
        else:
            u = _pull(bases, seen, weights * _needed_amplitudes(bases, seen, u))
        u /= _wide(np.sqrt(_inner(u, u)))
    return u


def maximise_likelihood(
    bases: ProductBases, seen: SeenOutcomes, start: ComplexArray, tolerance: FloatArray
) -> tuple[ComplexArray, FloatArray, BoolArray]:
    """Return states, mean log-likelihoods per shot, and whether each point has converged.

    ``start`` has unit vectors, rank × points × 2^n: the vectors v_k of a point make its state ρ =
    Σ_k |v_k⟩⟨v_k|, and their squared norms sum to 1. A point is done where the length of its
    gradient Ru - u is below ``tolerance``.

    With R = Σ (f/p) |b⟩⟨b| the gradient of Σ f log p on the unit sphere is g = Ru - u. The Fisher
    information of random bases is close to a multiple of the identity there, so g needs no
    preconditioner. Conjugate gradients (Polak-Ribière with restarts) take a third to a seventh of
    the steps of the classical iteration u ← (Ru + u)/2. A step costs one pair of transforms: along
    u + t d the amplitudes are a + t c, so that the Newton step in t needs none. With readout errors
    C the outcome o is seen with p' = Cp, and R = Σ (Cᵀ(f/p'))|b⟩⟨b|: all else stays the same.
    """
    n_points = start.shape[1]
    states = start.copy()
    value = np.zeros(n_points)
    done = np.zeros(n_points, dtype=np.bool_)
    climb = _Climb(bases, seen, start)
    active = np.arange(n_points)
    limit = tolerance
    for _ in range(MAX_STEPS):
        finished = climb.length <= limit
        if finished.any():
            done[active[finished]] = True
            states[:, active[finished]] = climb.u[:, finished]
            value[active[finished]] = climb.value()[finished]
            kept = np.flatnonzero(~finished)
            active, limit = active[kept], limit[kept]
            if not kept.size:
                return states, value, done
            climb.keep(kept)
        climb.step()
    states[:, active] = climb.u
    value[active] = climb.value()
    return states, value, done


class _Climb:
    """Conjugate gradients on the unit sphere, for a batch of points side by side."""

    def __init__(self, bases: ProductBases, seen: SeenOutcomes, start: ComplexArray) -> None:
        self.bases, self.seen, self.u = bases, seen, start
        self.a = _needed_amplitudes(bases, seen, start)
        self._set_gradient()
        self.direction = self.g

    def _set_gradient(self) -> None:
        self.p = np.maximum(self.seen.read(_squares(self.a)), SMALLEST)
        weights = self.seen.read_back(self.seen.share / self.p)
        self.g = _pull(self.bases, self.seen, weights * self.a) - self.u
        self.length = np.sqrt(_inner(self.g, self.g))

    def value(self) -> FloatArray:
        """Return Σ f log p of each point."""
        return self.seen.sum(self.seen.share * np.log(self.p))

    def keep(self, kept: IntArray) -> None:
        """Go on with some of the points."""
        stays = np.zeros(self.seen.n_points, dtype=np.bool_)
        stays[kept] = True
        self.a = self.a[:, stays[self.seen.needed_point]]
        self.p = self.p[stays[self.seen.point]]
        self.seen = self.seen.subset(kept)
        self.u, self.g, self.direction = self.u[:, kept], self.g[:, kept], self.direction[:, kept]
        self.length = self.length[kept]

    def step(self) -> None:
        """Go as far along the direction as a Newton step says, then find the next direction."""
        d, square = self.direction, _inner(self.direction, self.direction)
        c = _needed_amplitudes(self.bases, self.seen, d)
        t = self._step_length(c, square)
        moved = self.u + _wide(t) * d
        # The length as it is: 1 + t²|d|² would let rounding errors grow from step to step.
        shrink = 1 / np.sqrt(_inner(moved, moved))
        self.u = moved * _wide(shrink)
        point = self.seen.needed_point
        self.a = (self.a + t[point] * c) * shrink[point]
        old, old_square = self.g, self.length**2
        self._set_gradient()
        change = self.length**2 - _inner(self.g, old) + _inner(self.g, self.u) * _inner(self.u, old)
        beta = np.maximum(change / np.maximum(old_square, SMALLEST**2), 0.0)
        d = self.g + _wide(beta) * (d - self.u * _wide(_inner(self.u, d)))
        climbs = _inner(d, self.g) > 0.1 * self.length**2
        self.direction = np.where(climbs[None, :, None], d, self.g)

    def _step_length(self, c: ComplexArray, square: FloatArray) -> FloatArray:
        """Return t with a higher likelihood at (u + t d)/|u + t d|; 0 where none was found."""
        f, point, q0 = self.seen.share, self.seen.point, self.p
        cross = 2 * np.sum(self.a.real * c.real + self.a.imag * c.imag, axis=0)
        q1, q2 = self.seen.read(cross), self.seen.read(_squares(c))
        # At t = 1, where the iteration without momentum would go, then one Newton step from there.
        q = np.maximum(q0 + q1 + q2, SMALLEST)
        ratio = (q1 + 2 * q2) / q
        slope = self.seen.sum(f * ratio) - 2 * square / (1 + square)
        bend = (
            self.seen.sum(f * (2 * q2 / q - ratio**2))
            - 2 * square * (1 - square) / (1 + square) ** 2
        )
        newton = np.where(bend < 0, -slope / np.where(bend < 0, bend, 1.0), np.sign(slope))
        t = np.clip(1 + newton, 0.25, 3.0)
        for _ in range(MAX_HALVINGS):
            wide = t[point]
            q = np.maximum(q0 + wide * (q1 + wide * q2), SMALLEST)
            worse = self.seen.sum(f * np.log(q / q0)) < np.log1p(t**2 * square)
            if not worse.any():
                break
            t = np.where(worse, t / 4, t)
        return np.asarray(np.where(worse, 0.0, t))


def _needed_amplitudes(
    bases: ProductBases, seen: SeenOutcomes, vectors: ComplexArray
) -> ComplexArray:
    """Return the amplitudes that the likelihood depends on, rank × outcomes."""
    if seen.bras is not None:
        shown = [vectors[:, i] @ seen.bras[part].T for i, part in enumerate(seen.parts)]
        return np.concatenate(shown, axis=1)
    rank, n_points, dimension = vectors.shape
    everything = bases.amplitudes(vectors.reshape(rank * n_points, dimension)).reshape(rank, -1)
    return everything if seen.confusion is not None else everything[:, seen.needed]


def _pull(bases: ProductBases, seen: SeenOutcomes, weights: ComplexArray) -> ComplexArray:
    """Return Σ w|b⟩ over the needed outcomes, from weights of shape rank × outcomes."""
    if seen.bras is not None:
        conjugates = [weights[:, part].conj() @ seen.bras[part] for part in seen.parts]
        return np.stack(conjugates, axis=1).conj()
    rank, m, dimension = len(weights), bases.n_settings, bases.dimension
    everything = np.zeros((rank, seen.n_points * m * dimension), dtype=np.complex128)
    everything[:, seen.needed] = weights
    pulled = bases.adjoint(everything.reshape(rank * seen.n_points, m, dimension))
    return pulled.reshape(rank, seen.n_points, dimension)


def _squares(amplitudes: ComplexArray) -> FloatArray:
    return np.asarray((amplitudes.real**2 + amplitudes.imag**2).sum(axis=0))


def _inner(left: ComplexArray, right: ComplexArray) -> FloatArray:
    """Return Re⟨left|right⟩ of each point, all its vectors together."""
    return np.asarray(np.einsum("kid,kid->i", left.view(np.float64), right.view(np.float64)))


def _wide(values: FloatArray) -> FloatArray:
    return values[None, :, None]
