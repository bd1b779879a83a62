"""Eight tasks to compare methods on: planted and real targets, quantum and classical kernels."""

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from aqka._util.arrays import FloatArray
from aqka.backends.statevector import zz_kernel, zz_states
from aqka_research.tasks import Task, breast_cancer, planted_sparse, planted_zz

N_TEST = 150
DATA_RIDGE = 0.5  # what the paper fixes for its real data (Appendix C.6)


def digits_pixels_rbf(seed: int) -> Task:
    """Return digits 3 against 5 under an RBF kernel on all 64 pixels."""
    X, y = _digits((3,), (5,))
    X, y = _shuffle(X, y, 150, seed)
    X = (X - X[:150].mean(axis=0)) / np.maximum(X[:150].std(axis=0), 1e-6)
    kernel = np.exp(-cdist(X, X, "sqeuclidean") / X.shape[1])
    return _first_points_task("digits 3/5, RBF", kernel, y, 150)


def digits_zz(seed: int) -> Task:
    """Return digits 0 to 4 against 5 to 9, six principal components, under the ZZ map."""
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import MinMaxScaler

    X, y = _digits((0, 1, 2, 3, 4), (5, 6, 7, 8, 9))
    X, y = _shuffle(X, y, 150, seed)
    X = PCA(6, random_state=0).fit(X[:150]).transform(X)
    X = MinMaxScaler((0, np.pi), clip=True).fit(X[:150]).transform(X)
    return _first_points_task("digits low/high, ZZ 6 qubits", zz_kernel(X), y, 150)


def moons_zz(seed: int) -> Task:
    """Return two half moons under the 2-qubit ZZ map."""
    from sklearn.datasets import make_moons
    from sklearn.preprocessing import MinMaxScaler

    X, y = make_moons(120 + N_TEST, noise=0.15, random_state=seed)
    X = MinMaxScaler((0, np.pi), clip=True).fit(X[:120]).transform(X)
    return _first_points_task("moons, ZZ 2 qubits", zz_kernel(X), np.where(y == 1, 1.0, -1.0), 120)


def adhoc_zz(seed: int) -> Task:
    """Return the ad-hoc task of Havlíček et al. (2019) on two qubits.

    Labels are the sign of ⟨φ(x)|V† (parity) V|φ(x)⟩ for a random unitary V; points where its size
    is below 0.3 are left out.
    """
    from scipy.stats import unitary_group

    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 2 * np.pi, size=(6000, 2))
    states = zz_states(X) @ unitary_group.rvs(4, random_state=rng).T
    parity = np.array([1.0, -1.0, -1.0, 1.0])
    value = np.abs(states) ** 2 @ parity
    kept = np.flatnonzero(np.abs(value) > 0.3)[: 120 + N_TEST]
    return _first_points_task("ad hoc, ZZ 2 qubits", zz_kernel(X[kept]), np.sign(value[kept]), 120)


TASKS: dict[str, Callable[[int], Task]] = {
    "planted RBF, 10 anchors": lambda seed: planted_sparse(
        150, N_TEST, 10, seed, largest_class=0.7
    ),
    "planted RBF, 100 anchors": lambda seed: planted_sparse(
        150, N_TEST, 100, seed, largest_class=0.7
    ),
    "planted ZZ 4 qubits": lambda seed: planted_zz(150, N_TEST, 10, seed),
    "breast cancer, ZZ 4 qubits": lambda seed: breast_cancer(100, N_TEST, seed),
    "digits 3/5, RBF": digits_pixels_rbf,
    "digits low/high, ZZ 6 qubits": digits_zz,
    "moons, ZZ 2 qubits": moons_zz,
    "ad hoc, ZZ 2 qubits": adhoc_zz,
}


def _digits(negative: tuple[int, ...], positive: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    kept = np.isin(digit, negative + positive)
    return X[kept], np.where(np.isin(digit[kept], positive), 1.0, -1.0)


def _shuffle(
    X: FloatArray, y: FloatArray, n_train: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    order = np.random.default_rng(seed).permutation(len(X))[: n_train + N_TEST]
    return X[order], y[order]


def _first_points_task(name: str, kernel: FloatArray, y: FloatArray, n_train: int) -> Task:
    return Task(
        name=name,
        kernel=kernel[:n_train, :n_train],
        test_kernel=kernel[n_train:, :n_train],
        y=y[:n_train],
        test_labels=y[n_train:],
        ridge=DATA_RIDGE,
        anchors=np.empty(0, dtype=np.int64),
    )
