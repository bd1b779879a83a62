"""Points against pairs in total shots: training and prediction, until labels agree with the exact.

A task's *exact labels* are those of the leave-one-out ridge on the exact kernel. For every level of
shots a task is trained and predicted from drawn counts, and the share of test points that get their
exact label is kept. :mod:`aqka.evaluation.compare.total_findings` turns that into shots.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import BoolArray, FloatArray, IntArray, as_count
from aqka.backends import StatevectorBackend
from aqka.core.pairs import PairTable
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.core.settings import choose_settings
from aqka.estimates.rows import RowPrior
from aqka.evaluation.compare.total_findings import BASELINE, OURS, POINTS, TotalFindings
from aqka.evaluation.suite import SUITE, QuantumTask, half_of_suite
from aqka.maths.spectrum import Spectrum
from aqka.readouts import FittedHead, make_readout
from aqka.sessions.point_heads import FidelityOfPoints
from aqka.sweep.cells import OnCell, run_cells
from aqka.sweep.store import Cell, Result, stable_name

READOUTS = {BASELINE: "ridge-loo", OURS: "ridge-noise"}
SEEDS = 6
LEVELS = [2.0**k for k in range(-3, 12)]
"""Shots a pair, of training and of test pairs."""
POINT_LEVELS = [2**k for k in range(3, 14)]
"""Shots a point, of training and of new points alike."""
QUBITS = (2, 3, 4, 5, 6, 8)


def total_tasks(half: str) -> list[str]:
    """Return the tasks of a half of the suite that have a circuit and classes."""
    chosen = (SUITE[name] for name in half_of_suite(half))
    return [
        task.name
        for task in chosen
        if task.is_quantum and task.kind != "regression" and task.features in QUBITS
    ]


@stable_name("aqka.total:measure")
def measure(cell: Cell) -> Result:
    """Return how many labels agree with the exact ones at every level, for one seed of a task."""
    task = SUITE[cell["task"]].draw(cell["seed"])
    assert isinstance(task, QuantumTask)
    problem = Problem(np.sign(task.y) + (task.y == 0))
    exact = make_readout("ridge-loo").fit_kernel(task.kernel, problem)
    labels = exact.decision_function(task.test_kernel) >= 0
    random = np.random.default_rng([cell["seed"], *cell["task"].encode()])
    found: Result = {
        "points": len(task.y),
        "qubits": task.n_qubits,
        "largest_class": float(max(labels.mean(), 1 - labels.mean())),
        "agreement": {},
    }
    rows = {level: _test_rows(task, level, random) for level in cell["levels"]}
    tables = {level: _drawn_table(task, level, random) for level in cell["levels"]}
    for method, readout in READOUTS.items():
        found["agreement"][method] = [
            _pair_agreement(make_readout(readout).fit(table, problem), rows, labels, method)
            for table in tables.values()
        ]
    backends = (
        StatevectorBackend(task.X, task.feature_map(), seed=2 * cell["seed"]),
        StatevectorBackend(task.test_X, task.feature_map(), seed=2 * cell["seed"] + 1),
    )
    found["agreement"][POINTS] = [
        _point_agreement(backends, problem, shots, labels) for shots in cell["point_levels"]
    ]
    return found


def _drawn_table(task: QuantumTask, level: float, random: Generator) -> PairTable:
    """Return a table of even shots on all training pairs; below one, on some of them."""
    table = PairTable(len(task.y), "known")
    table.shots[:] = _even_shots(table.n_pairs, level, random)
    rows, cols = table.pairs(np.arange(table.n_pairs))
    table.hits[:] = random.binomial(table.shots, task.kernel[rows, cols])
    return table


def _even_shots(n_pairs: int, level: float, random: Generator) -> IntArray:
    shots = np.full(n_pairs, int(level))
    extra = round((level - int(level)) * n_pairs)
    shots[random.permutation(n_pairs)[:extra]] += 1
    return shots


def _test_rows(task: QuantumTask, level: float, random: Generator) -> FloatArray:
    """Return measured test entries, and the mean of all where there is no shot."""
    shape = task.test_kernel.shape
    shots = _even_shots(shape[0] * shape[1], level, random).reshape(shape)
    hits = random.binomial(shots, task.test_kernel)
    mean = hits.sum() / max(1, shots.sum())
    return np.where(shots > 0, hits / np.maximum(shots, 1), mean)


def _pair_agreement(
    head: FittedHead, rows: dict[float, FloatArray], labels: BoolArray, method: str
) -> list[float]:
    """Return the share of exact labels at every level of test shots."""
    agreement = []
    for level, entries in rows.items():
        coefficients = head.alpha
        if method == OURS:
            prior = RowPrior.of(head.spectrum or Spectrum.of(head.kernel))
            mean = float(entries.mean())
            noise = np.full(len(head.alpha), mean * (1 - mean) / level)
            coefficients = prior.coefficients(head.alpha[:, None], noise)[:, 0]
        f = entries @ coefficients + head.intercept
        agreement.append(float(np.mean((f >= 0) == labels)))
    return agreement


def _point_agreement(
    backends: tuple[StatevectorBackend, StatevectorBackend],
    problem: Problem,
    shots: int,
    labels: BoolArray,
) -> float:
    """Return the share of exact labels where every point, old or new, has the same shots."""
    old, new = (_measured(backend, shots) for backend in backends)
    head = FidelityOfPoints(rank=1).fit(old, problem, None)
    f = head.decide_states(head.fit_points(new))
    return float(np.mean((f >= 0) == labels))


def _measured(backend: StatevectorBackend, shots: int) -> PointTable:
    n_points, settings = backend.shape[0], choose_settings(backend.n_qubits, seed=0)
    plan = even_plan(np.arange(n_points), settings, shots)
    table = PointTable(n_points, settings)
    table.add(plan, backend.collect(backend.submit(plan, f"{shots} shots a point")))
    return table


def compare_totals(
    seeds: int = SEEDS,
    *,
    tasks: Sequence[str],
    levels: Sequence[float] = LEVELS,
    point_levels: Sequence[int] = POINT_LEVELS,
    store: Path | None = None,
    workers: int | None = None,
    on_cell: OnCell | None = None,
) -> TotalFindings:
    """Measure agreement of pairs and points on tasks; see :func:`~aqka.sweep.cells.run_cells`."""
    cells: list[Cell] = [
        {
            "task": task,
            "seed": seed,
            "levels": list(levels),
            "point_levels": list(point_levels),
        }
        for seed in range(as_count(seeds, "seeds", minimum=2))
        for task in tasks
    ]
    results = run_cells(measure, cells, store, workers=workers, on_cell=on_cell)
    by_task = {
        task: [result for cell, result in zip(cells, results, strict=True) if cell["task"] == task]
        for task in tasks
    }
    return TotalFindings(by_task, list(levels), list(point_levels))
