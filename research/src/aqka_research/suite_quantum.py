"""Tasks whose labels come from the quantum kernel, kept where classical models fall behind.

Inputs are scikit-learn's data sets and generated points; only the labels are made:

- *geometric difference* (Huang et al. 2021, arXiv 2011.01938): the sign of √K_Q v, with v the top
  eigenvector of √K_Q K_C⁻¹ √K_Q and K_C the RBF kernel that comes nearest to K_Q. It is
  the hardest for the classical kernel of all functions that are simple for the quantum kernel.
- *random observable*: the sign of Σ c_k ⟨P_k⟩ over three random Pauli strings.
- *sparse anchors*: the sign of Σ c_j K(x, x_j) over five random training points.

Each is cut at its median, so that the classes are even. A candidate is kept where a leave-one-out
ridge on the exact kernel is at least five points more accurate than the best of five classical
models, on seeds that no experiment uses. ``python -m aqka_research.quantum_tasks`` measures all
candidates and writes those kept to ``quantum_tasks.json``; halves follow from the hash of a name.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import eigh, sqrtm
from scipy.spatial.distance import pdist, squareform

from aqka._util.arrays import FloatArray
from aqka.backends import StatevectorBackend
from aqka.backends.statevector import fidelities
from aqka.errors import InputError
from aqka_research.suite import DATA_RIDGE, HALVES, Half, QuantumTask, half_of_name, in_turn
from aqka_research.suite_data import SOURCES
from aqka_research.suite_maps import CIRCUITS

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

KEPT = Path(__file__).with_name("quantum_tasks.json")
INPUTS = (
    "iris",
    "wine",
    "breast cancer",
    "digits low/high",
    "moons",
    "circles",
    "clusters",
    "shells",
    "own function",  # normal points, whose labels are made in any case
)
QUBITS = (4, 3, 5, 6)
POINTS = (80, 60, 100)
RANGES = {"π": np.pi, "2π": 2 * np.pi}
N_TEST = 150
N_ANCHORS = 5
N_STRINGS = 3
JITTER = 1e-2
"""Added to the classical kernel before it is inverted; the kernel's diagonal is 1."""
WIDTH_FACTORS = (0.25, 1.0, 4.0)
PAULIS = np.array([np.eye(2), [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])

Labelling = Callable[[FloatArray, NDArray[np.complex128], int, Generator], FloatArray]
"""From points, their states, the number of training points and a generator to real values."""


def geometric_difference(
    X: FloatArray, states: NDArray[np.complex128], n_train: int, rng: Generator
) -> FloatArray:
    """Return √K_Q v, for the RBF kernel at which the largest eigenvalue is smallest."""
    quantum = fidelities(states)
    root = np.real(sqrtm(quantum + 1e-10 * np.eye(len(X))))
    squares = squareform(pdist(X, "sqeuclidean"))
    found = []
    for factor in WIDTH_FACTORS:
        classical = np.exp(-factor * squares / np.median(squares))
        classical[np.diag_indices_from(classical)] += JITTER
        form = root @ np.linalg.solve(classical, root)
        last = len(X) - 1
        value, vector = eigh((form + form.T) / 2, subset_by_index=[last, last])
        found.append((float(value[0]), root @ vector[:, 0]))
    return np.asarray(min(found, key=lambda pair: pair[0])[1])


def random_observable(
    X: FloatArray, states: NDArray[np.complex128], n_train: int, rng: Generator
) -> FloatArray:
    """Return Σ c_k ⟨P_k⟩ over random Pauli strings."""
    n_qubits = int(np.log2(states.shape[1]))
    found = np.zeros(len(X))
    for _ in range(N_STRINGS):
        string = np.eye(1)
        letters = rng.integers(4, size=n_qubits)
        letters[rng.integers(n_qubits)] = rng.integers(1, 4)  # never the identity
        for letter in letters:
            string = np.kron(string, PAULIS[letter])
        found += rng.normal() * np.einsum("ia,ab,ib->i", states.conj(), string, states).real
    return found


def sparse_anchors(
    X: FloatArray, states: NDArray[np.complex128], n_train: int, rng: Generator
) -> FloatArray:
    """Return Σ c_j K(x, x_j) over a few training points."""
    anchors = rng.choice(n_train, N_ANCHORS, replace=False)
    overlaps = np.abs(states @ states[anchors].conj().T) ** 2
    return np.asarray(overlaps @ rng.normal(size=N_ANCHORS))


LABELS: dict[str, Labelling] = {
    "geometric difference": geometric_difference,
    "random observable": random_observable,
    "sparse anchors": sparse_anchors,
}


@dataclass(frozen=True)
class LabelledTask:
    """Inputs, a feature map and a way to label: what to draw for a seed.

    Attributes
    ----------
    source
        Where the points come from, one of :data:`INPUTS`; their own labels are not used.
    kernel, qubits
        The feature map and its qubits. Points in the plane go to every second qubit.
    points
        Training points.
    angles
        Range of the angles, one of :data:`RANGES`.
    labels
        One of :data:`LABELS`.
    """

    source: str
    kernel: str
    qubits: int
    points: int
    angles: str
    labels: str

    @property
    def name(self) -> str:
        """What results call it; the half it is in depends on this."""
        return (
            f"{self.labels} on {'normal' if self.source == 'own function' else self.source}, "
            f"{self.kernel} {self.qubits} qubits, {self.points} points, angles to {self.angles}"
        )

    @property
    def half(self) -> Half:
        """The half that the name's hash puts it in."""
        return half_of_name(self.name)

    def feature_map(self) -> "QuantumCircuit":
        """Return the circuit that encodes a point."""
        return CIRCUITS[self.kernel](self.qubits)

    def draw(self, seed: int) -> QuantumTask:
        """Return the task with other points and other labels for every seed."""
        rng = np.random.default_rng([seed, *self.name.encode()])
        drawn, _ = SOURCES[self.source].draw(seed, self.qubits)
        n = self.points
        chosen = rng.permutation(len(drawn))[: n + N_TEST]
        X = self._scale(drawn[chosen])
        states = StatevectorBackend(X, self.feature_map()).states()
        values = LABELS[self.labels](X, states, n, rng)
        y = np.where(values > np.median(values), 1.0, -1.0)
        kernel = fidelities(states)
        return QuantumTask(
            name=self.name,
            kernel=kernel[:n, :n],
            test_kernel=kernel[n:, :n],
            y=y[:n],
            test_labels=y[n:],
            ridge=DATA_RIDGE,
            anchors=np.empty(0, dtype=np.int64),
            X=X[:n],
            test_X=X[n:],
            map_name=self.kernel,
        )

    def _scale(self, points: FloatArray) -> FloatArray:
        """Return principal components as angles, fitted on training points, in turn on qubits."""
        from sklearn.decomposition import PCA
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MinMaxScaler, StandardScaler

        columns = min(self.qubits, points.shape[1])
        steps = make_pipeline(
            StandardScaler(),
            PCA(columns, random_state=0),
            MinMaxScaler((0, RANGES[self.angles]), clip=True),
        )
        scaled = steps.fit(points[: self.points]).transform(points)
        return np.asarray(scaled[:, np.arange(self.qubits) % columns])


def _candidates() -> dict[str, LabelledTask]:
    """Return all inputs with all labels and entangling maps; sizes and angles take turns."""
    maps = [name for name in CIRCUITS if name != "Pauli-Z"]
    tasks = [
        LabelledTask(
            source=source,
            kernel=kernel,
            qubits=in_turn(QUBITS, i + j + k),
            points=in_turn(POINTS, i + 2 * j + k),
            angles=in_turn(list(RANGES), i + j + k + (i + j) // 2),
            labels=labels,
        )
        for (i, source), (j, kernel), (k, labels) in product(
            enumerate(INPUTS), enumerate(maps), enumerate(LABELS)
        )
    ]
    return {task.name: task for task in tasks}


CANDIDATES = _candidates()
"""All tasks that were considered, by name."""


@cache
def kept_scores() -> dict[str, dict[str, float]]:
    """Return what was measured of each kept task, by name; see ``aqka_research.quantum_tasks``."""
    found: dict[str, dict[str, float]] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def quantum_labelled(half: str) -> list[LabelledTask]:
    """Return the kept tasks of one half, ``"development"`` or ``"confirmation"``."""
    if half not in HALVES:
        raise InputError(f"half must be one of {list(HALVES)}, got {half!r}.")
    return [task for name in kept_scores() if (task := CANDIDATES[name]).half == half]
