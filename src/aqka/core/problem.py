"""Problem: the labels and the head whose answer the shots must serve, and how counts are read."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import FloatArray, as_array, as_kernel, as_positive
from aqka._util.text import inert, is_encodable, unknown
from aqka.core.extent import Diagonal
from aqka.core.pairs import PairTable
from aqka.errors import InputError

DEFAULT_C = 5.0  # box of the SVM dual


@dataclass(frozen=True)
class Reading:
    """What is measured and how the unmeasured is read.

    Parameters
    ----------
    name : str
        What the reading is called in results.
    diagonal : {"known", "measured"}
        Whether K_ii costs shots; see :class:`~aqka.core.PairTable`.
    unseen : {"zero", "mean"}
        What a pair without shots reads: ``"zero"``, or the ``"mean"`` of the seen pairs.
    learner : str
        The learner that an experiment reads its runs by.
    """

    name: str
    diagonal: Diagonal
    unseen: Literal["zero", "mean"]
    learner: str

    def __post_init__(self) -> None:
        for name, known in (("diagonal", ("known", "measured")), ("unseen", ("zero", "mean"))):
            if getattr(self, name) not in known:
                raise unknown(name, getattr(self, name), known)

    def describe(self) -> str:
        """Return the settings as ledgers write them; tags depend on this text."""
        return (
            f"Reading(name={self.name!r}, diagonal={self.diagonal!r}, unseen={self.unseen!r}, "
            f"learner={self.learner!r})"
        )

    def kernel(self, table: PairTable) -> FloatArray:
        """Return the N-by-N estimate K-hat (Algorithm 1, line 5, before projection)."""
        k_hat = table.estimate()
        if self.unseen == "mean":
            k_hat = np.where(table.seen, k_hat, self._prior(table))
        return table.square(k_hat)

    def deviation(self, table: PairTable) -> FloatArray:
        """Return the Bernoulli standard deviation sqrt(K (1 - K)) per pair (Eq. 11).

        The paper plugs in K-hat itself, so that a pair seen once has deviation 0. Read with a
        prior, every pair gets one pseudo-shot at the mean kernel value first.
        """
        k = table.estimate()
        if self.unseen == "mean":
            k = (table.hits + self._prior(table)) / (table.shots + 1)
        return np.sqrt(k * (1 - k))

    def _prior(self, table: PairTable) -> FloatArray:
        """Mean of the seen off-diagonal entries; a measured diagonal is expected at 1."""
        diagonal = table.on_diagonal()
        seen = table.seen & ~diagonal
        mean = float(table.estimate()[seen].mean()) if seen.any() else 0.0
        return np.where(diagonal, 1.0, mean)


PAPER = Reading("paper", diagonal="measured", unseen="zero", learner="ridge")
FAIR = Reading("fair", diagonal="known", unseen="mean", learner="ridge-kfold")


def as_reading(reading: "str | Reading") -> Reading:
    """Return the reading of that name, or the given one."""
    if isinstance(reading, Reading):
        return reading
    known = {known.name: known for known in (PAPER, FAIR)}
    if not isinstance(reading, str) or reading not in known:
        raise unknown("reading", reading, known, " or a Reading")
    return known[reading]


def as_targets(y: ArrayLike) -> tuple[FloatArray, NDArray[Any]]:
    """Return labels as float targets, and the classes they stand for.

    Two classes become -1 and +1, in their sorted order. More classes become one column each, +1
    for its points and -1 for all others. Real targets, in one column or several, stay, and stand
    for the classes -1 and +1 of their signs.

    >>> as_targets(["no", "yes", "yes"])
    (array([-1.,  1.,  1.]), array(['no', 'yes'], dtype='<U3'))
    >>> as_targets([7, 8, 9, 9, 8, 7])[0].T
    array([[ 1., -1., -1., -1., -1.,  1.],
           [-1.,  1., -1., -1.,  1., -1.],
           [-1., -1.,  1.,  1., -1., -1.]])
    >>> as_targets([0.5, 2.0, -1.0])
    (array([ 0.5,  2. , -1. ]), array([-1.,  1.]))
    """
    labels = as_labels(y)
    values = np.unique(labels)
    if labels.ndim == 2:
        return labels.astype(np.float64), np.array([-1.0, 1.0])
    if values.size == 1:
        raise InputError(
            f"y has a single class, {values[0]}, for all {labels.size} points; "
            "a classifier needs two."
        )
    if values.size == 2:
        return np.where(labels == values[1], 1.0, -1.0), values
    if labels.dtype.kind == "f":
        return labels.astype(np.float64), np.array([-1.0, 1.0])
    if 2 * values.size > labels.size:
        raise InputError(
            f"y has {values.size} distinct labels of dtype {labels.dtype} for {labels.size} "
            "points, less than two points a class; for regression on whole numbers pass floats."
        )
    return np.where(labels[:, None] == values, 1.0, -1.0), values


def as_labels(y: ArrayLike) -> NDArray[Any]:
    """Return at least two labels or real targets of one type, none of them missing."""
    if isinstance(y, np.ma.MaskedArray) and np.any(y.mask):
        raise InputError("y has masked entries; drop or impute those points first.")
    labels = as_array(y, "y")
    if labels.dtype.kind in "US" and not isinstance(y, np.ndarray):
        # numpy turns a mixed list into strings, NaN among them; see the values as they are.
        labels = np.array(y, dtype=object)
    if labels.ndim != 1 and not (labels.ndim == 2 and labels.dtype.kind == "f" and labels.size):
        raise InputError(
            f"y must be one-dimensional, or have columns of real targets, got shape {labels.shape} "
            f"of {labels.dtype}."
        )
    if len(labels) < 2:
        raise InputError(f"y must label at least 2 points, got {len(labels)}: no pair to measure.")
    if labels.dtype.kind in "fc" and not np.all(np.isfinite(labels)):
        raise InputError(
            f"y holds {int(np.sum(~np.isfinite(labels)))} NaN or infinite values; "
            "drop or impute those points first."
        )
    if labels.dtype.kind == "O":
        if any(value is None or value != value for value in labels):
            raise InputError("y holds missing values; drop or impute those points first.")
        if len({type(value) for value in labels}) > 1:
            raise InputError("y mixes labels of several types; use one, such as str or int.")
        labels = np.array(labels.tolist())
    if labels.dtype.kind not in "buifUS":
        raise InputError(f"y must hold labels or real targets, got dtype {labels.dtype}.")
    # A run's results name its classes.
    texts = np.unique(labels).tolist() if labels.dtype.kind == "U" else []
    for label in texts:
        if not is_encodable(label):
            raise InputError(
                f"y holds the label {inert(label)!r} with half of a character in it (a lone "
                "surrogate), which no file can keep; replace it."
            )
    return labels


def _as_weights(weights: ArrayLike, n_points: int) -> FloatArray:
    """Return weights, none of them negative, and 0 as next to nothing: a root divides."""
    array = as_array(weights, "weights")
    if array.shape != (n_points,) or array.dtype.kind not in "buif":
        raise InputError(f"weights must be {n_points} numbers, one a point, got {array.shape}.")
    if not np.all(np.isfinite(array)) or array.min() < 0 or array.max() == 0:
        raise InputError("weights must be finite and not negative, and some of them above 0.")
    array = np.maximum(array.astype(np.float64), 1e-12 * float(array.max()))
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Problem:
    """The learning problem that decides which pairs matter.

    Parameters
    ----------
    y : array of shape (points,) or (points, outputs)
        Labels of two classes (encoded -1 and +1) or more (one column of -1 and +1 each), or
        real targets, one per training point.
    ridge : float, default=0.01
        Ridge λ of the kernel ridge regression whose loss the sensitivities follow.
    C : float, default=5.0
        Box of the SVM dual, for the SVM allocators and learner.
    reading : str or Reading, default="fair"
        ``"fair"``, ``"paper"`` or a :class:`~aqka.core.Reading`.
    true_kernel : array of shape (points, points), optional
        The exact training kernel; only the oracle allocators use it.
    weights : array of shape (points,), optional
        How much each point counts in the loss that a head minimises; None weighs all alike. Where
        shots go does not depend on it.

    Attributes
    ----------
    classes
        The labels that -1 and +1, or the columns of y, stand for; what a fitted head predicts.
    """

    y: FloatArray
    ridge: float = 0.01
    C: float = DEFAULT_C
    reading: Reading = field(default=FAIR)
    true_kernel: FloatArray | None = None
    weights: FloatArray | None = None
    classes: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        targets, classes = as_targets(self.y)
        # Allocators are handed the problem, and must not change it for others.
        targets.setflags(write=False)
        classes.setflags(write=False)
        object.__setattr__(self, "y", targets)
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "ridge", as_positive(self.ridge, "ridge"))
        object.__setattr__(self, "C", as_positive(self.C, "C"))
        object.__setattr__(self, "reading", as_reading(self.reading))
        if self.weights is not None:
            object.__setattr__(self, "weights", _as_weights(self.weights, self.n_points))
        if self.true_kernel is not None:
            kernel = as_kernel(self.true_kernel, "true_kernel")
            if kernel.shape[0] != self.n_points:
                raise InputError(
                    f"true_kernel must be {self.n_points} by {self.n_points} to fit y, "
                    f"got shape {kernel.shape}."
                )
            kernel.setflags(write=False)
            object.__setattr__(self, "true_kernel", kernel)

    @property
    def n_points(self) -> int:
        """Number of training points N."""
        return len(self.y)

    @property
    def has_classes(self) -> bool:
        """Whether y holds classes; else real targets."""
        return bool(np.all(np.abs(self.y) == 1.0))

    @property
    def outputs(self) -> FloatArray:
        """The targets as columns: one per class where there are more than two, else one."""
        return self.y.reshape(self.n_points, -1)

    def signs(self) -> FloatArray:
        """Return the targets as columns of -1 and +1, or say that a head needs classes."""
        if not self.has_classes:
            raise InputError(
                "this head needs two classes, but y holds real-valued targets; "
                "use a ridge allocator or learner, or pass the signs of y."
            )
        return self.outputs

    def oracle(self) -> FloatArray:
        """Return the true kernel, or say that an oracle allocator needs it."""
        if self.true_kernel is None:
            raise InputError(
                "true_kernel is needed by an oracle allocator; pass true_kernel=K, "
                "or use the plug-in allocator of the same name without '-oracle'."
            )
        return self.true_kernel

    def new_table(self) -> PairTable:
        """Return an empty table that fits the problem and its reading."""
        return PairTable(self.n_points, self.reading.diagonal)


@dataclass(frozen=True)
class TargetScale:
    """Targets y are learnt as (y - centre) / spread, which lies between -1 and 1.

    >>> scale = TargetScale.of(np.array([10.0, 12.0, 17.0]))
    >>> scale.centre, scale.spread, scale.scaled(np.array([17.0, 9.0])).tolist()
    (13.0, 4.0, [1.0, -1.0])
    """

    centre: Any  # their mean; of two values the middle: -1 and +1, as a Problem has them
    spread: Any  # how far the farthest lies from it

    @classmethod
    def of(cls, targets: FloatArray) -> "TargetScale":
        """Fit the training targets; several columns have a centre and a spread each."""
        if targets.ndim == 2:
            columns = [cls.of(column) for column in targets.T]
            return cls(*(np.array([getattr(c, n) for c in columns]) for n in ("centre", "spread")))
        two = np.unique(targets).size == 2
        # An exactly rounded sum is the same on any processor, and so are the labels of a run.
        mean = math.fsum(targets.tolist()) / len(targets)
        centre = float((targets.min() + targets.max()) / 2) if two else mean
        spread = float(np.abs(targets - centre).max())
        if spread == 0:
            raise InputError(f"y has a single value, {targets[0]}; there is nothing to learn.")
        return cls(centre, spread)

    def scaled(self, targets: FloatArray) -> FloatArray:
        """Return targets as heads learn them."""
        return np.asarray((targets - self.centre) / self.spread)
