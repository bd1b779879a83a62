"""Requests of points: each is measured once, in Pauli settings that all of them share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.allocators.points import make_point_allocator
from aqka.allocators.points.even import Even
from aqka.backends import Backend
from aqka.dropins._even_points import EvenPoints
from aqka.dropins._requests import MoreRequest, Settings, TrainingRequest, needs_labels
from aqka.errors import InputError
from aqka.sessions.point_acquisition import DEFAULT_POINT_ALLOCATOR, PointAcquisition
from aqka.sessions.point_kernels import make_point_kernel, settings_for


@dataclass(frozen=True, eq=False)
class PointsTraining(TrainingRequest):
    """The different training points, measured as the allocator says: evenly if none is named."""

    kind = "training-points"
    thing = "point"

    def session(self, settings: Settings, backend: Backend) -> PointAcquisition:
        """Return a new session."""
        n_qubits = qubits_of(backend)
        allocator = make_point_allocator(settings.allocator or DEFAULT_POINT_ALLOCATOR)
        if self.labels is None and not isinstance(allocator, Even):
            raise needs_labels(allocator)
        return PointAcquisition(
            *(self.problem(), n_qubits, settings.budget, allocator),
            seed=settings.seed,
            kernel=settings.point_kernel,
        )


@dataclass(frozen=True, eq=False)
class PointsRequest(MoreRequest):
    """Some points, each with the same shots."""

    rows: FloatArray
    shots: int
    columns: ClassVar[None] = None  # type: ignore[misc]
    kind = "points"
    thing = "point"

    @property
    def count(self) -> int:
        """How many points it asks for."""
        return len(self.rows)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what the folder keeps."""
        return {"rows": self.rows, "shots": np.array(self.shots)}

    @classmethod
    def of_arrays(cls, held: Mapping[str, Any]) -> Self:
        """Return the request that a folder keeps."""
        return cls(held["rows"], int(held["shots"]))

    def session(self, settings: Settings, backend: Backend) -> EvenPoints:
        """Return a new session, in the settings that the training points have, too."""
        allocator = make_point_allocator(settings.allocator or DEFAULT_POINT_ALLOCATOR)
        n_qubits, named = qubits_of(backend), settings.point_kernel
        kernel = None if named is None else make_point_kernel(named, n_qubits)
        letters = settings_for(kernel, allocator, n_qubits, settings.seed)
        return EvenPoints(self.rows, letters, self.total)


def qubits_of(backend: Backend) -> int:
    """Return the qubits of a point's state, or refuse a backend that only measures pairs."""
    if backend.n_qubits is None:
        raise InputError(
            f"design='points' needs a backend that prepares states, but {type(backend).__name__} "
            "only measures pairs; name another backend, or design='pairs'."
        )
    return backend.n_qubits
