"""The paper's tasks: kernels that are known, to try allocators on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka.backends.statevector import zz_kernel, zz_states
from aqka.errors import InputError


@dataclass(frozen=True, eq=False)
class Task:
    """A training kernel, a test block, and labels; ``ridge`` is the one the paper fixes."""

    name: str
    kernel: FloatArray
    test_kernel: FloatArray  # test by train
    y: FloatArray  # classes -1 and +1, or real values
    test_labels: FloatArray  # classes -1 and +1
    ridge: float
    anchors: IntArray  # the training points that carry a planted target; else empty

    @property
    def majority_accuracy(self) -> float:
        """Test accuracy of always answering the training majority class."""
        majority = 1.0 if np.sum(self.y > 0) * 2 >= len(self.y) else -1.0
        return float(np.mean(self.test_labels == majority))


def planted_sparse(
    n_train: int = 225,
    n_test: int = 75,
    n_anchors: int = 10,
    seed: int = 0,
    *,
    n_features: int = 8,
    gamma: float = 0.1,
    ridge: float = 0.01,
    largest_class: float = 1.0,
) -> Task:
    """Return the paper's planted-sparse RBF problem (Appendix B).

    The targets are y = (K + λI)c with c non-zero on few anchors, so that ridge regression on the
    exact kernel finds α = c; test labels are the signs of K_test c. The anchors are drawn again
    until no class has more than the share ``largest_class`` of the test points. At 1, as in the
    paper, about nine test points in ten fall in one class, and accuracy says little.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_train + n_test, n_features))
    x /= x.std(axis=0)
    kernel = np.exp(-gamma * cdist(x, x[:n_train], "sqeuclidean"))
    train, test = kernel[:n_train], kernel[n_train:]
    return plant("planted-sparse RBF", train, test, n_anchors, rng, ridge, largest_class)


def breast_cancer(n_train: int = 80, n_test: int = 30, seed: int = 0, ridge: float = 0.5) -> Task:
    """Return breast cancer on four principal components under the 4-qubit ZZ map (Appendix C.6).

    Scaling and components are fitted on the training points only.
    """
    # Imported here: scikit-learn takes longer to load than everything else together.
    from sklearn.datasets import load_breast_cancer
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import MinMaxScaler

    features, labels = load_breast_cancer(return_X_y=True)
    steps = (PCA(4, random_state=0), MinMaxScaler((0, np.pi), clip=True))
    split = split_points(features, labels == 1, n_train, n_test, seed)
    return labelled_task("breast cancer, ZZ kernel", zz_kernel, split, steps, ridge)


def planted_zz(
    n_train: int = 150,
    n_test: int = 50,
    n_anchors: int = 10,
    seed: int = 0,
    *,
    n_qubits: int = 4,
    ridge: float = 0.01,
    span: float = 2 * np.pi,
    largest_class: float = 1.0,
) -> Task:
    """Return the same planted problem on the ZZ kernel of uniform inputs (Section 5.3).

    The paper says "uniform inputs" but not their range; here it is [0, ``span``], by default 2π,
    the period of the single-qubit phases. The mean kernel value is 0.08 there and on [0, π].
    ``largest_class`` is as for :func:`planted_sparse`.
    """
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, span, size=(n_train + n_test, n_qubits))
    kernel = zz_kernel(x, x[:n_train])
    train, test = kernel[:n_train], kernel[n_train:]
    return plant("planted-sparse ZZ kernel", train, test, n_anchors, rng, ridge, largest_class)


def ad_hoc(n_train: int = 80, n_test: int = 40, seed: int = 0, ridge: float = 0.5) -> Task:
    """Return labels that a random unitary gives, in the manner of Havlíček et al. (Appendix C.13).

    A point's label is the sign of |⟨0|V|φ(x)⟩|² minus its median, V Haar-random on four qubits;
    points nearer to the median than 0.15 standard deviations are dropped. Apart from the constant
    this is linear in |φ⟩⟨φ|, hence a function of the kernel's own space.
    """
    from scipy.stats import unitary_group

    rng = np.random.default_rng(seed)
    bra = unitary_group.rvs(16, random_state=rng)[0]  # ⟨0|V
    wanted = n_train + n_test
    x = rng.uniform(0, 2 * np.pi, size=(2 * wanted + 1000, 4))
    probability = np.abs(zz_states(x) @ bra) ** 2
    distance = probability - np.median(probability)
    clear = np.flatnonzero(np.abs(distance) >= 0.15 * probability.std())[:wanted]
    points, labels = x[clear], np.sign(distance[clear])
    kernel = zz_kernel(points, points[:n_train])
    return Task(
        name="ad-hoc labels, ZZ kernel",
        kernel=kernel[:n_train],
        test_kernel=kernel[n_train:],
        y=labels[:n_train],
        test_labels=labels[n_train:],
        ridge=ridge,
        anchors=np.empty(0, dtype=np.int64),
    )


