"""The heat maps, packed for the page's script: shots, hits and sensitivity of every pair, or K̂."""

import base64
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka._util.colours import HEAT_MAP_STOPS
from aqka.report.measured_points import MeasuredPoints
from aqka.report.run_report import RunReport

MAX_CELLS_ACROSS = 1000  # more points are drawn in blocks: the file stays below 12 MB
PANELS = {
    "shots": "Shots",
    "kernel": "Kernel estimate K̂",
    "sensitivity": "Sensitivity |g|",
}


class HeatMaps(NamedTuple):
    """The panels by name with their titles, and the data that the page's script paints."""

    panels: dict[str, str]
    data: dict[str, Any]


def heat_maps(report: RunReport) -> HeatMaps:
    """Return the maps of a run; without sensitivities there is no map of them."""
    table = report.pairs
    order, step = _order(report), _step(report)
    shots = _cells(table.square(table.shots.astype(np.float64), known_diagonal=0.0), order, step)
    hits = _cells(table.square(table.hits.astype(np.float64), known_diagonal=0.0), order, step)
    data = _axes(report, order, step) | {
        "diagonal": table.diagonal,
        "shots": _pack_counts(shots),
        "hits": _pack_counts(hits),
    }
    relative = _relative_sensitivity(report)
    if relative is not None:
        cells = _cells(relative, order, step)
        in_each = _cells(np.ones_like(relative), order, step)
        data["sensitivity"] = _pack((cells / in_each).astype("<f4"))
    panels = {name: title for name, title in PANELS.items() if name == "kernel" or name in data}
    return HeatMaps(panels, data)


def kernel_map(report: RunReport, measured: MeasuredPoints) -> HeatMaps:
    """Return the map of a kernel of points, whose entries have no shots of their own."""
    order, step = _order(report), _step(report)
    data = _axes(report, order, step) | {"diagonal": "measured"}
    in_each = _cells(np.ones_like(measured.kernel), order, step)
    for name, values in (("kernel", measured.kernel), ("errors", measured.errors)):
        if values is not None:
            data[name] = _pack((_cells(values, order, step) / in_each).astype("<f4"))
    return HeatMaps({"kernel": PANELS["kernel"]}, data)


def _step(report: RunReport) -> int:
    """Return how many points a cell stands for."""
    return -(-report.table.n_points // MAX_CELLS_ACROSS)


def _axes(report: RunReport, order: NDArray[np.int64], step: int) -> dict[str, Any]:
    """Return what all maps of a run share."""
    return {
        "points": report.table.n_points,
        "step": step,
        "order": order.tolist(),
        "ids": [report.ids[k] for k in order],
        "labels": [report.labels[k] for k in order] if report.labels else [],
        "colours": HEAT_MAP_STOPS,
    }


def _relative_sensitivity(report: RunReport) -> FloatArray | None:
    """Return |g| over the largest as a matrix; None where it is not known or 0 everywhere."""
    if report.sensitivity is None or not report.sensitivity.max(initial=0) > 0:
        return None
    relative = report.sensitivity / report.sensitivity.max()
    return report.pairs.square(relative, known_diagonal=0.0)


def _order(report: RunReport) -> NDArray[np.int64]:
    """Return the points sorted by class, where that is known."""
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
    kind = f"{values.dtype.kind}{values.dtype.itemsize}"
    return {"type": kind, "base64": base64.b64encode(values.tobytes()).decode()}
