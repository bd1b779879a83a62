"""The task suite: a grid of data and kernels, split by the names' hash into two halves.

Choices are made on the development half only. The confirmation half is run when a choice is final,
and only its figures are headlines. Neither the grid nor a name is to be changed after that: a task
that changes its name may change its half.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends import StatevectorBackend
from aqka.backends.statevector import fidelities
from aqka.errors import InputError
from aqka_research.suite_data import SOURCES, choose
from aqka_research.suite_maps import CIRCUITS, CLASSICAL
from aqka_research.tasks import Task, plant

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

T = TypeVar("T")
Half = Literal["development", "confirmation"]
HALVES: tuple[Half, Half] = ("development", "confirmation")

N_TEST = 150  # test points, fewer where the data have no more
SIZES = (100, 60, 150, 80, 200, 120, 250)
SHARES = (None, 0.5, 0.25, 0.1)  # of the positive class; None: as the data have it
LARGEST_CLASSES = (0.7, 0.93)  # of planted targets, which are drawn until no class is larger
WIDTHS = {"full": np.pi, "half": np.pi / 2}  # features are scaled to [0, width] to be angles
DATA_RIDGE = 0.5  # what the paper fixes for its real data (Appendix C.6)
PLANTED_RIDGE = 0.01  # and for planted targets (Appendix B)


def half_of_name(name: str) -> Half:
    """Return the half that a task's name puts it in."""
    return HALVES[hashlib.sha256(name.encode()).digest()[0] % 2]


@dataclass(frozen=True, eq=False)
class PointTask(Task):
    """A task with the training and test points behind its kernel, as the kernel takes them."""

    X: FloatArray
    test_X: FloatArray


@dataclass(frozen=True, eq=False)
class QuantumTask(PointTask):
    """A task whose kernel a circuit has.

    Attributes
    ----------
    map_name
        The feature map, one of :data:`~aqka_research.suite_maps.CIRCUITS`.
    """

    map_name: str

    @property
    def n_qubits(self) -> int:
        """One a feature."""
        return int(self.X.shape[1])

    def feature_map(self) -> "QuantumCircuit":
        """Return the circuit that encodes a point."""
        return CIRCUITS[self.map_name](self.n_qubits)

    @cached_property
    def states(self) -> NDArray[np.complex128]:
        """The training points' states, one a row."""
        return StatevectorBackend(self.X, self.feature_map()).states()

    @cached_property
    def test_states(self) -> NDArray[np.complex128]:
        """The test points' states, one a row."""
        return StatevectorBackend(self.test_X, self.feature_map()).states()


