"""Points against pairs in total shots: training and prediction, until labels agree with the exact.

A task's *exact labels* are those of the leave-one-out ridge on the exact kernel. For every level of
shots a task is trained and predicted from drawn counts, and the share of test points that get their
exact label is kept. :mod:`aqka_research.compare.total_findings` turns that into shots. With a
device the counts are drawn through its noise, and the labels to agree with are still the exact
ones.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import BoolArray, FloatArray, IntArray, as_count
from aqka.backends import AerBackend, StatevectorBackend
from aqka.backends.runtime import fake_device
from aqka.core.pairs import PairTable
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.core.settings import choose_settings
from aqka.designs import Fidelity, KernelEstimate, PairEstimate, Points
from aqka.designs.pairs import row_prior
from aqka.learners import FittedHead, make_learner
from aqka_research.circuit_tasks import draw
from aqka_research.compare.total_findings import BASELINE, OURS, POINTS, TotalFindings
from aqka_research.suite import QuantumTask
from aqka_research.suite_maps import CIRCUITS
from aqka_research.sweep.cells import RunCells, run_cells
from aqka_research.sweep.store import Cell, Result, stable_name

LEARNERS = {BASELINE: "ridge-loo", OURS: "ridge-noise"}
SEEDS = 6
LEVELS = [2.0**k for k in range(-3, 12)]
"""Shots a pair, of training and of test pairs."""
POINT_LEVELS = [2**k for k in range(3, 14)]
"""Shots a point, of training and of new points alike."""
Simulator = StatevectorBackend | AerBackend


@stable_name("aqka.total:measure")
def measure(cell: Cell) -> Result:
    """Return how many labels agree with the exact ones at every level, for one seed of a task."""
    task = draw(cell["task"], cell["seed"])
    problem = Problem(np.sign(task.y) + (task.y == 0))
    exact = make_learner("ridge-loo").fit(KernelEstimate(task.kernel), problem)
    labels = exact.decision_function(task.test_kernel) >= 0
    random = np.random.default_rng([cell["seed"], *cell["task"].encode()])
    found: Result = {
        "points": len(task.y),
        "qubits": task.n_qubits,
        "largest_class": float(max(labels.mean(), 1 - labels.mean())),
        "agreement": {},
    }
    old, new, between = simulators(task, cell["seed"], cell.get("device"))
    kernel, test_kernel = old.kernel(), between.kernel()
    rows = {level: _test_rows(test_kernel, level, random) for level in cell["levels"]}
    tables = {level: _drawn_table(kernel, level, random) for level in cell["levels"]}
    for method, learner in LEARNERS.items():
        found["agreement"][method] = [
            _pair_agreement(
                make_learner(learner).fit(PairEstimate(table, problem), problem),
                rows,
                labels,
                method,
            )
            for table in tables.values()
        ]
    # Without noise no test has to tell that states are pure.
    design = Points(Fidelity(rank=1 if cell.get("device") is None else None))
    found["agreement"][POINTS] = [
        _point_agreement(old, new, design, problem, shots, labels) for shots in cell["point_levels"]
    ]
    return found


def simulators(task: QuantumTask, seed: int, device: str | None) -> tuple[Simulator, ...]:
    """Return what measures the training points, the new ones, and pairs of both."""
    old: dict[str, Any] = {"X": task.X, "seed": 2 * seed}
    new: dict[str, Any] = {"X": task.test_X, "seed": 2 * seed + 1}
    parts = (old, new, {**new, "columns": task.X})
    if device is None:
        feature_map = task.feature_map()
        return tuple(StatevectorBackend(feature_map=feature_map, **part) for part in parts)
    compiled = _on_device(task.map_name, task.n_qubits, device)
    return tuple(compiled.with_points(**part) for part in parts)


@cache  # transpiling and reading the noise take longer than most measurements
def _on_device(map_name: str, n_qubits: int, device: str) -> "_NoisyPoints":
    """Return a map on a device, for any points."""
    noise = fake_device(device)
    return _NoisyPoints(np.zeros((1, n_qubits)), CIRCUITS[map_name](n_qubits), noise=noise)


class _NoisyPoints(AerBackend):
    """Works out the outcomes of points in settings once, not at every level of shots."""

    def _probabilities(self, plan: Any, rows: IntArray) -> FloatArray:
        known: dict[bytes, FloatArray] = self.__dict__.setdefault("_known", {})
        measured = (plan.points[rows], plan.settings[rows], plan.letters)
        key = b"".join(part.tobytes() for part in measured)
        if key not in known:
            known[key] = super()._probabilities(plan, rows)
        return known[key].copy()  # it is scaled in place


def _drawn_table(kernel: FloatArray, level: float, random: Generator) -> PairTable:
    """Return a table of even shots on all training pairs; below one, on some of them."""
    table = PairTable(len(kernel), "known")
    table.shots[:] = _even_shots(table.n_pairs, level, random)
    rows, cols = table.pairs(np.arange(table.n_pairs))
    table.hits[:] = random.binomial(table.shots, kernel[rows, cols])
    return table


def _even_shots(n_pairs: int, level: float, random: Generator) -> IntArray:
    shots = np.full(n_pairs, int(level))
    extra = round((level - int(level)) * n_pairs)
    shots[random.permutation(n_pairs)[:extra]] += 1
    return shots


def _test_rows(kernel: FloatArray, level: float, random: Generator) -> FloatArray:
    """Return measured test entries, and the mean of all where there is no shot."""
    shape = kernel.shape
    shots = _even_shots(shape[0] * shape[1], level, random).reshape(shape)
    hits = random.binomial(shots, kernel)
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
            mean = float(entries.mean())
            noise = np.full(len(head.alpha), mean * (1 - mean) / level)
            coefficients = row_prior(head).coefficients(head.alpha[:, None], noise)[:, 0]
        f = entries @ coefficients + head.intercept
        agreement.append(float(np.mean((f >= 0) == labels)))
    return agreement


def _point_agreement(
    old: Simulator,
    new: Simulator,
    design: Points,
    problem: Problem,
    shots: int,
    labels: BoolArray,
) -> float:
    """Return the share of exact labels where every point, old or new, has the same shots."""
    head = make_learner(design.default_learner).fit(
        design.read(measured_points(old, shots), problem), problem
    )
    f = head.values(measured_points(new, shots))
    return float(np.mean((f >= 0) == labels))


def measured_points(backend: Simulator, shots: int) -> PointTable:
    """Return counts of a backend's points with ``shots`` shots each."""
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
    device: str | None = None,
    cells_of: RunCells = run_cells,
) -> TotalFindings:
    """Measure agreement of pairs and points on tasks.

    ``device`` is a fake device of IBM's whose noise the counts have; None is for none.
    """
    noise = {} if device is None else {"device": device}
    cells: list[Cell] = [
        {
            "task": task,
            "seed": seed,
            "levels": list(levels),
            "point_levels": list(point_levels),
            **noise,
        }
        for seed in range(as_count(seeds, "seeds", minimum=2))
        for task in tasks
    ]
    results = cells_of(measure, cells)
    by_task = {
        task: [result for cell, result in zip(cells, results, strict=True) if cell["task"] == task]
        for task in tasks
    }
    return TotalFindings(by_task, list(levels), list(point_levels))
