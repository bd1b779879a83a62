"""What a whole run and its report take, in CPU time next to one eigendecomposition."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

from aqka_research.benchmarks.bars import Bar, times
from aqka_research.figures.page import PageRun

POINTS = 1000
TEST_POINTS = 100
REPORT_SECONDS = 8.0
STUDY = """\
output = "run"
[data]
source = "points.csv"
target = "label"
[split]
train = {train}
test = {test}
[feature_map]
qubits = 3
[budget]
train = "{shots} shots"
"""


def write_study(directory: Path, n_points: int) -> Path:
    """Write a study of two rings in three dimensions with one shot a pair, and else defaults."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, n_points + TEST_POINTS)
    angle = rng.uniform(0, 2 * np.pi, label.size)
    ring = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(label.size)])
    points = (1 + label[:, None]) * ring + rng.normal(0, 0.2, ring.shape)
    rows = np.column_stack([points, label])
    np.savetxt(
        directory / "points.csv", rows, "%.6f,%.6f,%.6f,%d", header="a,b,c,label", comments=""
    )
    study = directory / "study.toml"
    shots = n_points * (n_points - 1) // 2
    study.write_text(STUDY.format(train=n_points, test=TEST_POINTS, shots=shots))
    return study


def cpu_seconds(*arguments: str | Path) -> float:
    """Return the CPU time of an aqka command in a process of its own, all threads together."""
    before = os.times()
    command = [sys.executable, "-m", "aqka", *map(str, arguments)]
    subprocess.run(command, capture_output=True, check=True)
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def eigh_seconds(n_points: int) -> float:
    """Return the CPU time of one decomposition of a matrix of 0 and 1 by one thread."""
    hits = np.random.default_rng(0).integers(0, 2, (n_points, n_points)).astype(np.float64)
    kernel = np.tril(hits) + np.tril(hits, -1).T
    with threadpool_limits(1):
        start = process_time()
        eigh(kernel)
        return process_time() - start


def load_bars(n_points: int) -> list[Bar]:
    """Measure a run, which writes a report too, and a report from its directory alone."""
    with tempfile.TemporaryDirectory() as place:
        study = write_study(Path(place), n_points)
        run = cpu_seconds("run", study)
        report = cpu_seconds("report", study.parent / "run")
    one = eigh_seconds(n_points)
    return [
        Bar(f"aqka run with its report, N = {n_points}", f"{times(run / one)} eigh, {run:.1f} s"),
        Bar(
            f"aqka report, N = {n_points}",
            f"{times(report / one)} eigh, {report:.1f} s",
            f"≤ {REPORT_SECONDS:.0f} s",
            report <= REPORT_SECONDS,
        ),
    ]


def measure(run: PageRun) -> list[Bar]:
    """Measure every bar."""
    return load_bars(run.pick(POINTS, 100, 100)) if run.size != "tiny" else []
