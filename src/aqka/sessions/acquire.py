"""Spend a budget on a backend in one call."""

from typing import Any

from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, as_count
from aqka.allocators import Allocator
from aqka.allocators.schedule import Schedule
from aqka.backends.base import Backend, as_backend
from aqka.core.problem import DEFAULT_C, FAIR, Problem, Reading
from aqka.designs import Design
from aqka.designs.resolve import resolve
from aqka.runs.driver import drive
from aqka.runs.spend import Spend
from aqka.sessions.training import Training


def acquire(
    backend: Backend,
    y: "ArrayLike | Problem",
    budget: int,
    allocator: str | Allocator | None = None,
    *,
    design: str | Design = "auto",
    new_points: int | None = None,
    ridge: float = 0.01,
    C: float = DEFAULT_C,
    reading: str | Reading = FAIR,
    schedule: Schedule | None = None,
    true_kernel: FloatArray | None = None,
    seed: int = 0,
    **spend: Any,
) -> Training:
    """Spend a shot budget on a backend and return the finished session.

    Parameters
    ----------
    backend : Backend
        What runs the shots, for example :class:`~aqka.MatrixBackend`.
    y : array of shape (points,) or Problem
        Labels of two or more classes, or real targets, of the backend's points.
    budget : int
        Shots for training.
    allocator : str or Allocator, optional
        A name from :func:`~aqka.allocator_names`, or an allocator; even shots by default.
    design : str or Design, default="auto"
        What a shot is spent on: ``"pairs"``, ``"points"``, an object with options such as
        ``Points("projected")``, or ``"auto"``, which takes the one that promises better labels
        (:func:`~aqka.designs.resolve.resolve`); ``reason`` of the session says why.
    new_points : int, optional
        Points to be predicted later on with as many shots each; ``"auto"`` counts them. By default
        as many as there are for training.
    ridge, C, reading, true_kernel
        See :class:`~aqka.Problem`; not needed where ``y`` is one.
    schedule : Schedule, optional
        Warm-up, rounds and exploration; the allocator's own by default.
    seed : int, default=0
        Of every draw.
    **spend
        The fields of :class:`~aqka.runs.Spend`. With ``directory`` a run survives a crash at any
        instant: calling again with the same arguments goes on where it stopped, and a finished run
        is returned without a shot.

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
    session = new_training(
        backend,
        y if isinstance(y, Problem) else Problem(y, ridge, C, reading, true_kernel),  # type: ignore[arg-type]
        budget,
        allocator,
        design=design,
        new_points=new_points,
        schedule=schedule,
        seed=seed,
    )
    drive(session, backend, Spend(**spend))
    return session  # line 13: K̂ = c / s is session.table.estimate()


def new_training(
    backend: Backend,
    problem: Problem,
    budget: int,
    allocator: str | Allocator | None = None,
    *,
    design: str | Design = "auto",
    new_points: int | None = None,
    schedule: Schedule | None = None,
    seed: int = 0,
) -> Training:
    """Return the session of :func:`acquire` before its first shot."""
    backend, shots = as_backend(backend), as_count(budget, "budget")
    n_points = problem.n_points
    new = n_points if new_points is None else as_count(new_points, "new_points", minimum=0)
    choice = resolve(
        design,
        allocator,
        n_points=n_points,
        n_qubits=backend.n_qubits,
        # A new point is taken to get the shots that a training point gets.
        budget=shots + shots * new // n_points,
        new_points=new,
        measures_pairs=backend.measures_pairs,
    )
    measured = choice.design.on(backend.lattice, backend.n_qubits)
    measured.check_backend(backend, n_points)
    session = Training(
        problem,
        shots,
        choice.allocator,
        schedule,
        seed,
        design=measured,
        n_qubits=backend.n_qubits or backend.flipped_bits,
    )
    session.reason = choice.reason
    return session
