"""The data of the task suite: scikit-learn's bundled sets, generated ones, and bare points."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import BoolArray, FloatArray, IntArray

POOL = 3000  # points that a generated set is sampled from, so that rare classes have enough


@dataclass(frozen=True)
class Source:
    """Where points come from.

    Attributes
    ----------
    draw
        From a seed and a number of features to points and targets: -1 and +1, or real values, or
        None where the target is made from the kernel.
    kind
        ``"classes"``, ``"regression"``, ``"own"`` (the sign of a random function of the kernel's
        own space) or ``"planted"`` (see :func:`~aqka_research.tasks.plant`).
    features
        The numbers of features it can have, in the order in which the grid takes them.
    largest
        The most training points it has enough data for.
    anchors
        How many training points carry a planted target; a share of them if below 1.
    """

    draw: Callable[[int, int], tuple[FloatArray, FloatArray | None]]
    kind: str = "classes"
    features: tuple[int, ...] = (4, 6, 3, 8, 5, 2)
    largest: int = 250
    anchors: float = 0


def _signs(positive: BoolArray) -> FloatArray:
    return np.where(positive, 1.0, -1.0)


def _iris(seed: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return X, _signs(y == 1)


def _wine(seed: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    return X, _signs(y == 1)


def _breast_cancer(seed: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return X, _signs(y == 0)


def _digits_pair(seed: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, (3, 8))
    return X[kept], _signs(y[kept] == 8)


def _digits_halves(seed: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X, _signs(y >= 5)


def _diabetes(seed: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return X, y


def _moons(seed: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import make_moons

    X, y = make_moons(POOL, noise=0.2, random_state=seed)
    return X, _signs(y == 1)


def _circles(seed: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import make_circles

    X, y = make_circles(POOL, noise=0.1, factor=0.5, random_state=seed)
    return X, _signs(y == 1)


def _clusters(seed: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import make_classification

    X, y = make_classification(
        POOL,
        n_features,
        n_informative=n_features,
        n_redundant=0,
        n_clusters_per_class=2,
        flip_y=0.05,
        random_state=seed,
    )
    return X, _signs(y == 1)


def _shells(seed: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import make_gaussian_quantiles

    X, y = make_gaussian_quantiles(
        n_samples=POOL, n_features=n_features, n_classes=2, random_state=seed
    )
    return X, _signs(y == 1)


def _friedman(seed: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(POOL, max(n_features, 5), noise=1.0, random_state=seed)
    return X, y


def _waves(seed: int, n_features: int) -> tuple[FloatArray, FloatArray]:
    """Return a smooth target: a sine of a random direction, with a tenth of its size as noise."""
    rng = np.random.default_rng(seed)
    X, direction = rng.uniform(-1, 1, size=(POOL, n_features)), rng.normal(size=n_features)
    wave = np.sin(np.pi * X @ direction / np.linalg.norm(direction))
    return X, wave + 0.1 * rng.normal(size=POOL)


def _points(seed: int, n_features: int) -> tuple[FloatArray, None]:
    return np.random.default_rng(seed).normal(size=(POOL, n_features)), None


TWO = (2,)  # features of data in the plane
SOURCES = {
    "iris": Source(_iris, features=(4, 3, 2), largest=80),
    "wine": Source(_wine, largest=80),
    "breast cancer": Source(_breast_cancer),
    "digits 3/8": Source(_digits_pair, largest=180),
    "digits low/high": Source(_digits_halves),
    "moons": Source(_moons, features=TWO),
    "circles": Source(_circles, features=TWO),
    "clusters": Source(_clusters),
    "shells": Source(_shells),
    "own function": Source(_points, "own"),
    "diabetes": Source(_diabetes, "regression"),
    "friedman": Source(_friedman, "regression"),
    "waves": Source(_waves, "regression"),
    "planted on 5": Source(_points, "planted", anchors=5),
    "planted on 20": Source(_points, "planted", anchors=20),
    "planted on half": Source(_points, "planted", anchors=0.5),
}
"""Data by name. All of scikit-learn's bundled sets but Linnerud's, which has 20 points."""


def choose(
    y: FloatArray, n_train: int, n_test: int, share: float | None, rng: Generator
) -> IntArray:
    """Return the numbers of training points, then of test points: fewer where there are no more.

    With a ``share`` that part of either has the target +1.
    """
    order = rng.permutation(len(y))
    if share is None:
        return order[: n_train + n_test]
    positive, negative = order[y[order] > 0], order[y[order] < 0]
    n_points = min(n_train + n_test, int(len(positive) / share), int(len(negative) / (1 - share)))
    chosen = []
    for count in (n_train, n_points - n_train):
        n_positive = round(share * count)
        chosen += [positive[:n_positive], negative[: count - n_positive]]
        positive, negative = positive[n_positive:], negative[count - n_positive :]
    return np.concatenate(chosen)
