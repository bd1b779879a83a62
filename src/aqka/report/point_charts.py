"""The charts of a run of points: where its shots went, and how well they make the kernel known."""

import numpy as np

from aqka._util.arrays import IntArray
from aqka.core.points import PointTable
from aqka.core.settings import LETTERS
from aqka.report.chart import Chart, Scale
from aqka.report.measured_points import MeasuredPoints
from aqka.report.run_charts import MAX_DRAWN_POINTS
from aqka.report.run_report import RunReport

MAX_DRAWN_ENTRIES = 600


def shots_by_point(report: RunReport) -> Chart:
    """Draw the shots of every point, the fewest first."""
    shots = np.sort(_table(report).shots_per_point)
    chart = _counts(
        "Shots a point",
        shots,
        "points, fewest first",
        note=f"{shots[0]:,} shots each."
        if shots[0] == shots[-1]
        else f"From {shots[0]:,} to {shots[-1]:,} shots, {shots.mean():,.0f} on average.",
    )
    for k in np.unique(np.linspace(0, shots.size - 1, MAX_DRAWN_POINTS).astype(int)):
        chart.add_dot(k + 1.0, float(shots[k]), "c2", f"{shots[k]:,} shots", 2.2)
    return chart


def shots_by_setting(report: RunReport) -> Chart:
    """Draw the shots of every Pauli setting, all points together."""
    table = _table(report)
    shots = table.shots.sum(axis=0)
    chart = _counts(
        "Shots a setting",
        shots,
        "Pauli settings",
        note=f"All points share {table.n_settings} settings of {table.n_qubits} qubits; point at "
        "one for its letters, qubit 0 first.",
    )
    for k, count in enumerate(shots):
        letters = "".join(LETTERS[letter] for letter in table.settings[k])
        chart.add_dot(k + 1.0, float(count), "c3", f"{letters}: {count:,} shots", 2.2)
    return chart


def errors_by_entry(measured: MeasuredPoints) -> Chart:
    """Draw the standard errors of K̂ and, of a fidelity, what shots on every pair would give."""
    entries, errors = measured.above_diagonal()
    worth, line = measured.equivalent_shots, np.linspace(0, 1, 41)
    by_pairs = np.zeros(41) if worth is None else np.sqrt(line * (1 - line) / worth)
    highest = float(max(errors.max(initial=0), by_pairs.max()))
    chart = Chart(
        "How well K̂ is known",
        "Standard errors of the kernel estimate",
        Scale(0, 1),
        Scale(0, 1.05 * highest or 1.0),
        "kernel estimate K̂",
        "standard error",
    )
    for k in np.unique(np.linspace(0, entries.size - 1, MAX_DRAWN_ENTRIES).astype(int)):
        words = f"K̂ = {entries[k]:.3f} ± {errors[k]:.3f}"
        chart.add_dot(float(entries[k]), float(errors[k]), "c2", words, 1.6)
    chart.add_key("c2", "entries")
    if worth is not None:
        chart.add_line(list(line), list(by_pairs), "c1")
        chart.add_key("c1", f"{worth:,.0f} shots on every pair")
        chart.note = "So many shots on every pair would give the same mean variance."
    return chart


def _counts(heading: str, shots: IntArray, x_label: str, note: str) -> Chart:
    most = float(max(shots.max(initial=0), 1))
    axes = Scale(0, shots.size + 1.0), Scale(0, 1.08 * most)
    return Chart(heading, heading, *axes, x_label, "shots", note=note)


def _table(report: RunReport) -> PointTable:
    assert isinstance(report.table, PointTable)
    return report.table
