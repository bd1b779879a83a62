"""States of points as they come in, and the kernel of any two of them.

An entry must be the same whenever it is asked for. So all that could change with the points that
come later, the rank of the states and the width of a projected kernel, is decided once, by the
training points.
"""

from abc import ABC, abstractmethod

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.points import PointTable
from aqka.estimates.projected import (
    ReducedStates,
    median_gamma,
    readable_points,
    reduced_states,
    squared_distances,
)
from aqka.estimates.state_rank import choose_rank
from aqka.estimates.states import FittedStates
from aqka.maths.product_bases import ComplexArray
from aqka.maths.state_features import overlap_kernel
from aqka.readouts.projected_gamma import tuned_gamma
from aqka.sessions.state_fits import StateFits


class PointStates(ABC):
    """What has been read out of the counts of points, in the order they came."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many points there are."""

    @abstractmethod
    def readable(self, table: PointTable) -> IntArray:
        """Return the points of a table that have shots enough; some may have lost theirs."""

    @abstractmethod
    def add_training(self, table: PointTable, outputs: FloatArray | None) -> None:
        """Add the training points; ``outputs`` are their targets, None where there are none."""

    @abstractmethod
    def add(self, table: PointTable) -> None:
        """Add other points."""

    @abstractmethod
    def kernel(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """Return the kernel of some of the points with others."""


class FittedPoints(PointStates):
    """The fidelity of states fitted by maximum likelihood, with a device's noise taken off.

    States are taken as pure unless the training points say otherwise
    (:func:`~aqka.estimates.state_rank.choose_rank`).
    """

    def __init__(self) -> None:
        self._vectors: ComplexArray | None = None
        self._rank = 1

    def __len__(self) -> int:
        """Return how many points there are."""
        return 0 if self._vectors is None else len(self._vectors)

    def readable(self, table: PointTable) -> IntArray:
        """Return the points with shots."""
        return np.flatnonzero(table.shots_per_point)

    def add_training(self, table: PointTable, outputs: FloatArray | None) -> None:
        """Add the training points and keep the rank that will do for them."""
        states, _ = choose_rank(table, np.random.default_rng(0), fit=StateFits())
        self._rank = states.rank
        self._append(states)

    def add(self, table: PointTable) -> None:
        """Add other points, fitted as the training points were."""
        self._append(StateFits()(table, self._rank))

    def _append(self, states: FittedStates) -> None:
        new = states.purified().vectors[0]
        self._vectors = new if self._vectors is None else np.vstack([self._vectors, new])

    def kernel(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """Return |⟨u_i|u_j⟩|²."""
        assert self._vectors is not None
        return overlap_kernel(self._vectors[None, rows], self._vectors[None, cols])


class ReducedPoints(PointStates):
    """The Gaussian projected kernel of one-qubit reduced states, for any number of qubits."""

    def __init__(self) -> None:
        self._states: ReducedStates | None = None
        self._gamma: float | None = None

    def __len__(self) -> int:
        """Return how many points there are."""
        return 0 if self._states is None else len(self._states.expectations)

    def readable(self, table: PointTable) -> IntArray:
        """Return the points with two shots or more of each letter on each qubit."""
        return readable_points(table)

    def add_training(self, table: PointTable, outputs: FloatArray | None) -> None:
        """Add the training points and choose the width by them, as ``ProjectedPoints`` does."""
        states = reduced_states(table)
        if outputs is None:
            self._gamma = median_gamma(states)
        else:
            self._gamma = tuned_gamma(states, outputs)
        self._append(states)

    def add(self, table: PointTable) -> None:
        """Add other points; the first of all where the training points lost their shots."""
        states = reduced_states(table)
        if self._gamma is None:
            self._gamma = median_gamma(states)
        self._append(states)

    def _append(self, new: ReducedStates) -> None:
        self._states = new if self._states is None else self._states.joined(new)

    def kernel(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """Return exp(-γ Σ ‖ρ - σ‖²) of the measured distances, to learn from.

        With the noise of both points, whichever is new: so an entry is the same in every block.
        """
        assert self._states is not None
        assert self._gamma is not None
        noise = self._states.variances @ self._states.weights
        left, right = self._states.subset(rows), self._states.subset(cols)
        distances = squared_distances(left, right) + noise[rows][:, None] + noise[cols]
        distances[rows[:, None] == cols] = 0.0
        return np.asarray(np.exp(-self._gamma * np.maximum(distances, 0.0)))
