"""Where to draw the qubits of a chip."""

import numpy as np

from aqka._util.arrays import FloatArray
from aqka._util.optional import require
from aqka.backends._tiles.calibration import Calibration


def positions(calibration: Calibration) -> FloatArray:
    """Return a place for each qubit: on the lattice where it is numbered by rows, else by springs.

    IBM numbers its heavy hexagons row by row: runs of coupled neighbours, and between two runs
    the qubits that bridge them.
    """
    found = _by_rows(calibration)
    return _by_springs(calibration) if found is None else found


def _by_rows(calibration: Calibration) -> FloatArray | None:
    """Return the lattice with couplers of length 1; None where the numbers do not follow rows."""
    neighbours = calibration.neighbours()
    where = np.full((calibration.n_qubits, 2), np.nan)
    above: set[int] = set()
    for level, row in enumerate(_rows(calibration)):
        where[row, 1] = -level
        # Where each qubit with a neighbour in the row above would stand: right under it.
        under = {k: where[other, 0] for k, q in enumerate(row) for other in neighbours[q] & above}
        if neighbours[row[0]] & set(row):
            shift = next((x - k for k, x in under.items()), 0.0)
            where[row, 0] = shift + np.arange(len(row))
        else:
            for k, x in under.items():
                where[row[k], 0] = x
        above = set(row)
    lengths = np.abs(np.diff(where[np.array(calibration.couplers)], axis=1)).sum(axis=2)
    return where if np.all(lengths == 1) else None


def _rows(calibration: Calibration) -> list[list[int]]:
    """Return runs of consecutive coupled qubits, and the bridges between two runs as one row."""
    coupled = set(calibration.couplers)
    runs: list[list[int]] = []
    for qubit in range(calibration.n_qubits):
        if (qubit - 1, qubit) in coupled:
            runs[-1].append(qubit)
        else:
            runs.append([qubit])
    rows: list[list[int]] = []
    for k, run in enumerate(runs):
        if k and len(run) == len(runs[k - 1]) == 1:
            rows[-1] += run
        else:
            rows.append(run)
    return rows


def _by_springs(calibration: Calibration) -> FloatArray:
    rustworkx = require("rustworkx", "qiskit")
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(calibration.n_qubits))
    graph.add_edges_from_no_data(list(calibration.couplers))
    found = rustworkx.spring_layout(graph, num_iter=500, seed=1)
    where = np.array([found[k] for k in range(calibration.n_qubits)])
    lengths = np.linalg.norm(np.diff(where[np.array(calibration.couplers)], axis=1), axis=2)
    return np.asarray(where / np.median(lengths))
