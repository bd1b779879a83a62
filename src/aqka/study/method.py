"""A study's settings as the objects they stand for."""

from dataclasses import replace

from aqka.allocators import make_allocator
from aqka.allocators.schedule import Schedule
from aqka.core.problem import Problem
from aqka.readouts import Readout, make_readout
from aqka.runs.history import History
from aqka.sessions.acquisition import Acquisition
from aqka.study.data import Points
from aqka.study.schema import Study


def problem_of(study: Study, points: Points) -> Problem:
    """Return the learning problem of a study."""
    return Problem(points.train_labels, study.method.ridge, study.method.C)


def schedule_of(study: Study) -> Schedule:
    """Return the allocator's schedule with what the study changes."""
    given = {name: getattr(study.method, name) for name in ("warmup", "rounds", "explore")}
    changes = {name: value for name, value in given.items() if value is not None}
    return replace(make_allocator(study.method.allocator).schedule, **changes)


def readout_of(study: Study) -> Readout:
    """Return the readout of a study: the one it names, or its head's."""
    default = "svm" if study.method.head == "svm" else "auto"
    return make_readout(study.method.readout or default)


def new_session(study: Study, points: Points, budget: int) -> Acquisition:
    """Return the training session of a study, before its first shot."""
    method = study.method
    problem = problem_of(study, points)
    return Acquisition(problem, budget, method.allocator, schedule_of(study), method.seed)


def reads_as_measured(history: History) -> bool:
    """Return whether a run takes measured test entries for exact ones.

    Version 0.1.0 did, whose ledgers hold no digests of files; its runs keep their labels.
    """
    return history.files is None
