"""The picture of a chip with a value on some of its qubits, such as its tiles."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aqka._util.arrays import FloatArray
from aqka._util.colours import GREY
from aqka._util.optional import require
from aqka.backends._tiles.places import Calibration
from aqka.errors import InputError

PICTURES = (".png", ".svg", ".pdf")


def positions(calibration: Calibration) -> FloatArray:
    """Return a place for each qubit: on the lattice where it is numbered by rows, else by springs.

    IBM numbers its heavy hexagons row by row: runs of coupled neighbours, and between two runs
    the qubits that bridge them.
    """
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
    if np.all(lengths == 1):
        return where
    graph = calibration.graph()
    found = require("rustworkx", "qiskit").spring_layout(graph, num_iter=500, seed=1)
    where = np.array([found[k] for k in range(calibration.n_qubits)])
    lengths = np.linalg.norm(np.diff(where[np.array(calibration.couplers)], axis=1), axis=2)
    return np.asarray(where / np.median(lengths))


def _rows(calibration: Calibration) -> list[list[int]]:
    """Return runs of consecutive coupled qubits, and the bridges between two runs as one row."""
    coupled = set(calibration.couplers)
    qubits = np.arange(calibration.n_qubits)
    runs = np.split(qubits, [q for q in qubits[1:] if (q - 1, q) not in coupled])
    rows: list[list[int]] = []
    for bridges, group in itertools.groupby(runs, key=lambda run: len(run) == 1):
        found = [run.tolist() for run in group]
        rows += [[qubit for (qubit,) in found]] if bridges else found
    return rows


INCHES = 0.4  # between two neighbours

Marks = Sequence[tuple[tuple[int, ...], float]]
"""Qubits that belong together, and the value that colours them and the couplers between them."""


def draw_chip(
    calibration: Calibration, marks: Marks, title: str, label: str, path: str | Path
) -> None:
    """Draw qubits and couplers, those of each mark in the colour of its value, dead ones dotted."""
    if Path(path).suffix not in PICTURES:
        raise InputError(f"picture must end in {', '.join(PICTURES)}, got {str(path)!r}.")
    matplotlib = require("matplotlib", "plot")
    where = positions(calibration)
    width, height = (np.ptp(where, axis=0) + 2) * INCHES
    figure = require("matplotlib.figure", "plot").Figure(
        figsize=(max(width, 4.5) + 0.8, max(height, 2.0) + 0.4), layout="constrained"
    )
    axes = figure.subplots()
    values = [value for _, value in marks]
    # White numbers are read on all of these colours.
    colours = matplotlib.colormaps["viridis"].resampled(256)(np.linspace(0, 0.75, 256))
    scale = require("matplotlib.cm", "plot").ScalarMappable(
        matplotlib.colors.Normalize(min(values) - 0.01, max(values) + 0.01),
        matplotlib.colors.ListedColormap(colours),
    )
    mark_of = {qubit: k for k, (qubits, _) in enumerate(marks) for qubit in qubits}
    working = {frozenset(qubits) for _, qubits in calibration.errors}
    for a, b in calibration.couplers:
        style = "-" if {a, b} in working else ":"
        axes.plot(*where[[a, b]].T, color=GREY, lw=1, ls=style, alpha=0.6, zorder=1)
        if a in mark_of and mark_of[a] == mark_of.get(b):
            axes.plot(*where[[a, b]].T, color=scale.to_rgba(values[mark_of[a]]), lw=6, zorder=3)
    axes.scatter(*where.T, s=90, color="white", edgecolors=GREY, linewidths=0.8, zorder=2)
    for qubit, (x, y) in enumerate(where):
        if qubit in mark_of:
            axes.scatter(x, y, s=150, color=[scale.to_rgba(values[mark_of[qubit]])], zorder=4)
        colour = "white" if qubit in mark_of else GREY
        axes.text(x, y, str(qubit), ha="center", va="center", fontsize=6, color=colour, zorder=5)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(title, fontsize=10)
    bar = figure.colorbar(scale, ax=axes, shrink=0.6, pad=0.01)
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=7)
    figure.savefig(path, dpi=100)
