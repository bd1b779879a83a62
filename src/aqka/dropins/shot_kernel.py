"""ShotKernel: a kernel function that pays for its entries with shots, out of a budget."""

import uuid
from pathlib import Path
from typing import Any, Self
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import FloatArray, as_count
from aqka._util.shown import Shown
from aqka.allocators import Allocator, make_allocator
from aqka.allocators.points import PointAllocator, make_point_allocator
from aqka.backends.circuits import as_rows_and_columns
from aqka.backends.factory import NAMES, STATEVECTOR, BackendFactory, as_factory
from aqka.core.pairs import PairTable
from aqka.dropins._known_pairs import KnownPairs
from aqka.dropins._known_points import KnownPoints
from aqka.dropins._point_states import new_states
from aqka.dropins._purchases import Purchases
from aqka.dropins._requests import MoreRequest, Settings, labels_as_numbers
from aqka.errors import InputError, JobError
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.point_acquisition import DEFAULT_POINT_ALLOCATOR, PointAcquisition
from aqka.sessions.point_contract import PointKernel
from aqka.sessions.point_kernels import as_point_kernel, check_point_kernel

DESIGNS = ("pairs", "points")
_alive: "WeakValueDictionary[str, ShotKernel]" = WeakValueDictionary()


class ShotKernel(Shown):
    """Answers requests for kernel entries, and measures what it does not know yet.

    The first request for a kernel of points with themselves is the *training kernel*: ``budget``
    shots, spent by the allocator. Every other pair is measured with ``shots_per_pair`` shots out
    of ``test_budget``. What was measured is never bought again, a point with itself reads 1 at no
    cost, and a request that the budget does not cover is refused before its first shot.

    With ``design="points"`` the same holds of points: ``budget`` is shared by the training points,
    every other point is measured once with ``shots_per_point`` shots, and any entry of measured
    points is free. Up to eight qubits it is the same kernel, the fidelity, read out of states that
    are fitted to the counts, with most of a device's noise taken off. Above eight qubits it is
    another one: the Gaussian projected kernel exp(-γ Σ ‖ρ - σ‖²) of one-qubit reduced states, with
    a γ that the training points fix, by their leave-one-out error where there are labels and as 1
    over the median squared distance where there are none. ``point_kernel`` chooses another.

    Copies are itself, so that cloning a classifier gives it no fresh budget. A copy in another
    process shares the budget through ``directory``; without one it answers what it knows and
    buys nothing.

    Parameters
    ----------
    feature_map
        What the backend takes as one: a Qiskit circuit, a PennyLane function of one point; None
        for the ZZ map.
    budget
        Shots of the training kernel, spent exactly.
    test_budget
        Shots for all other pairs, or points, together; may be raised later.
    y
        Labels of the training points, in their order. Without any the shots are even.
    backend
        ``"statevector"``, ``"aer"`` or ``"pennylane"``, a device of Qiskit's, or a
        :class:`~aqka.BackendFactory` for any other.
    allocator
        A name or an object; None takes the default: even shots.
    shots_per_pair
        Of pairs outside the training kernel; None takes what a training pair had on average.
    directory
        Where every request has its points and its ledger. None keeps nothing.
    seed
        Of every draw.
    design
        What a shot is spent on: ``"pairs"`` or ``"points"``.
    shots_per_point
        With ``design="points"``, of points outside the training kernel; None takes what a training
        point had on average. Better four times 2ⁿ or more of n qubits.
    point_kernel
        With ``design="points"``: which kernel is read out of the counts, a name from
        :func:`~aqka.sessions.point_kernel_names` or what such a name stands for. Of a
        ``"-linear"`` one a point with itself is not 1, and is measured, too.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(0, 3, size=(6, 2))
    >>> kernel = ShotKernel(budget=600, test_budget=800, y=[0, 1, 0, 1])
    >>> kernel.matrix(X[:4]).shape, kernel.shots_used  # the training kernel
    ((4, 4), 600)
    >>> kernel.matrix(X[4:], X[:4]).shape, kernel.shots_used  # 8 pairs at 100 shots
    ((2, 4), 1400)
    >>> kernel.matrix(X[:4], X[5:])[0, 0] == kernel(X[5], X[0]), kernel.shots_used  # known
    (np.True_, 1400)
    >>> kernel = ShotKernel(budget=400, test_budget=300, design="points")
    >>> kernel.matrix(X[:4]).shape, kernel.shots_used  # 4 points at 100 shots
    ((4, 4), 400)
    >>> kernel.matrix(X[4:], X[:4]).shape, kernel.shots_used  # and 2 more
    ((2, 4), 600)
    """

    def __init__(
        self,
        feature_map: Any = None,
        *,
        budget: int,
        test_budget: int,
        y: ArrayLike | None = None,
        backend: str | BackendFactory = STATEVECTOR,
        allocator: str | Allocator | PointAllocator | None = None,
        shots_per_pair: int | None = None,
        directory: str | Path | None = None,
        seed: int = 0,
        design: str = "pairs",
        shots_per_point: int | None = None,
        point_kernel: str | PointKernel | None = None,
    ) -> None:
        self.test_budget = as_count(test_budget, "test_budget", minimum=0)
        self._labels = None if y is None else labels_as_numbers(y)
        _check_design(design, shots_per_pair, shots_per_point)
        self._shots_each = (
            _count_or_none(shots_per_pair, "shots_per_pair")
            if design == "pairs"
            else _count_or_none(shots_per_point, "shots_per_point")
        )
        _check_allocator(design, allocator)
        _check_kernel(design, point_kernel)
        self._settings = Settings(
            *(as_count(budget, "budget"), allocator, as_count(seed, "seed", minimum=0)),
            point_kernel,
        )
        self._purchases = Purchases(
            KnownPairs() if design == "pairs" else KnownPoints(point_kernel),
            _factory_of(backend),
            feature_map,
            self._settings,
            self._labels,
            None if directory is None else Path(directory).absolute(),
        )
        self._name = uuid.uuid4().hex
        _alive[self._name] = self

    def _figures(self) -> dict[str, object]:
        bought, budget = self._purchases, self._settings.budget
        return {
            "training shots": f"{bought.training_shots:,} of {budget:,}",
            "other shots": f"{bought.test_shots:,} of {self.test_budget:,}",
            f"other {bought.known.thing}s": bought.test_things,
        }

    def _picture(self) -> FloatArray | None:
        return None if self.session_ is None else self.session_._picture()

    @property
    def session_(self) -> Acquisition | PointAcquisition | None:
        """The session of the training kernel; None before."""
        session: Acquisition | PointAcquisition | None = self._purchases.session
        return session

    @property
    def shots_used(self) -> int:
        """All shots so far, as far as this process knows."""
        return self._purchases.shots_used

    def matrix(self, X: ArrayLike, columns: ArrayLike | None = None) -> FloatArray:
        """Return the kernel of X with itself or with other points, as measured.

        Of X with itself it is symmetric with diagonal 1, but with shot noise need not be
        positive semi-definite; that of fitted states always is.
        """
        rows, cols = as_rows_and_columns(X, columns)
        purchases, known = self._purchases, self._purchases.known
        with purchases.lock:
            if np.isnan(known.entries(rows, cols)).any():
                with purchases.alone():
                    if np.array_equal(rows, cols) and self._is_training(rows):
                        self._buy_training(rows, self._labels)
                    else:
                        self._buy_missing(rows, cols)
            found = known.entries(rows, cols)
        if np.isnan(found).any():
            lost = known.missing(rows, cols, shots=1).count
            raise JobError(
                f"the shots of {lost} {known.thing}s were run, but their hits are lost; ask again, "
                "and they are bought anew out of test_budget."
            )
        return found

    def prepare(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Measure the training kernel of X now; later requests for any part of it are free.

        Call it where the first request is not for the whole training set, as in
        cross-validation, or comes pair by pair.
        """
        rows, _ = as_rows_and_columns(X, None)
        labels = self._labels if y is None else labels_as_numbers(y)
        with self._purchases.alone():
            if not np.isnan(self._purchases.known.entries(rows, rows)).any():
                return self
            if not self._is_training(rows):
                raise InputError(
                    "X: the training kernel, or a part of this one, has been measured already; "
                    "prepare comes first and once. Other points are measured when asked for."
                )
            self._buy_training(rows, labels)
        return self

    def __call__(self, x1: ArrayLike, x2: ArrayLike) -> float:
        """Return the kernel of two points, each one row of numbers."""
        row, col = np.reshape(np.asarray(x1), (1, -1)), np.reshape(np.asarray(x2), (1, -1))
        return float(self.matrix(row, col)[0, 0])

    def _is_training(self, rows: FloatArray) -> bool:
        """Return whether this is the training kernel: the first, and nothing of it known."""
        return self.session_ is None and self._purchases.known.is_new(rows)

    def _buy_training(self, rows: FloatArray, labels: NDArray[Any] | None) -> None:
        """Measure the training kernel."""
        if labels is not None and len(labels) != len(rows):
            raise InputError(
                f"y labels {len(labels)} points but the training kernel is of {len(rows)}; for "
                "parts of the training set, as in cross-validation, call prepare(X, y) first."
            )
        request = self._purchases.known.training(rows + 0.0, labels)  # -0.0 is 0.0
        self._purchases.carry_out(request)

    def _buy_missing(self, rows: FloatArray, cols: FloatArray) -> None:
        """Measure what is unknown, evenly, if the budget covers it."""
        known = self._purchases.known
        if not np.isnan(known.entries(rows, cols)).any():  # another process measured it meanwhile
            return
        request = known.missing(rows, cols, self._shots_for_each())
        self._check_budget(request)
        self._purchases.carry_out(request)

    def _check_budget(self, request: MoreRequest) -> None:
        """Refuse a request before its first shot if the budget does not cover all of it."""
        bought, things = self._purchases, f"{request.thing}s"
        left = as_count(self.test_budget, "test_budget", minimum=0) - bought.test_shots
        if request.total > left:
            raise InputError(
                f"test_budget does not cover this request: {request.count} new {things} at "
                f"{request.shots} shots are {request.total} shots, and {max(left, 0)} are left. "
                f"Spent so far: {bought.training_shots} shots on the training kernel and "
                f"{bought.test_shots} of {self.test_budget} on {bought.test_things} other "
                f"{things}. Raise test_budget, ask for fewer {things}, or make the kernel with "
                f"fewer shots_per_{request.thing}."
            )

    def _shots_for_each(self) -> int:
        if self._shots_each is not None:
            return self._shots_each
        session, thing = self.session_, self._purchases.known.thing
        if session is None:
            raise InputError(
                f"shots_per_{thing} is needed: no training kernel has been measured whose shots "
                f"these {thing}s could follow. Pass shots_per_{thing}=…, or call prepare(X, y) "
                "first."
            )
        table = session.table
        count = table.n_pairs if isinstance(table, PairTable) else table.n_points
        return max(1, round(self._settings.budget / count))

    def __copy__(self) -> Self:
        """Return itself: a copy must not get a fresh budget."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself: a copy must not get a fresh budget."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what to pickle; where the original lives, a pickled copy is the original."""
        return _revive, (type(self), dict(vars(self)))


def _check_design(design: str, shots_per_pair: Any, shots_per_point: Any) -> None:
    if design not in DESIGNS:
        why = (
            " ('auto' needs to know how many points will be asked for, and a kernel is not told; "
            "aqka.sessions.choose_design says which is better)"
        )
        raise InputError(
            f"design must be 'pairs' or 'points', got {design!r}{why if design == 'auto' else ''}."
        )
    wrong, right, given = (
        ("shots_per_point", "shots_per_pair", shots_per_point)
        if design == "pairs"
        else ("shots_per_pair", "shots_per_point", shots_per_pair)
    )
    if given is not None:
        raise InputError(
            f"{wrong}={given!r} does not go with design={design!r}: pass {right}, or the other "
            "design."
        )


def _check_kernel(design: str, point_kernel: str | PointKernel | None) -> None:
    """Refuse what counts cannot be read as here, before the first shots are due."""
    check_point_kernel(point_kernel, design)
    if point_kernel is not None:
        new_states(as_point_kernel(point_kernel))


def _check_allocator(design: str, allocator: Any) -> None:
    """Tell a wrong name now, not when the first shots are due."""
    if design == "pairs":
        make_allocator(allocator)
    else:
        make_point_allocator(allocator or DEFAULT_POINT_ALLOCATOR)


def _count_or_none(value: int | None, name: str) -> int | None:
    return None if value is None else as_count(value, name)


def _factory_of(backend: Any) -> BackendFactory:
    factory = as_factory(backend)
    if factory is None:
        raise InputError(
            f"backend must be {', '.join(map(repr, NAMES))}, a device of Qiskit's or a "
            f"BackendFactory, got {backend!r}; for example BackendFactory(SamplerBackend, "
            "sampler=make)."
        )
    return factory


def _revive(kind: type[ShotKernel], state: dict[str, Any]) -> ShotKernel:
    """Return the kernel of a pickled state."""
    living = _alive.get(state["_name"])
    if living is not None:
        return living
    kernel = kind.__new__(kind)
    vars(kernel).update(state)
    _alive[kernel._name] = kernel
    return kernel
