"""ShotKernel: a kernel function that pays for its entries with shots, out of a budget."""

import threading
import uuid
from pathlib import Path
from typing import Any, Self
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import FloatArray, as_array, as_count
from aqka._util.shown import Shown
from aqka.allocators import Allocator, make_allocator
from aqka.backends.circuits import as_rows_and_columns
from aqka.backends.factory import NAMES, STATEVECTOR, BackendFactory, as_factory
from aqka.designs import Design, Points, as_design
from aqka.designs.resolve import Choice, resolve
from aqka.dropins._known import KnownPairs, KnownPoints
from aqka.dropins._purchases import Purchases
from aqka.dropins._requests import (
    MoreRequest,
    Settings,
    TrainingRequest,
    design_of,
    labels_as_numbers,
)
from aqka.errors import InputError, JobError
from aqka.sessions import Training

_settling = threading.Lock()  # threads that ask at once settle on one design
_alive: "WeakValueDictionary[str, ShotKernel]" = WeakValueDictionary()


class ShotKernel(Shown):
    """Answers requests for kernel entries, and measures what it does not know yet.

    The first request for a kernel of points with themselves is the *training kernel*: ``budget``
    shots, spent by the allocator. Every other pair is measured with ``shots_each`` shots out
    of ``test_budget``. What was measured is never bought again, a point with itself reads 1 at no
    cost, and a request that the budget does not cover is refused before its first shot.

    Where points are measured the same holds of them: ``budget`` is shared by the training points,
    every other point is measured once with ``shots_each`` shots, and any entry of measured points
    is free. Up to eight qubits it is the same kernel, the fidelity, read out of states that are
    fitted to the counts, with most of a device's noise removed. Above eight qubits it is another
    one, a projected kernel whose width the training points fix; ``Points(kernel)`` chooses.

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
    shots_each : int, optional
        Shots of each pair, or point, outside the training kernel. The default is what one of the
        training kernel had on average; for points better four times 2ⁿ or more of n qubits.
    directory : path, optional
        Where every request has its points and its ledger. None keeps nothing.
    seed : int, default=0
        Of every draw.
    design : str or Design, default="auto"
        What a shot is spent on: ``"pairs"``, ``"points"``, an object with options such as
        ``Points("projected")``, or ``"auto"``, which takes the one that promises better labels
        where as many new points follow as were trained on.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(0, 3, size=(6, 2))
    >>> kernel = ShotKernel(budget=600, test_budget=800, y=[0, 1, 0, 1], design="pairs")
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
        allocator: str | Allocator | None = None,
        shots_each: int | None = None,
        directory: str | Path | None = None,
        seed: int = 0,
        design: str | Design = "auto",
    ) -> None:
        self.test_budget = as_count(test_budget, "test_budget", minimum=0)
        self._labels = None if y is None else labels_as_numbers(y)
        self._shots_each = None if shots_each is None else as_count(shots_each, "shots_each")
        self._budget = as_count(budget, "budget")
        self._seed = as_count(seed, "seed", minimum=0)
        self._allocator = make_allocator(allocator)
        self._factory, self._feature_map = _factory_of(backend), feature_map
        self._directory = None if directory is None else Path(directory).absolute()
        named = as_design(design) or self._design_there()
        self._bought: Purchases | None = None if named is None else self._purchases_of(named)
        self._name = uuid.uuid4().hex
        _alive[self._name] = self

    def _design_there(self) -> Design | None:
        """Return the design of what the directory holds already."""
        return as_design(design_of(self._directory) or "auto")

    def _purchases_of(self, design: Any, reason: str = "") -> Purchases:
        self._allocator.over(design.unit)  # refused here if it is not for this design
        return Purchases(
            KnownPoints(design) if isinstance(design, Points) else KnownPairs(),
            self._factory,
            self._feature_map,
            Settings(self._budget, self._allocator, self._seed, design, reason),
            self._labels,
            self._directory,
        )

    def _purchases(self, rows: FloatArray) -> Purchases:
        """Return what was bought; the first points settle the design where none was named."""
        with _settling:
            if self._bought is None:
                there = self._design_there()
                if there is not None:
                    self._bought = self._purchases_of(there)
                else:
                    choice = self._better(rows)
                    self._bought = self._purchases_of(choice.design, choice.reason)
            return self._bought

    def _better(self, rows: FloatArray) -> Choice:
        """Return the design that promises better labels for training points and as many new."""
        probe = self._factory(
            rows[:2], self._feature_map, columns=None, seed=self._seed, design="points"
        )
        return resolve(
            allocator=self._allocator,
            n_points=max(2, len(rows)),
            n_qubits=probe.n_qubits,
            budget=2 * self._budget,
            measures_pairs=probe.measures_pairs,
        )

    def _figures(self) -> dict[str, object]:
        bought = self._bought
        if bought is None:
            return {"training shots": f"0 of {self._budget:,}"}
        return {
            "training shots": f"{bought.training_shots:,} of {self._budget:,}",
            "other shots": f"{bought.test_shots:,} of {self.test_budget:,}",
            f"other {bought.unit}s": bought.test_things,
        }

    def _picture(self) -> FloatArray | None:
        return None if self.session_ is None else self.session_._picture()

    @property
    def session_(self) -> Training | None:
        """The session of the training kernel; None before."""
        session: Training | None = None if self._bought is None else self._bought.session
        return session

    @property
    def shots_used(self) -> int:
        """All shots so far, as far as this process knows."""
        return 0 if self._bought is None else self._bought.shots_used

    def matrix(self, X: ArrayLike, columns: ArrayLike | None = None) -> FloatArray:
        """Return the kernel of X with itself or with other points, as measured.

        Of X with itself it is symmetric with diagonal 1, but with shot noise need not be
        positive semi-definite; that of fitted states always is.
        """
        shapes = [as_array(points, "X").shape for points in (X, X if columns is None else columns)]
        if any(shape[:1] == (0,) for shape in shapes):  # nothing to measure
            return np.zeros([shape[0] for shape in shapes])
        rows, cols = as_rows_and_columns(X, columns)
        purchases = self._purchases(rows)
        known = purchases.known
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
                f"the shots of {lost} {purchases.unit}s were run, but their hits are lost; ask "
                "again, and they are bought anew out of test_budget."
            )
        return found

    def prepare(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Measure the training kernel of X now; later requests for any part of it are free.

        Call it where the first request is not for the whole training set, as in
        cross-validation, or comes pair by pair.
        """
        rows, _ = as_rows_and_columns(X, None)
        labels = self._labels if y is None else labels_as_numbers(y)
        purchases = self._purchases(rows)
        with purchases.alone():
            if not np.isnan(purchases.known.entries(rows, rows)).any():
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
        return self.session_ is None and self._purchases(rows).known.is_new(rows)

    def _buy_training(self, rows: FloatArray, labels: NDArray[Any] | None) -> None:
        """Measure the training kernel."""
        if labels is not None and len(labels) != len(rows):
            raise InputError(
                f"y labels {len(labels)} points but the training kernel is of {len(rows)}; for "
                "parts of the training set, as in cross-validation, call prepare(X, y) first."
            )
        self._purchases(rows).carry_out(TrainingRequest(rows + 0.0, labels))  # -0.0 is 0.0

    def _buy_missing(self, rows: FloatArray, cols: FloatArray) -> None:
        """Measure what is unknown, evenly, if the budget covers it."""
        purchases = self._purchases(rows)
        known = purchases.known
        if not np.isnan(known.entries(rows, cols)).any():  # another process measured it meanwhile
            return
        request = known.missing(rows, cols, self._shots_for_each())
        self._check_budget(request, purchases)
        purchases.carry_out(request)

    def _check_budget(self, request: MoreRequest, bought: Purchases) -> None:
        """Refuse a request before its first shot if the budget does not cover all of it."""
        things = f"{bought.unit}s"
        left = as_count(self.test_budget, "test_budget", minimum=0) - bought.test_shots
        if request.total > left:
            raise InputError(
                f"test_budget does not cover this request: {request.count} new {things} at "
                f"{request.shots} shots are {request.total} shots, and {max(left, 0)} are left. "
                f"Spent so far: {bought.training_shots} shots on the training kernel and "
                f"{bought.test_shots} of {self.test_budget} on {bought.test_things} other "
                f"{things}. Raise test_budget, ask for fewer {things}, or make the kernel with "
                f"fewer shots_each."
            )

    def _shots_for_each(self) -> int:
        if self._shots_each is not None:
            return self._shots_each
        session = self.session_
        if session is None:
            raise InputError(
                "shots_each is needed: no training kernel has been measured whose shots these "
                "could follow. Pass shots_each=…, or call prepare(X, y) first."
            )
        return max(1, round(self._budget / len(session.table.unit_shots)))

    def __copy__(self) -> Self:
        """Return itself: a copy must not get a fresh budget."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself: a copy must not get a fresh budget."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what to pickle; where the original lives, a pickled copy is the original."""
        return _revive, (type(self), dict(vars(self)))


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
