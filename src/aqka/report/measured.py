"""What the training shots say: where they went, the kernel that follows, and its heat maps."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.colours import HEAT_MAP_STOPS
from aqka.core.pairs import PairTable
from aqka.core.points import PointTable
from aqka.core.settings import LETTERS
from aqka.errors import InputError
from aqka.insight.hindsight import noise_floor
from aqka.learners import Estimate
from aqka.study.progress import MAX_ASSESSED_POINTS

if TYPE_CHECKING:
    from aqka.report.run_report import RunReport

ZERO = 1e-9  # of the largest eigenvalue


@dataclass(frozen=True, eq=False)
class Measured:
    """The counts of a run, and the kernel that they give."""

    table: Any
    unit: str  # what a shot is spent on, a pair or a point
    shots: IntArray  # of each
    eigenvalues: FloatArray = field(default_factory=lambda: np.zeros(0))  # of K̂, falling
    noise_floor: float = 0.0  # the largest that shot noise alone can reach; 0 if it is not known
    sensitivity: FloatArray | None = None  # |g| of each pair; None without labels
    kernel: FloatArray | None = None  # K̂ of points, where it is computed
    errors: FloatArray | None = None  # standard errors of its entries
    by_setting: list[tuple[str, int]] = field(default_factory=list)  # letters and shots, of points
    is_fidelity: bool = True  # and not a projected kernel
    sentences: list[str] = field(default_factory=list)  # which kernel, and are the states pure?

    @property
    def seen(self) -> float:
        """Share of the pairs or points with at least one shot."""
        return float(np.mean(self.shots > 0))

    @property
    def a_unit(self) -> str:
        """Shots of a pair or a point on average, in words."""
        mean = float(self.shots.mean())
        return f"{mean:,.{1 if mean < 100 else 0}f} per {self.unit}"

    def maps(self) -> dict[str, FloatArray]:
        """Return the matrices of the heat maps: counts and sensitivities of pairs, or K̂."""
        if self.kernel is not None:
            found = {"kernel": self.kernel, "errors": self.errors}
            return {name: values for name, values in found.items() if values is not None}
        if self.by_setting:
            return {}
        values = {"shots": self.shots, "hits": self.table.hits}
        if self.sensitivity is not None and self.sensitivity.max(initial=0) > 0:
            values["sensitivity"] = self.sensitivity / self.sensitivity.max()
        return {
            name: self.table.square(value.astype(np.float64), known_diagonal=0.0)
            for name, value in values.items()
        }

    def above_diagonal(self) -> tuple[FloatArray, FloatArray]:
        """Return the entries of K̂ above the diagonal and their errors, where these are known."""
        if self.kernel is None or self.errors is None:
            return np.zeros(0), np.zeros(0)
        above = np.triu_indices(len(self.kernel), k=1)
        return self.kernel[above], self.errors[above]

    @property
    def median_error(self) -> float | None:
        """Median standard error of an entry, where errors are known."""
        errors = self.above_diagonal()[1]
        return float(np.median(errors)) if errors.size else None

    @property
    def equivalent_shots(self) -> float | None:
        """Shots on every pair that would give the same mean variance; None where pairs cannot."""
        entries, errors = self.above_diagonal()
        if not errors.size or not self.is_fidelity:
            return None
        return float(np.mean(entries * (1 - entries))) / max(float(np.mean(errors**2)), 1e-300)

    def facts(self) -> dict[str, Any]:
        """Return how well the kernel of points is known, for a program."""
        return {
            "qubits": len(self.by_setting[0][0]),
            "settings": len(self.by_setting),
            "median_error": self.median_error,
            "equivalent_pair_shots": self.equivalent_shots,
            "words": self.sentences,
        }


def falling_eigenvalues(kernel: FloatArray) -> FloatArray:
    """Return the eigenvalues of a kernel, the largest first."""
    return np.asarray(np.linalg.eigvalsh(kernel)[::-1])


def measured_pairs(
    table: PairTable, eigenvalues: FloatArray, sensitivity: FloatArray | None = None
) -> Measured:
    """Return what the counts of pairs say."""
    read = table.tolerance
    return Measured(
        table,
        "pair",
        table.shots,
        eigenvalues,
        noise_floor(table),
        sensitivity,
        is_fidelity=read is None or read.is_fidelity,
        sentences=[] if read is None else [read.meaning],
    )


def measured_points(table: PointTable, read: Callable[[], Estimate]) -> Measured:
    """Return what the counts say, without a kernel while it cannot be read."""
    letters = ("".join(LETTERS[letter] for letter in row) for row in table.settings)
    by_setting = list(zip(letters, map(int, table.shots.sum(axis=0)), strict=True))

    def found(*sentences: str, **more: Any) -> Measured:
        shots, words = table.unit_shots, list(sentences)
        return Measured(table, "point", shots, by_setting=by_setting, sentences=words, **more)

    if table.n_points > MAX_ASSESSED_POINTS:
        return found(f"Above {MAX_ASSESSED_POINTS} points the kernel is not computed here.")
    try:
        estimate = read()
    except InputError:
        return found("Some points have no shots yet, or too few, so there is no kernel to show.")
    values, variance = falling_eigenvalues(estimate.kernel), estimate.variance
    return found(
        estimate.meaning,
        *(test.sentence for test in estimate.tests),
        eigenvalues=values[np.abs(values) > ZERO * values[0]],  # states have at most 4ⁿ others
        kernel=estimate.kernel,
        errors=None if variance is None else np.sqrt(variance),
        is_fidelity=estimate.is_fidelity,
    )


MAX_CELLS_ACROSS = 1000  # more points are drawn in blocks: the file stays below 12 MB
PANELS = {"shots": "Shots", "kernel": "Kernel estimate K̂", "sensitivity": "Sensitivity |g|"}
COUNTS = ("shots", "hits")  # are summed over the pairs of a block; others are averaged


def heat_maps(report: "RunReport") -> tuple[dict[str, str], dict[str, Any]]:
    """Return titles of the panels by name, and the data that the page's script paints.

    No panels where there is nothing to paint. Points are sorted by class or by target.
    """
    matrices = report.measured.maps()
    if not matrices:
        return {}, {}
    n_points, labels = report.table.n_points, report.labels
    sorted_as = np.float64 if report.settings.get("data.task") == "regression" else np.str_
    order = np.argsort(np.array(labels or [""] * n_points).astype(sorted_as), kind="stable")
    step = -(-n_points // MAX_CELLS_ACROSS)
    data: dict[str, Any] = {
        "points": n_points,
        "step": step,
        "order": order.tolist(),
        "ids": [report.ids[k] for k in order],
        "labels": [labels[k] for k in order] if labels else [],
        "colours": HEAT_MAP_STOPS,
        "diagonal": getattr(report.table, "diagonal", "measured"),
    }
    tolerance = getattr(report.table, "tolerance", None)
    data["spread"] = 1.0 if tolerance is None else tolerance.spread
    for name, matrix in matrices.items():
        cells = _cells(matrix, order, step)
        if name == "hits" and tolerance is not None:  # shares of hits
            packed = cells.astype("<f4")
        elif name in COUNTS:  # whole numbers, in the smallest type that holds them
            largest = int(cells.max(initial=0))
            smallest = "<u1" if largest < 2**8 else "<u2" if largest < 2**16 else "<f8"
            packed = np.rint(cells).astype(smallest)
        else:
            packed = (cells / _cells(np.ones_like(matrix), order, step)).astype("<f4")
        text = base64.b64encode(packed.tobytes()).decode()
        data[name] = {"type": packed.dtype.str[1:], "base64": text}
    # The page's script divides hits by shots where there is no kernel.
    return {k: v for k, v in PANELS.items() if k == "kernel" or k in data}, data


def _cells(matrix: FloatArray, order: NDArray[np.int64], step: int) -> FloatArray:
    """Return the lower triangle by rows, diagonal included, summed over blocks of points."""
    sorted_matrix = matrix[np.ix_(order, order)]
    if step > 1:
        starts = np.arange(0, len(order), step)
        sorted_matrix = np.add.reduceat(sorted_matrix, starts, axis=0)
        sorted_matrix = np.add.reduceat(sorted_matrix, starts, axis=1)
    return np.asarray(sorted_matrix[np.tril_indices(len(sorted_matrix))])