def breast_cancer_rbf(
    n_train: int = 400, n_test: int | None = None, seed: int = 0, ridge: float = 0.1
) -> Task:
    """Return breast cancer in all 30 features under an RBF kernel (Appendix C.8).

    The paper gives γ as 0.02 or 0.05 and no scaling. Features are standardised, and of its two γ
    we took the one whose exact kernel has its Gini (0.71), ρ (0.17), accuracy (0.97) and spread
    of α (56 %); gains were not looked at. All points that are not for training are test points
    unless ``n_test`` is given.
    """
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    features, labels = load_breast_cancer(return_X_y=True)
    split = split_points(features, labels == 1, n_train, n_test, seed)
    return labelled_task("breast cancer, RBF kernel", _rbf(0.02), split, [StandardScaler()], ridge)


def digits_rbf(
    first: int,
    second: int,
    n_train: int = 240,
    n_test: int | None = None,
    seed: int = 0,
    ridge: float = 0.1,
) -> Task:
    """Return two digits on 16 principal components under an RBF kernel (Appendix C.8).

    As for :func:`breast_cancer_rbf`, we took what agrees best with the paper's exact kernels: of
    five scalings and two γ, pixels standardised before the components are taken, and γ = 0.05.
    """
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    features, labels = load_digits(return_X_y=True)
    chosen = np.isin(labels, (first, second))
    steps = (StandardScaler(), PCA(16, random_state=0))
    split = split_points(features[chosen], labels[chosen] == second, n_train, n_test, seed)
    name = f"digits {first} and {second}, RBF kernel"
    return labelled_task(name, _rbf(0.05), split, steps, ridge)


def _rbf(gamma: float) -> Callable[..., FloatArray]:
    def kernel(x: FloatArray, columns: FloatArray | None = None) -> FloatArray:
        others = x if columns is None else columns
        return np.asarray(np.exp(-gamma * cdist(x, others, "sqeuclidean")))

    return kernel


def plant(
    name: str,
    train: FloatArray,
    test: FloatArray,
    n_anchors: int,
    rng: np.random.Generator,
    ridge: float,
    largest_class: float = 1.0,
) -> Task:
    """Plant a target on a kernel: y = (K + λI)c with c non-zero on few random anchors."""
    if not 0.5 < largest_class <= 1:
        raise InputError(f"largest_class must lie above 0.5 and up to 1, got {largest_class!r}.")
    n_train = len(train)
    for _ in range(1000):
        anchors = np.sort(rng.choice(n_train, n_anchors, replace=False))
        c = np.zeros(n_train)
        c[anchors] = rng.normal(size=n_anchors)
        test_labels = np.where(test @ c >= 0, 1.0, -1.0)
        if abs(test_labels.mean()) <= 2 * largest_class - 1:
            break
    else:
        raise InputError(
            f"largest_class={largest_class} was not met in 1000 draws of {n_anchors} anchors for "
            f"{len(test)} test points; raise it, or take more test points."
        )
    return Task(name, train, test, train @ c + ridge * c, test_labels, ridge, anchors)


def split_points(
    features: FloatArray, positive: BoolArray, n_train: int, n_test: int | None, seed: int
) -> list[FloatArray]:
    """Return training points, test points and the labels -1 and +1 of both."""
    from sklearn.model_selection import train_test_split

    signs, sizes = np.where(positive, 1.0, -1.0), {"train_size": n_train, "test_size": n_test}
    parts: list[FloatArray] = train_test_split(
        features, signs, stratify=positive, random_state=seed, **sizes
    )
    return parts


def labelled_task(
    name: str,
    kernel: Callable[..., FloatArray],
    split: list[FloatArray],
    steps: Sequence[Any],
    ridge: float,
) -> Task:
    """Return the task of a kernel and split points, scaled as fits the training points."""
    from sklearn.pipeline import make_pipeline

    scaling, nowhere = make_pipeline(*steps), np.empty(0, dtype=np.int64)
    train, test = scaling.fit_transform(split[0]), scaling.transform(split[1])
    return Task(name, kernel(train), kernel(test, train), split[2], split[3], ridge, nowhere)
