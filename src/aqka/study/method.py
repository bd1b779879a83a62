"""A study's settings as the objects they stand for."""

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from aqka.allocators import make_allocator
from aqka.allocators.points import make_point_allocator
from aqka.allocators.schedule import Schedule
from aqka.core.defaults import DEFAULT_ALLOCATOR, DEFAULT_READOUT
from aqka.core.problem import Problem
from aqka.core.target_scale import TargetScale
from aqka.readouts import Readout, make_readout
from aqka.runs.history import History
from aqka.sessions import Training
from aqka.sessions.point_acquisition import DEFAULT_POINT_ALLOCATOR, PointAcquisition
from aqka.study.data import Points
from aqka.study.schema import Study


def problem_of(study: Study, points: Points) -> Problem:
    """Return the learning problem of a study; numbers are learnt in units of their spread."""
    y = points.train_labels
    if study.data.task == "regression":
        y = TargetScale.of(y).scaled(y)
    return Problem(y, study.method.ridge, study.method.C)


def class_labels_of(study: Study, points: Points) -> NDArray[Any] | None:
    """Return the classes of the training points; None where the target holds numbers."""
    return None if study.data.task == "regression" else points.train_labels


def schedule_of(study: Study) -> Schedule:
    """Return the allocator's schedule with what the study changes."""
    given = {name: getattr(study.method, name) for name in ("warmup", "rounds", "explore")}
    changes = {name: value for name, value in given.items() if value is not None}
    if study.method.design == "points":
        return replace(make_point_allocator(point_allocator(study)).schedule, **changes)
    return replace(make_allocator(study.method.allocator).schedule, **changes)


def point_allocator(study: Study) -> str:
    """Return the allocator over points of a study: its own, or the default."""
    name = study.method.allocator
    return DEFAULT_POINT_ALLOCATOR if name == DEFAULT_ALLOCATOR else name


def with_design(study: Study, design: str) -> Study:
    """Return a study whose design is settled."""
    if study.method.design == design:
        return study
    method = study.method.model_copy(update={"design": design})
    return study.model_copy(update={"method": method})


def with_begun_design(study: Study, history: History) -> Study:
    """Return the study of a begun run with the design that its ledger has."""
    return with_design(study, "pairs" if history.extent.pauli is None else "points")


def readout_of(study: Study) -> Readout:
    """Return the readout of a study: the one it names, or its head's."""
    return make_readout(readout_name(study))


def readout_name(study: Study) -> str:
    """Return the name of a study's readout."""
    if study.method.head == "svm":
        return "svm"
    return study.method.readout or DEFAULT_READOUT


def new_session(
    study: Study, points: Points, budget: int, n_qubits: int
) -> Training | PointAcquisition:
    """Return the training session of a study whose design is settled, before its first shot.

    ``budget`` is for all that training takes, a calibration included.
    """
    method = study.method
    problem = problem_of(study, points)
    if method.design == "points":
        allocator, schedule = point_allocator(study), schedule_of(study)
        return PointAcquisition(
            *(problem, n_qubits, budget, allocator, schedule),
            seed=method.seed,
            calibration_shots=method.calibration_shots,
            kernel=method.point_kernel,
        )
    return Training(problem, budget, method.allocator, schedule_of(study), method.seed)
