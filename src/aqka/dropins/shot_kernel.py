"""ShotKernel: a kernel function that pays for its entries with shots, out of a budget."""

import uuid
from pathlib import Path
from typing import Any, Self
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import FloatArray, as_count
from aqka._util.shown import Shown
from aqka.allocators import Allocator
from aqka.backends.circuits import as_rows_and_columns
from aqka.backends.factory import NAMES, STATEVECTOR, BackendFactory, as_factory
from aqka.dropins._purchases import Purchases
from aqka.dropins._readings import pair_keys
from aqka.dropins._requests import PairsRequest, Settings, TrainingRequest, labels_as_numbers
from aqka.errors import InputError, JobError
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.chosen_allocator import chosen_allocator

_alive: "WeakValueDictionary[str, ShotKernel]" = WeakValueDictionary()


class ShotKernel(Shown):
    """Answers requests for kernel entries, and measures what it does not know yet.

    The first request for a kernel of points with themselves is the *training kernel*: ``budget``
    shots, spent by the allocator. Every other pair is measured with ``shots_per_pair`` shots out
    of ``test_budget``. What was measured is never bought again, a point with itself reads 1 at no
    cost, and a request that the budget does not cover is refused before its first shot.

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
        Shots for all other pairs together; may be raised later.
    y
        Labels of the training points, in their order. Without any the shots are even.
    backend
        ``"statevector"``, ``"aer"`` or ``"pennylane"``, a device of Qiskit's, or a
        :class:`~aqka.BackendFactory` for any other.
    allocator
        A name or an object; None takes the default: uniform shots.
    shots_per_pair
        Of pairs outside the training kernel; None takes what a training pair had on average.
    directory
        Where every request has its points and its ledger. None keeps nothing.
    seed
        Of every draw.

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
        shots_per_pair: int | None = None,
        directory: str | Path | None = None,
        seed: int = 0,
    ) -> None:
        self.test_budget = as_count(test_budget, "test_budget", minimum=0)
        self._labels = None if y is None else labels_as_numbers(y)
        self._shots_per_pair = (
            None if shots_per_pair is None else as_count(shots_per_pair, "shots_per_pair")
        )
        chosen_allocator(allocator)  # a wrong name is better told now
        self._settings = Settings(
            as_count(budget, "budget"), allocator, as_count(seed, "seed", minimum=0)
        )
        self._purchases = Purchases(
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
            "other pairs": bought.test_pairs,
        }

    def _picture(self) -> FloatArray | None:
        return None if self.session_ is None else self.session_._picture()

    @property
    def session_(self) -> Acquisition | None:
        """The session of the training kernel; None before."""
        return self._purchases.session

    @property
    def shots_used(self) -> int:
        """All shots so far, as far as this process knows."""
        return self._purchases.shots_used

    def matrix(self, X: ArrayLike, columns: ArrayLike | None = None) -> FloatArray:
        """Return the kernel of X with itself or with other points, as measured.

        Of X with itself it is symmetric with diagonal 1, but with shot noise need not be
        positive semi-definite.
        """
        rows, cols = as_rows_and_columns(X, columns)
        purchases = self._purchases
        with purchases.lock:
            if np.isnan(purchases.entries(rows, cols)).any():
                with purchases.alone():
                    if np.array_equal(rows, cols) and self._is_training(rows):
                        self._buy_training(rows, self._labels)
                    else:
                        self._buy_pairs(rows, cols)
            found = purchases.entries(rows, cols)
        lost = int(np.isnan(found).sum())
        if lost:
            raise JobError(
                f"the shots of {lost} pairs were run, but their hits are lost; ask again, and they "
                "are bought anew out of test_budget."
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
            if not np.isnan(self._purchases.entries(rows, rows)).any():
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
        """Return whether this is the training kernel: the first, and of pairs all unknown."""
        numbers = self._purchases.readings.numbers(rows)
        other = numbers[:, None] != numbers
        unknown = np.isnan(self._purchases.entries(rows, rows)[other])
        return self.session_ is None and bool(unknown.all())

    def _buy_training(self, rows: FloatArray, labels: NDArray[Any] | None) -> None:
        """Measure the training kernel."""
        if labels is not None and len(labels) != len(rows):
            raise InputError(
                f"y labels {len(labels)} points but the training kernel is of {len(rows)}; for "
                "parts of the training set, as in cross-validation, call prepare(X, y) first."
            )
        self._purchases.carry_out(TrainingRequest(rows + 0.0, labels))  # -0.0 is 0.0

    def _buy_pairs(self, rows: FloatArray, cols: FloatArray) -> None:
        """Measure what is unknown, evenly, if the budget covers it."""
        row_index, col_index = np.nonzero(np.isnan(self._purchases.entries(rows, cols)))
        if not row_index.size:  # another process has measured it meanwhile
            return
        numbers = self._purchases.readings.numbers
        keys = pair_keys(numbers(rows)[row_index], numbers(cols)[col_index])
        _, once = np.unique(keys, return_index=True)
        used_rows, row_index = np.unique(row_index[once], return_inverse=True)
        used_cols, col_index = np.unique(col_index[once], return_inverse=True)
        shots = self._shots_for_a_pair()
        request = PairsRequest(rows[used_rows], cols[used_cols], row_index, col_index, shots)
        self._check_budget(request)
        self._purchases.carry_out(request)

    def _check_budget(self, request: PairsRequest) -> None:
        """Refuse a request before its first shot if the budget does not cover all of it."""
        bought = self._purchases
        left = as_count(self.test_budget, "test_budget", minimum=0) - bought.test_shots
        if request.total > left:
            raise InputError(
                f"test_budget does not cover this request: {len(request.row_index)} new pairs at "
                f"{request.shots} shots are {request.total} shots, and {max(left, 0)} are left. "
                f"Spent so far: {bought.training_shots} shots on the training kernel and "
                f"{bought.test_shots} of {self.test_budget} on {bought.test_pairs} other pairs. "
                "Raise test_budget, ask for fewer pairs, or make the kernel with fewer "
                "shots_per_pair."
            )

    def _shots_for_a_pair(self) -> int:
        if self._shots_per_pair is not None:
            return self._shots_per_pair
        if self.session_ is None:
            raise InputError(
                "shots_per_pair is needed: no training kernel has been measured whose shots these "
                "pairs could follow. Pass shots_per_pair=…, or call prepare(X, y) first."
            )
        return max(1, round(self._settings.budget / self.session_.table.n_pairs))

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
