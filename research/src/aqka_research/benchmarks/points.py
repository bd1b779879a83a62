"""Points: how long fitting their states takes, and very many of them at once."""

import numpy as np
from threadpoolctl import threadpool_limits

from aqka.estimates.states import fit_states
from aqka_research.benchmarks import many_points, projected_squlearn
from aqka_research.benchmarks.bars import Bar, fastest
from aqka_research.benchmarks.point_law import MAPS, measured
from aqka_research.figures.page import PageRun

FITS = ((4, 1000, 512, 2.0), (8, 150, 4096, 30.0))
"""Qubits, points, shots a point, and the most seconds."""
MINUTES, GIB = 5.0, 4.0


def measure(run: PageRun) -> list[Bar]:
    """Fit states on one thread, fit very many on all cores, and compare with sQUlearn."""
    if run.size != "full":
        return [fit_bar(4, 50, 512, 2.0)]
    with threadpool_limits(1):
        bars = [fit_bar(*fit) for fit in FITS]
    many = many_points.run()
    bars.append(
        Bar(
            f"{many_points.N_TRAIN:,} points of {many_points.N_QUBITS} qubits fitted and tuned, "
            f"{many_points.N_NEW:,} predicted, all cores",
            f"{many.minutes:.1f} minutes ({many.cpu_minutes:.1f} minutes of CPU time), "
            f"{many.gib:.1f} GiB",
            f"≤ {MINUTES:g} minutes and {GIB:g} GiB",
            many.minutes <= MINUTES and many.gib <= GIB,
        )
    )
    return bars + projected_squlearn.measure()


def fit_bar(n_qubits: int, n_points: int, shots: int, most: float) -> Bar:
    """Time the fit of pure states of the ZZ map."""
    random = np.random.default_rng(0)
    states = MAPS["ZZ"](random.uniform(0, 1, size=(n_points, n_qubits)))
    table = measured(states, shots, random)
    (seconds,) = fastest([lambda: fit_states(table)], repeats=3)
    return Bar(
        f"states of {n_points:,} points, {n_qubits} qubits, {table.n_settings} settings, {shots:,} "
        "shots a point, one thread",
        f"{seconds:.2f} s",
        f"≤ {most:g} s",
        seconds <= most,
    )
