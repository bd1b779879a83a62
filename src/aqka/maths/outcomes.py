"""The outcomes that points showed, and the linear map from the states' probabilities to theirs.

That map holds the readout errors. A confusion matrix C_q has the probability to read r where the
bit of qubit q is t in row r and column t, so its columns sum to 1. Qubits err independently: the
probabilities of the bitstrings that are read are ⊗C_q applied to the true ones.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aqka._util.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SeenOutcomes:
    """The outcomes that some points showed, flattened; only they enter a likelihood.

    Without readout errors only the seen outcomes' own amplitudes matter. With them any true
    outcome may have been read as a seen one, and all amplitudes do.

    Attributes
    ----------
    n_points
        Number of points.
    size
        Outcomes of a point: settings × 2^n.
    index
        Position in the points × settings × outcomes array, ascending.
    share
        Count divided by the shots of its point: the shares of a point sum to 1.
    point
        Point of each entry.
    confusion
        A 2 × 2 matrix for each qubit (:mod:`aqka.maths.outcomes`); None for none.
    """

    n_points: int
    size: int
    index: IntArray
    share: FloatArray
    point: IntArray
    confusion: FloatArray | None = None

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
        return replace(self, n_points=len(kept), index=index, share=self.share[chosen], point=point)

    def sum(self, values: FloatArray) -> FloatArray:
        """Return the sum of ``values`` over the entries of each point."""
        return np.asarray(np.bincount(self.point, values, self.n_points), dtype=np.float64)


def confuse(probabilities: FloatArray, confusion: FloatArray) -> FloatArray:
    """Return ⊗C_q applied to the last axis, of 2^n outcomes: what is read.

    Qubit by qubit, so that 2^n outcomes cost n 2^n steps. With the transposed matrices it is the
    transposed map.

    Examples
    --------
    >>> confuse(np.array([1.0, 0.0, 0.0, 0.0]), np.array([np.eye(2), [[0.9, 0.2], [0.1, 0.8]]]))
    array([0.9, 0. , 0.1, 0. ])
    """
    shape = probabilities.shape
    result = probabilities
    for qubit, matrix in enumerate(confusion):
        halves = result.reshape(-1, 2, 2**qubit)
        result = np.stack([row[0] * halves[:, 0] + row[1] * halves[:, 1] for row in matrix], axis=1)
    return result.reshape(shape)
