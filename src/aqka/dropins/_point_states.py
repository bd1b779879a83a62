"""States of points as they come in, and the kernel of any two of them.

An entry must be the same whenever it is asked for. So all that could change with the points that
come later, the rank of the states and the width of a projected kernel, is decided once, by the
training points.
"""

from abc import ABC, abstractmethod

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.points import PointTable
from aqka.errors import InputError
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
from aqka.sessions.gaussian_points import ProjectedPoints
from aqka.sessions.linear_points import LinearProjectedPoints, mean_overlaps
from aqka.sessions.point_contract import PointKernel
from aqka.sessions.point_heads import FidelityOfPoints
from aqka.sessions.point_kernels import point_kernel_names


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
    """The fidelity of states fitted by maximum likelihood, with a device's noise or without.

    States are taken as pure unless the training points say otherwise
    (:func:`~aqka.estimates.state_rank.choose_rank`), or the kernel.
    """

    def __init__(self, kernel: FidelityOfPoints | None = None) -> None:
        self._kernel = kernel or FidelityOfPoints()
        self._vectors: ComplexArray | None = None
        self._rank = self._kernel.rank or 1

    def __len__(self) -> int:
        """Return how many points there are."""
        return 0 if self._vectors is None else self._vectors.shape[1]

    def readable(self, table: PointTable) -> IntArray:
        """Return the points with shots."""
        return np.flatnonzero(table.shots_per_point)

    def add_training(self, table: PointTable, outputs: FloatArray | None) -> None:
        """Add the training points and keep the rank that will do for them."""
        if self._kernel.rank is not None:
            self.add(table)
            return
        how = {"confusion": self._kernel.confusion, "kernel_of": self._kernel.kernel_of}
        fit = self._kernel.fit_states
        states, _ = choose_rank(table, np.random.default_rng(0), **how, fit=fit)  # type: ignore[arg-type]
        self._rank = states.rank
        self._append(states)

    def add(self, table: PointTable) -> None:
        """Add other points, fitted as the training points were."""
        fit = self._kernel.fit_states
        self._append(fit(table, self._rank, None, self._kernel.confusion))

    def _append(self, states: FittedStates) -> None:
        new = states.behind(self._kernel.kernel_of).vectors
        parts = [new] if self._vectors is None else [self._vectors, new]
        self._vectors = np.concatenate(parts, axis=1)

    def kernel(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """Return Tr ρ_i ρ_j; of pure states |⟨u_i|u_j⟩|²."""
        assert self._vectors is not None
        return overlap_kernel(self._vectors[:, rows], self._vectors[:, cols])


class Reductions(PointStates):
    """What projected kernels share: reduced states, of any number of qubits."""

    def __init__(self, kernel: ProjectedPoints | LinearProjectedPoints) -> None:
        self._kernel = kernel
        self._states: ReducedStates | None = None

    def __len__(self) -> int:
        """Return how many points there are."""
        return 0 if self._states is None else len(self._states.expectations)

    def readable(self, table: PointTable) -> IntArray:
        """Return the points with two shots or more of each operator of a reduced state."""
        return readable_points(table, self._kernel.locality)

    def add_training(self, table: PointTable, outputs: FloatArray | None) -> None:
        """Add the training points."""
        self._append(self._reduce(table), outputs)

    def add(self, table: PointTable) -> None:
        """Add other points."""
        self._append(self._reduce(table), None)

    def _reduce(self, table: PointTable) -> ReducedStates:
        return reduced_states(table, self._kernel.locality, self._kernel.confusion)

    def _append(self, new: ReducedStates, outputs: FloatArray | None) -> None:
        self._states = new if self._states is None else self._states.joined(new)


class ReducedPoints(Reductions):
    """The Gaussian projected kernel exp(-γ Σ ‖ρ - σ‖²)."""

    def __init__(self, kernel: ProjectedPoints | None = None) -> None:
        kernel = kernel or ProjectedPoints()
        super().__init__(kernel)
        self._gamma = kernel.gamma

    def _append(self, new: ReducedStates, outputs: FloatArray | None) -> None:
        """Choose the width by the first points, as ``ProjectedPoints`` does: the training ones."""
        if self._gamma is None and outputs is not None:
            self._gamma = tuned_gamma(new, outputs)
        elif self._gamma is None:
            self._gamma = median_gamma(new)
        super()._append(new, outputs)

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


class LinearPoints(Reductions):
    """The linear projected kernel, whose diagonal is not 1."""

    def kernel(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """Return the mean of Tr ρσ over the reduced states."""
        assert self._states is not None
        return mean_overlaps(self._states.subset(rows), self._states.subset(cols))


def new_states(kernel: PointKernel) -> PointStates:
    """Return what keeps the states of a kernel, before the first of them."""
    if isinstance(kernel, FidelityOfPoints):
        return FittedPoints(kernel)
    if isinstance(kernel, ProjectedPoints):
        return ReducedPoints(kernel)
    if isinstance(kernel, LinearProjectedPoints):
        return LinearPoints(kernel)
    raise InputError(
        f"point_kernel must be one of {', '.join(map(repr, point_kernel_names()))}, or what these "
        f"stand for with other settings, got {type(kernel).__name__}: a kernel function knows no "
        "head."
    )
