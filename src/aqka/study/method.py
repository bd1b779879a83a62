"""A study's settings as what they stand for: the problem, its sessions, its head, its answers.

Only this module makes the sessions that spend a study's shots.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aqka.allocators import make_allocator
from aqka.allocators.points import make_point_allocator, point_allocator_names
from aqka.allocators.schedule import Schedule
from aqka.backends.diagonal import (
    Depolarising,
    check_drift,
    estimate_depolarising,
    mitigate_depolarising,
)
from aqka.core.defaults import DEFAULT_ALLOCATOR, DEFAULT_READOUT
from aqka.core.problem import Problem
from aqka.core.target_scale import TargetScale
from aqka.errors import InputError
from aqka.estimates.pairs import estimate_kernel
from aqka.readouts import FittedHead, Readout, make_readout
from aqka.runs.history import History
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.point_acquisition import DEFAULT_POINT_ALLOCATOR, PointAcquisition
from aqka.sessions.point_heads import PointHead
from aqka.sessions.point_prediction import PointPrediction, PredictedPoints
from aqka.sessions.point_values import PointValueSession
from aqka.sessions.prediction import PredictionSession
from aqka.sessions.prediction_result import Prediction
from aqka.sessions.value_prediction import Values, ValueSession
from aqka.study.points import Points

if TYPE_CHECKING:
    from aqka.study.schema import MethodSection, Study

Training = Acquisition | PointAcquisition
Head = FittedHead | PointHead
Testing = PredictionSession | ValueSession | PointPrediction
Tested = Prediction | Values | PredictedPoints

SURE = 2.0  # standard errors that the survival must lie above 0, or dividing by it is no cure


class Choice(NamedTuple):
    """What a study's method comes to: names of allocator and readout, and the schedule.

    ``readout`` is None where the design chooses its own.
    """

    allocator: str
    readout: str | None
    schedule: Schedule


def resolve(method: "MethodSection") -> Choice:
    """Return what a method's settings come to; refuse those that do not go together."""
    of_points = method.allocator in point_allocator_names()
    if method.calibration_shots and method.design != "points":
        raise ValueError("calibration_shots are for design = 'points'")
    if method.point_kernel is not None and method.design != "points":
        raise ValueError(
            f"point_kernel {method.point_kernel!r} is for design = 'points', design is "
            f"{method.design!r}"
        )
    if of_points and method.design != "points":
        raise ValueError(f"allocator {method.allocator!r} is for design = 'points'")
    if method.design != "pairs" and not of_points and method.allocator != DEFAULT_ALLOCATOR:
        raise ValueError(
            f"allocator {method.allocator!r} is for pairs, design is {method.design!r}; for points "
            f"there are {', '.join(point_allocator_names())}"
        )
    changes: dict[str, Any] = {} if method.rounds is None else {"rounds": method.rounds}
    if method.design == "points":
        name = method.allocator if of_points else DEFAULT_POINT_ALLOCATOR
        schedule = make_point_allocator(name).schedule
        return Choice(name, method.readout, replace(schedule, **changes))
    schedule = make_allocator(method.allocator).schedule
    readout = method.readout or DEFAULT_READOUT
    return Choice(method.allocator, readout, replace(schedule, **changes))


def with_design(study: "Study", design: str) -> "Study":
    """Return a study whose design is settled."""
    if study.method.design == design:
        return study
    method = study.method.model_copy(update={"design": design})
    return study.model_copy(update={"method": method})


def with_begun_design(study: "Study", history: History) -> "Study":
    """Return the study of a begun run with the design that its ledger has."""
    return with_design(study, "pairs" if history.extent.pauli is None else "points")


def problem_of(study: "Study", points: Points) -> Problem:
    """Return the learning problem of a study; numbers are learnt in units of their spread."""
    y = points.train_labels
    if study.data.task == "regression":
        y = TargetScale.of(y).scaled(y)
    return Problem(y, study.method.ridge, study.method.C)


def class_labels_of(study: "Study", points: Points) -> NDArray[Any] | None:
    """Return the classes of the training points; None where the target holds numbers."""
    return None if study.data.task == "regression" else points.train_labels


def schedule_of(study: "Study") -> Schedule:
    """Return the allocator's schedule with what the study changes."""
    return resolve(study.method).schedule


def readout_of(study: "Study") -> Readout:
    """Return the readout of a study: the one it names, or the default."""
    return make_readout(resolve(study.method).readout or DEFAULT_READOUT)


def new_session(study: "Study", points: Points, budget: int, n_qubits: int) -> Training:
    """Return the training session of a study whose design is settled, before its first shot.

    ``budget`` is for all that training takes, a calibration included.
    """
    method, chosen = study.method, resolve(study.method)
    problem = problem_of(study, points)
    if method.design == "points":
        return PointAcquisition(
            problem,
            n_qubits,
            budget,
            chosen.allocator,
            chosen.schedule,
            seed=study.seed,
            calibration_shots=method.calibration_shots,
            kernel=method.point_kernel,
        )
    return Acquisition(problem, budget, chosen.allocator, chosen.schedule, study.seed)