@dataclass(frozen=True)
class SuiteTask:
    """One cell of the grid: what to draw for a seed.

    Attributes
    ----------
    source, kernel
        Names of the data and of the feature map or classical kernel.
    features, points
        Features, which are qubits where there is a circuit, and training points.
    share
        Part of the points that are of the positive class; None: as the data have it. With a
        planted target: the most that may be of one class.
    width
        Range of the angles, one of :data:`WIDTHS`.
    """

    source: str
    kernel: str
    features: int
    points: int
    share: float | None
    width: str

    @property
    def name(self) -> str:
        """What results call it; the half it is in depends on this."""
        unit = "qubits" if self.is_quantum else "features"
        parts = [self.source, f"{self.kernel} {self.features} {unit}", f"{self.points} points"]
        if self.is_quantum:
            parts.append(f"{self.width} width")
        if self.share is not None:
            planted = self.kind == "planted"
            parts.append(f"{self.share:.0%} " + ("at most in a class" if planted else "positive"))
        return ", ".join(parts)

    @property
    def is_quantum(self) -> bool:
        """Whether a circuit has the kernel."""
        return self.kernel in CIRCUITS

    @property
    def kind(self) -> str:
        """Classes, regression, own or planted; see :class:`~aqka_research.suite_data.Source`."""
        return SOURCES[self.source].kind

    @property
    def half(self) -> Half:
        """The half of the suite that the name's hash puts it in."""
        return half_of_name(self.name)

    def draw(self, seed: int) -> PointTask:
        """Return the task with other data for every seed; a :class:`QuantumTask` if it is one."""
        rng = np.random.default_rng([seed, *self.name.encode()])
        points, target = SOURCES[self.source].draw(seed, self.features)
        share = self.share if self.kind == "classes" else None
        chosen = choose(points[:, 0] if target is None else target, self.points, N_TEST, share, rng)
        X, n = self._scale(points[chosen]), self.points
        if not self.is_quantum:
            task = self._with_target(CLASSICAL[self.kernel](X), target, chosen, rng)
            return PointTask(**vars(task), X=X[:n], test_X=X[n:])
        kernel = fidelities(StatevectorBackend(X, CIRCUITS[self.kernel](self.features)).states())
        task = self._with_target(kernel, target, chosen, rng)
        return QuantumTask(**vars(task), X=X[:n], test_X=X[n:], map_name=self.kernel)

    def _scale(self, points: FloatArray) -> FloatArray:
        """Return principal components as angles or standardised, fitted on training points."""
        from sklearn.decomposition import PCA
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MinMaxScaler, StandardScaler

        last = (
            MinMaxScaler((0, WIDTHS[self.width]), clip=True)
            if self.is_quantum
            else StandardScaler()
        )
        steps = make_pipeline(StandardScaler(), PCA(self.features, random_state=0), last)
        return np.asarray(steps.fit(points[: self.points]).transform(points))

    def _with_target(
        self, kernel: FloatArray, target: FloatArray | None, chosen: IntArray, rng: Generator
    ) -> Task:
        """Return the task of a kernel of all points, the training points first."""
        n = self.points
        train, test = kernel[:n, :n], kernel[n:, :n]
        if self.kind == "planted":
            anchors = SOURCES[self.source].anchors
            count = round(anchors * n) if anchors < 1 else int(anchors)
            assert self.share is not None
            return plant(self.name, train, test, count, rng, PLANTED_RIDGE, self.share)
        if self.kind == "own":
            y = _own_function(kernel, 0.5 if self.share is None else self.share, rng)
        else:
            assert target is not None
            y = target[chosen]
        if self.kind == "regression":
            y = (y - y[:n].mean()) / y[:n].std()
        labels = np.where(y[n:] >= 0, 1.0, -1.0)
        none = np.empty(0, dtype=np.int64)
        return Task(self.name, train, test, y[:n], labels, DATA_RIDGE, none)


def _own_function(kernel: FloatArray, share: float, rng: Generator) -> FloatArray:
    """Return the sign of a Gaussian process with this kernel, cut at the share."""
    values, vectors = np.linalg.eigh(kernel)
    f = vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.normal(size=len(values)))
    return np.where(f > np.quantile(f, 1 - share), 1.0, -1.0)


def in_turn(values: Sequence[T], turn: int) -> T:
    """Return one of the values, each as often as the others."""
    return values[turn % len(values)]


def _grid() -> dict[str, SuiteTask]:
    """Return all data with all kernels; sizes, shares, widths and qubits take turns."""
    shares = {"classes": SHARES, "own": SHARES, "regression": (None,), "planted": LARGEST_CLASSES}
    tasks = []
    for (i, source), (j, kernel) in product(enumerate(SOURCES), enumerate([*CIRCUITS, *CLASSICAL])):
        drawn = SOURCES[source]
        sizes = [size for size in SIZES if size <= drawn.largest]
        tasks.append(
            SuiteTask(
                source=source,
                kernel=kernel,
                features=in_turn(drawn.features, i + j),
                points=in_turn(sizes, i + 3 * j),
                share=in_turn(shares[drawn.kind], i + 2 * j + j // 2),
                width=in_turn(list(WIDTHS), i + j // 2),
            )
        )
    return {task.name: task for task in tasks}


SUITE = _grid()
"""All tasks by name."""


def half_of_suite(half: str) -> list[str]:
    """Return the names of the tasks in one half, ``"development"`` or ``"confirmation"``."""
    if half not in HALVES:
        raise InputError(f"half must be one of {list(HALVES)}, got {half!r}.")
    return [name for name, task in SUITE.items() if task.half == half]
