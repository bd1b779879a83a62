"""Requests of pairs: the training kernel by the allocator, and any others evenly."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.allocators import make_allocator
from aqka.allocators.uniform import Uniform
from aqka.backends import Backend
from aqka.dropins._even_pairs import EvenPairs
from aqka.dropins._requests import MoreRequest, Settings, TrainingRequest, needs_labels
from aqka.estimates.pairs import estimate_kernel
from aqka.sessions.acquisition import Acquisition


class Values(NamedTuple):
    """Kernel values of pairs, each named by a row and a column of its request."""

    row_index: IntArray
    col_index: IntArray
    values: FloatArray


@dataclass(frozen=True, eq=False)
class PairsTraining(TrainingRequest):
    """All pairs of some points, measured as the allocator says."""

    kind = "training"
    thing = "pair"

    def session(self, settings: Settings, backend: Backend) -> Acquisition:
        """Return a new session."""
        allocator = make_allocator(settings.allocator)
        if self.labels is None and not isinstance(allocator, Uniform):
            raise needs_labels(allocator)
        return Acquisition(self.problem(), settings.budget, allocator, seed=settings.seed)

    def values(self, session: Acquisition) -> Values:
        """Return the kernel as measured; a pair without shots as the problem reads it."""
        kernel = estimate_kernel(session.table, session.problem, session.landmarks)
        row_index, col_index = np.triu_indices(len(kernel), k=1)
        return Values(row_index, col_index, kernel[row_index, col_index])


@dataclass(frozen=True, eq=False)
class PairsRequest(MoreRequest):
    """Some pairs between rows and columns, each with the same shots."""

    rows: FloatArray
    columns: FloatArray
    row_index: IntArray
    col_index: IntArray
    shots: int
    kind = "pairs"
    thing = "pair"

    @property
    def count(self) -> int:
        """How many pairs it asks for."""
        return len(self.row_index)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what the folder keeps."""
        index = np.stack([self.row_index, self.col_index])
        return {
            "rows": self.rows,
            "columns": self.columns,
            "index": index,
            "shots": np.array(self.shots),
        }

    @classmethod
    def of_arrays(cls, held: Mapping[str, Any]) -> Self:
        """Return the request that a folder keeps."""
        rows, cols = held["index"]
        return cls(held["rows"], held["columns"], rows, cols, int(held["shots"]))

    def session(self, settings: Settings, backend: Backend) -> EvenPairs:
        """Return a new session."""
        return EvenPairs(self)

    def values(self, session: EvenPairs) -> Values:
        """Return hits / shots (Eq. 4) of the pairs that have shots: some may have lost theirs."""
        seen = session.shots > 0
        values = session.hits[seen] / session.shots[seen]
        return Values(self.row_index[seen], self.col_index[seen], values)
