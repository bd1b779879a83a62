"""Spend a budget on a backend in one call, on pairs or on points."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, overload

from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, as_count
from aqka.allocators import Allocator, make_allocator
from aqka.allocators.points import PointAllocator
from aqka.allocators.schedule import Schedule
from aqka.backends.base import Backend, as_backend, check_measures_pairs
from aqka.core.defaults import DEFAULT_C
from aqka.core.problem import Problem
from aqka.core.reading import FAIR, Reading
from aqka.errors import InputError
from aqka.runs.driver import drive
from aqka.runs.spend import Ceiling, Patience, Spend
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.design import DESIGNS, DesignChoice, choose_design
from aqka.sessions.point_acquisition import (
    DEFAULT_POINT_ALLOCATOR,
    PointAcquisition,
    as_calibration_shots,
)
from aqka.sessions.point_contract import PointKernel
from aqka.sessions.point_kernels import check_point_kernel


@overload
def acquire(
    backend: Backend,
    y: ArrayLike,
    budget: int,
    allocator: str | Allocator | None = None,
    *,
    design: Literal["pairs"] = "pairs",
    ridge: float = 0.01,
    C: float = DEFAULT_C,
    reading: str | Reading = FAIR,
    schedule: Schedule | None = None,
    true_kernel: FloatArray | None = None,
    seed: int = 0,
    directory: str | Path | None = None,
    patience: Patience | None = None,
    on_round: Callable[[Acquisition], None] | None = None,
    verbose: bool = False,
    ceiling: Ceiling | None = None,
) -> Acquisition: ...


@overload
def acquire(
    backend: Backend,
    y: ArrayLike,
    budget: int,
    allocator: str | PointAllocator | None = None,
    *,
    design: Literal["points"],
    calibration_shots: int = 0,
    point_kernel: str | PointKernel | None = None,
    schedule: Schedule | None = None,
    seed: int = 0,
    directory: str | Path | None = None,
    patience: Patience | None = None,
    on_round: Callable[[PointAcquisition], None] | None = None,
    verbose: bool = False,
    ceiling: Ceiling | None = None,
) -> PointAcquisition: ...


@overload
def acquire(
    backend: Backend,
    y: ArrayLike,
    budget: int,
    *,
    design: Literal["auto"],
    new_points: int = 0,
    seed: int = 0,
    directory: str | Path | None = None,
    patience: Patience | None = None,
    on_round: Callable[[Any], None] | None = None,
    verbose: bool = False,
    ceiling: Ceiling | None = None,
) -> Acquisition | PointAcquisition: ...


def acquire(
    backend: Backend,
    y: ArrayLike,
    budget: int,
    allocator: str | Allocator | PointAllocator | None = None,
    *,
    design: str = "pairs",
    new_points: int = 0,
    calibration_shots: int = 0,
    point_kernel: str | PointKernel | None = None,
    ridge: float = 0.01,
    C: float = DEFAULT_C,
    reading: str | Reading = FAIR,
    schedule: Schedule | None = None,
    true_kernel: FloatArray | None = None,
    seed: int = 0,
    directory: str | Path | None = None,
    patience: Patience | None = None,
    on_round: Callable[[Any], None] | None = None,
    verbose: bool = False,
    ceiling: Ceiling | None = None,
) -> Acquisition | PointAcquisition:
    """Spend a shot budget on a backend and return the finished session.

    Parameters
    ----------
    backend
        Who runs the shots, for example :class:`~aqka.MatrixBackend`.
    y
        Labels of two classes, or real targets, of the backend's points.
    budget, allocator, schedule, seed
        See :class:`~aqka.Acquisition` for pairs and :class:`~aqka.sessions.PointAcquisition` for
        points, whose allocators are others. None takes the default of the design.
    design
        What a shot is spent on: ``"pairs"`` (the paper's), ``"points"``, or ``"auto"``, which
        takes what :func:`~aqka.sessions.choose_design` predicts the smaller error for;
        ``design_choice.reason`` of the session says why.
    new_points
        Of ``"auto"``: points to be predicted later on, out of budgets like this one.
    calibration_shots
        Of ``"points"``: shots of the budget for a calibration of the readout; see
        :class:`~aqka.sessions.PointAcquisition`.
    point_kernel
        Of ``"points"``: which kernel will be read out of the counts, ``kernel`` of
        :class:`~aqka.sessions.PointAcquisition`.
    ridge, C, reading, true_kernel
        See :class:`~aqka.Problem`.
    directory
        Where the run's ledger is kept. With it a run survives a crash at any instant: calling
        ``acquire`` again with the same arguments goes on where it stopped, and a finished run
        is returned without a shot. None keeps nothing.
    patience
        How long to bear with a failing backend.
    on_round
        Called with the session after every round, for progress and logs.
    verbose
        Show how far it is: in a terminal, in a notebook, else as lines on the standard error.
    ceiling
        What may be used in all, by this and every other run it is passed to; see
        :func:`aqka.planning.make_ceiling`.

    Examples
    --------
    >>> from aqka import MatrixBackend, StatevectorBackend
    >>> kernel = [[1.0, 0.6, 0.1], [0.6, 1.0, 0.2], [0.1, 0.2, 1.0]]
    >>> session = acquire(MatrixBackend(kernel), y=[1, 1, -1], budget=300)
    >>> session.table.total
    300
    >>> points = StatevectorBackend([[0.1, 0.2], [0.2, 0.1], [1.0, 2.0]])
    >>> session = acquire(points, y=[1, 1, -1], budget=300, design="points")
    >>> session.table.shots_per_point
    array([100, 100, 100])
    """
    # Problem checks and converts what a user passes.
    problem = Problem(y, ridge, C, reading, true_kernel)  # type: ignore[arg-type]
    backend = as_backend(backend)
    if design not in DESIGNS:
        raise InputError(f"design must be one of {', '.join(DESIGNS)}; got {design!r}.")
    as_calibration_shots(calibration_shots, design)
    check_point_kernel(point_kernel, design)
    choice = None
    if design == "auto":
        choice = _better_design(backend, problem.n_points, budget, new_points)
        design = choice.design
    session: Acquisition | PointAcquisition
    if design == "points":
        _check_points(backend, problem)
        session = PointAcquisition(
            problem,
            backend.n_qubits or 0,
            budget,
            DEFAULT_POINT_ALLOCATOR if allocator is None else allocator,  # type: ignore[arg-type]
            schedule,
            seed=seed,
            calibration_shots=calibration_shots,
            kernel=point_kernel,
        )
    else:
        chosen = make_allocator(allocator)  # type: ignore[arg-type]
        session = _pair_session(backend, problem, budget, chosen, schedule, seed)
    session.design_choice = choice
    spend = Spend(directory, ceiling, patience or Patience(), on_round, verbose)
    drive(session, backend, spend)
    return session  # line 13: K̂ = c / s is session.table.estimate()


def _better_design(backend: Backend, n_points: int, budget: int, new_points: int) -> DesignChoice:
    """Return the design that promises the smaller error, of those that the backend can measure."""
    shots, new = as_count(budget, "budget"), as_count(new_points, "new_points", minimum=0)
    # A new point is taken to get the shots that a training point gets.
    total = shots + shots * new // n_points
    return choose_design(
        n_points, backend.n_qubits, total, new, measures_pairs=backend.measures_pairs
    )


def _pair_session(
    backend: Backend,
    problem: Problem,
    budget: int,
    allocator: Allocator,
    schedule: Schedule | None,
    seed: int,
) -> Acquisition:
    check_measures_pairs(backend)
    expected = (problem.n_points, problem.n_points)
    if backend.shape != expected:
        raise InputError(
            f"y labels {problem.n_points} points, so the backend must be "
            f"{expected[0]} by {expected[1]}; its shape is {backend.shape}."
        )
    return Acquisition(problem, budget, allocator, schedule, seed)


def _check_points(backend: Backend, problem: Problem) -> None:
    if backend.n_qubits is None:
        raise InputError(
            f"design='points' needs a backend that prepares states, but {type(backend).__name__} "
            "only measures pairs; use StatevectorBackend or another of a feature map, or "
            "design='pairs'."
        )
    if backend.shape[0] != problem.n_points:
        raise InputError(
            f"y labels {problem.n_points} points, but the backend has {backend.shape[0]}."
        )