def prediction_session(
    study: "Study", head: Head, n_points: int, budget: int, seed: int | None = None
) -> Testing:
    """Return a session that predicts points of a study, before its first shot."""
    of_values = study.data.task == "regression"
    kind: Any
    if isinstance(head, PointHead):
        kind = PointValueSession if of_values else PointPrediction
    else:
        kind = ValueSession if of_values else PredictionSession
    made: Testing = kind(head, n_points, budget, seed=study.seed if seed is None else seed)
    return made


def fits_session(session: Testing, history: History) -> bool:
    """Return whether a ledger has as many points as a session."""
    if isinstance(session, PointPrediction):
        return history.extent.new_points == session.table.n_points
    return history.extent.block == session.table.shots.shape


def answers_of(session: Testing, points: Points, noise: "Mitigation | None") -> Tested:
    """Return what a session found; values are in the units of the study's target."""
    if isinstance(session, PredictionSession):
        return session.result(as_measured=noise is not None and noise.applied)
    if isinstance(session, PointPrediction) and not isinstance(session, PointValueSession):
        return session.result()
    values: Values = session.result() if isinstance(session, ValueSession) else session.values()
    scale = TargetScale.of(points.train_labels)
    return values.in_units(scale.spread, scale.centre)


def fit_head(
    study: "Study", session: Training, history: History, n_qubits: int
) -> "tuple[Head, Mitigation | None]":
    """Train the study's head on what was measured, and say what the sentinels saw."""
    if isinstance(session, PointAcquisition):
        name = resolve(study.method).readout
        return session.fit(None if name is None else make_readout(name)), None
    readout = readout_of(study)
    found = read_sentinels(history, n_qubits, mitigate=study.sentinels.mitigate)
    if found is None or not found.applied:
        return session.fit(readout), found
    measured = estimate_kernel(session.table, session.problem, session.landmarks)
    kernel = mitigate_depolarising(measured, found.survival, n_qubits, clip=False)
    # Without noise the diagonal is 1, which is what a known one reads already.
    np.fill_diagonal(kernel, 1.0)
    head = readout.fit_kernel(kernel, session.problem)
    noise = Depolarising(found.survival, found.standard_error, n_qubits)
    return for_noisy_rows(head, noise), found


@dataclass(frozen=True)
class Mitigation:
    """What the sentinels of a run say, and what was done about it.

    Attributes
    ----------
    shots
        Sentinel shots in all.
    survival, standard_error
        Probability that the state is kept, and its error; see
        :class:`~aqka.backends.diagonal.Depolarising`.
    drift
        P-value of the test that all rounds saw the same noise; small if it drifts.
    applied
        Whether the noise was taken out of the kernel and of the predictions.
    """

    shots: int
    survival: float
    standard_error: float
    drift: float
    applied: bool


def read_sentinels(history: History, n_qubits: int, *, mitigate: bool) -> Mitigation | None:
    """Return what the ledger keeps of the sentinels; None where there are none.

    The counts come from a file, so they are checked like any others.
    """
    noted = [round.remarks.get("sentinels") for round in history.rounds]
    rounds = [found for found in noted if isinstance(found, dict)]
    if not rounds:
        return None
    try:
        hits = np.array([found["hits"] for found in rounds])
        shots = np.array([found["shots"] for found in rounds])
        found = estimate_depolarising(hits.ravel(), shots.ravel(), n_qubits)
        drift = check_drift(hits, shots).p_value
    except (KeyError, ValueError, TypeError, InputError) as error:
        raise InputError(
            "the ledger's sentinels are not counts of hits and shots; restore it from a copy."
        ) from error
    applied = mitigate and found.survival > SURE * found.standard_error
    return Mitigation(int(shots.sum()), found.survival, found.standard_error, drift, applied)


def sentinel_shots(history: History) -> int:
    """Return the sentinel shots that a ledger keeps."""
    found = read_sentinels(history, 1, mitigate=False)
    return 0 if found is None else found.shots


def for_noisy_rows(head: FittedHead, noise: Depolarising) -> FittedHead:
    """Return the head that gives, on noisy rows, what the given one gives on rows without noise.

    With k = (k_noisy - (1 - p) / 2^n) / p it is α / p, and an intercept that takes the floor off:
    shots are then spent and labels settled on what the device measures.

    Examples
    --------
    >>> head = FittedHead(np.array([1.0, -2.0]), np.array(0.5), np.eye(2), 0.1, np.array([0, 1]))
    >>> clean = np.array([[0.3, 0.8]])
    >>> noisy = 0.8 * clean + 0.2 / 4
    >>> same = for_noisy_rows(head, Depolarising(0.8, 0.01, n_qubits=2))
    >>> bool(np.allclose(same.decision_function(noisy), head.decision_function(clean)))
    True
    """
    p, floor = noise.survival, 0.5**noise.n_qubits
    alpha = np.asarray(head.alpha) / p
    intercept = np.asarray(head.intercept) - (1 - p) * floor * alpha.sum(axis=0)
    return replace(head, alpha=alpha, intercept=intercept)
