"""The heat maps, packed for the page's script: shots, hits and sensitivity of every pair, or K̂."""

import base64
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka._util.colours import HEAT_MAP_STOPS
from aqka.report.run_report import RunReport

MAX_CELLS_ACROSS = 1000  # more points are drawn in blocks: the file stays below 12 MB
PANELS = {
    "shots": "Shots",
    "kernel": "Kernel estimate K̂",
    "sensitivity": "Sensitivity |g|",
}
COUNTS = ("shots", "hits")  # are summed over the pairs of a block; others are averaged


class HeatMaps(NamedTuple):
    """The panels by name with their titles, and the data that the page's script paints."""

    panels: dict[str, str]
    data: dict[str, Any]


def heat_maps(report: RunReport) -> HeatMaps | None:
    """Return the maps of a run; None where there is nothing to paint."""
    matrices = report.measured.maps()
    if not matrices:
        return None
    order, step = _order(report), -(-report.table.n_points // MAX_CELLS_ACROSS)
    data: dict[str, Any] = {
        "points": report.table.n_points,
        "step": step,
        "order": order.tolist(),
        "ids": [report.ids[k] for k in order],
        "labels": [report.labels[k] for k in order] if report.labels else [],
        "colours": HEAT_MAP_STOPS,
        "diagonal": getattr(report.table, "diagonal", "measured"),
    }
    for name, matrix in matrices.items():
        cells = _cells(matrix, order, step)
        if name in COUNTS:
            data[name] = _pack_counts(cells)
        else:
            in_each = _cells(np.ones_like(matrix), order, step)
            data[name] = _pack((cells / in_each).astype("<f4"))
    # The page's script divides hits by shots where there is no kernel.
    return HeatMaps({k: v for k, v in PANELS.items() if k == "kernel" or k in data}, data)


def _order(report: RunReport) -> NDArray[np.int64]:
    """Return the points sorted by class or by target, where that is known."""
    labels = report.labels or [""] * report.table.n_points
    if report.settings.get("data.task") == "regression":
        return np.argsort([float(label) for label in labels], kind="stable")
    return np.argsort(np.array(labels), kind="stable")


def _cells(matrix: FloatArray, order: NDArray[np.int64], step: int) -> FloatArray:
    """Return the lower triangle by rows, diagonal included, summed over blocks of points."""
    sorted_matrix = matrix[np.ix_(order, order)]
    if step > 1:
        starts = np.arange(0, len(order), step)
        sorted_matrix = np.add.reduceat(sorted_matrix, starts, axis=0)
        sorted_matrix = np.add.reduceat(sorted_matrix, starts, axis=1)
    return np.asarray(sorted_matrix[np.tril_indices(len(sorted_matrix))])


def _pack_counts(values: FloatArray) -> dict[str, Any]:
    """Return whole numbers in the smallest type that holds them."""
    largest = int(values.max(initial=0))
    kind = "<u1" if largest < 2**8 else "<u2" if largest < 2**16 else "<f8"
    return _pack(np.rint(values).astype(kind))


def _pack(values: NDArray[Any]) -> dict[str, Any]:
    """Return numbers as the page's script unpacks them."""
    kind = f"{values.dtype.kind}{values.dtype.itemsize}"
    return {"type": kind, "base64": base64.b64encode(values.tobytes()).decode()}
