"""The heat maps: every pair's shots, hits and sensitivity, packed for the page's script."""

import base64
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.report.run_report import RunReport

MAX_CELLS_ACROSS = 1000  # more points are drawn in blocks: the file stays below 12 MB
PANELS = {
    "shots": "Shots",
    "kernel": "Kernel estimate K̂",
    "sensitivity": "Sensitivity |g|",
}


def heat_maps(report: RunReport) -> tuple[str, dict[str, Any]]:
    """Return the panels as HTML, and the data that the script paints them from."""
    table = report.table
    order = _order(report)
    step = -(-table.n_points // MAX_CELLS_ACROSS)
    shots = _cells(table.square(table.shots.astype(np.float64), known_diagonal=0.0), order, step)
    hits = _cells(table.square(table.hits.astype(np.float64), known_diagonal=0.0), order, step)
    data: dict[str, Any] = {
        "points": table.n_points,
        "step": step,
        "order": order.tolist(),
        "labels": [report.labels[k] for k in order] if report.labels else [],
        "diagonal": table.diagonal,
        "shots": _packed_counts(shots),
        "hits": _packed_counts(hits),
    }
    names = ["shots", "kernel"]
    if report.sensitivity is not None and report.sensitivity.max(initial=0) > 0:
        relative = report.sensitivity / report.sensitivity.max()
        matrix = table.square(relative, known_diagonal=0.0)
        # Of a block, the mean.
        cells = _cells(matrix, order, step) / _cells(np.ones_like(matrix), order, step)
        data["sensitivity"] = _packed(cells.astype("<f4"))
        names.append("sensitivity")
    panels = "".join(_panel(name, PANELS[name]) for name in names)
    return f'<div class="maps">{panels}</div>', data


def _panel(name: str, title: str) -> str:
    return (
        f"<figure><figcaption><h3>{escape(title)}</h3></figcaption>"
        f'<canvas id="map-{name}" class="map" tabindex="0" role="img" '
        f'aria-label="Heat map: {escape(title)}; arrow keys move from pair to pair"></canvas>'
        f'<div class="scale"><span id="low-{name}"></span><i class="ramp"></i>'
        f'<span id="high-{name}"></span></div></figure>'
    )


def _order(report: RunReport) -> NDArray[np.int64]:
    """Return the points sorted by class, where that is known."""
    labels = report.labels or [""] * report.table.n_points
    return np.argsort(np.array(labels), kind="stable")


def _cells(matrix: FloatArray, order: NDArray[np.int64], step: int) -> FloatArray:
    """Return the lower triangle by rows, diagonal included, summed over blocks of points."""
    sorted_matrix = matrix[np.ix_(order, order)]
    if step > 1:
        starts = np.arange(0, len(order), step)
        sorted_matrix = np.add.reduceat(sorted_matrix, starts, axis=0)
        sorted_matrix = np.add.reduceat(sorted_matrix, starts, axis=1)
    return np.asarray(sorted_matrix[np.tril_indices(len(sorted_matrix))])


def _packed_counts(values: FloatArray) -> dict[str, Any]:
    """Return whole numbers in the smallest type that holds them."""
    largest = int(values.max(initial=0))
    kind = "<u1" if largest < 2**8 else "<u2" if largest < 2**16 else "<f8"
    return _packed(np.rint(values).astype(kind))


def _packed(values: NDArray[Any]) -> dict[str, Any]:
    kind = f"{values.dtype.kind}{values.dtype.itemsize}"
    return {"type": kind, "base64": base64.b64encode(values.tobytes()).decode()}
