"""Iris on an IBM Heron: what it takes, the usual way, with tiles, and with points on tiles.

The scale of the features and the shots are chosen on one set of splits of the data, and the
accuracies come from another. Shots are drawn from the exact noisy states of each tile of a fake
Fez.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends import AerBackend, JobShape, RuntimeBackend, StatevectorBackend
from aqka.backends._tiles.deal import Deal
from aqka.backends.runtime import fake_device
from aqka.backends.tiles import find_tiles
from aqka.core.point_plans import PointPlan, even_plan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.estimates.states import fit_states
from aqka.insight.baselines import baselines, guessing, process_labels
from aqka.maths.metrics import Fold
from aqka.planning.budget import duration
from aqka.planning.device import HERON
from aqka_research.benchmarks.classical import MAJORITY
from aqka_research.benchmarks.tiles import layout_at
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error, table
from aqka_research.quantum_tasks import GP
from aqka_research.sweep.store import Cell, Result, stable_name

TRAIN, NEW = 100, 50
PAIRS = (TRAIN * (TRAIN - 1) // 2, TRAIN * NEW)  # of training, and of predictions
USUAL = 1024  # shots a pair
PAIR_SHOTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
POINT_SHOTS = (64, 128, 256, 512, 1024, 2048)
SCALES = (np.pi / 8, np.pi / 4, np.pi / 2, np.pi)
DEVELOPMENT, CONFIRMATION = range(20), range(100, 140)
NEAR = 0.01  # of accuracy: as good as the exact kernel
PENALTIES = (0.1, 1.0, 10.0, 100.0)
FREE_SECONDS = 600.0  # of IBM's open plan, in 28 days
LABELS = load_iris().target


@cache
def encoded(scale: float) -> FloatArray:
    """Return the four features as angles."""
    return np.asarray(minmax_scale(load_iris().data, (0, scale)))


def accuracy(kernel: FloatArray, split: int) -> float:
    """Return the share of new points that a cross-validated SVM labels rightly."""
    points = np.arange(len(LABELS))
    train, new = train_test_split(points, train_size=TRAIN, stratify=LABELS, random_state=split)
    model = GridSearchCV(SVC(kernel="precomputed"), {"C": PENALTIES}, cv=5)
    model.fit(kernel[np.ix_(train, train)], LABELS[train])
    return float(np.mean(model.predict(kernel[np.ix_(new, train)]) == LABELS[new]))


@dataclass
class TiledFez:
    """The tiles of a fake Fez with the exact noise of each."""

    X: FloatArray

    def __post_init__(self) -> None:
        """Find the tiles of both circuits, and compute what each of them measures."""
        device = fake_device("fake_fez")
        circuits = [
            RuntimeBackend(device, self.X, design=design).circuit for design in ("pairs", "points")
        ]
        self.depths = [int(circuit.depth()) for circuit in circuits]
        self.tilings = [find_tiles(circuit, device) for circuit in circuits]
        self.pairs, self.points = (
            [
                AerBackend(self.X, noise=device, initial_layout=layout_at(place, circuit))
                for place in tiling.places
            ]
            for tiling, circuit in zip(self.tilings, circuits, strict=True)
        )
        self.kernels = np.array([backend.kernel() for backend in self.pairs])

    def pair_kernel(self, shots: int, seed: int) -> FloatArray:
        """Return the kernel of so many shots on every pair, dealt to tiles."""
        rows, cols = np.triu_indices(len(self.X), 1)
        layout = JobShape().layout(np.full(len(rows), shots), len(self.pairs))
        rng, hits = np.random.default_rng([1, seed]), np.zeros(len(rows))
        for k, chunk in enumerate(layout.chunks()):
            tiles = self._tiles(chunk.plan_rows, k, seed)
            p = self.kernels[tiles, rows[chunk.plan_rows], cols[chunk.plan_rows]]
            hits += chunk.per_plan_row(rng.binomial(chunk.shots, p), len(rows))
        kernel = np.eye(len(self.X))
        kernel[rows, cols] = kernel[cols, rows] = hits / shots
        return kernel

    def point_kernel(self, shots: int, seed: int) -> FloatArray:
        """Return the kernel of states fitted to so many shots a point, dealt to tiles."""
        letters = choose_settings(self.X.shape[1], seed=0)
        plan = even_plan(np.arange(len(self.X)), letters, shots)
        (chunk,) = JobShape().layout(plan.shots, len(self.points)).chunks()
        tiles, found = self._tiles(chunk.plan_rows, 0, seed), PointTable(len(self.X), letters)
        for k, backend in enumerate(self.points):
            own = chunk.per_plan_row(np.where(tiles == k, chunk.shots, 0), len(plan))
            some = np.flatnonzero(own)
            part = PointPlan(plan.points[some], plan.settings[some], own[some], letters)
            found.add(part, backend.collect(backend.submit(part, f"{seed}")))
        return fit_states(found).kernel()

    def _tiles(self, requests: IntArray, job: int, seed: int) -> IntArray:
        count = len(self.pairs)
        return Deal.of(count, seed, "iris").slots(requests, job) % count


@stable_name("benchmarks.iris:measure")
def measure(cell: Cell) -> Result:
    """Return the fewest shots that do on development splits, and what they reach on others."""
    fez, points = TiledFez(encoded(cell["scale"])), cell["way"] == "points"
    make = fez.point_kernel if points else fez.pair_kernel

    def accuracies(shots: int, splits: list[int]) -> list[float]:
        return [accuracy(make(shots, split), split) for split in splits]

    good = (n for n in cell["levels"] if np.mean(accuracies(n, cell["choose_on"])) >= cell["goal"])
    shots = next(good, cell["levels"][-1])
    return {
        "shots": shots,
        "reached": accuracies(shots, cell["splits"]),
        "usual": [] if points else accuracies(USUAL, cell["splits"]),
        "tiles": len(fez.tilings[points]),
        "depth": fez.depths[points],
    }


@stable_name("benchmarks.iris:without_shots")
def without_shots(cell: Cell) -> Result:
    """Return the accuracies of the exact kernel, or of what needs no kernel where no scale is."""
    if cell["scale"] is None:
        return {"found": [_classical(split) for split in cell["splits"]]}
    kernel = StatevectorBackend(encoded(cell["scale"])).kernel()
    return {"found": [accuracy(kernel, split) for split in cell["splits"]]}


def _classical(split: int) -> dict[str, float]:
    """Return the accuracies of classical models and of the majority class."""
    X, points = load_iris().data, np.arange(len(LABELS))
    train, new = train_test_split(points, train_size=TRAIN, stratify=LABELS, random_state=split)
    models = baselines(X, LABELS) | dict([guessing(LABELS)])
    found = {name: model(Fold(kept=train, held=new)) for name, model in models.items()}
    found[GP] = process_labels(X[train], LABELS[train], X[new])
    return {name: float(np.mean(labels == LABELS[new])) for name, labels in found.items()}


def controls(
    run: PageRun, splits: Iterable[int], others: Mapping[str, list[float]] | None = None
) -> dict[str, list[float]]:
    """Return the accuracies of the best classical model, in hindsight, and the majority class.

    ``others`` are those of more models that may be the best.
    """
    (one,) = run.cells(without_shots, [{"scale": None, "splits": [*splits]}])
    found = {name: [split[name] for split in one["found"]] for name in one["found"][0]}
    found |= others or {}
    majority = found.pop(MAJORITY)
    best = max(found, key=lambda name: np.mean(found[name]))
    return {f"best of {len(found)} classical models ({best})": found[best], MAJORITY: majority}


def bill(requests: tuple[int, int], shots: int, tiles: int, depth: int) -> tuple[int, int, float]:
    """Return executions, jobs and QPU seconds of training and predictions, a job or more each."""
    executions = jobs = 0
    for count in requests:
        for chunk in JobShape().layout(np.full(count, shots), tiles).chunks():
            executions += -(-len(chunk.plan_rows) // tiles) * chunk.shots
            jobs += 1
    seconds = jobs * HERON.job_overhead + executions * HERON.execution_seconds(depth)
    return executions, jobs, seconds


def page(run: PageRun) -> list[str]:
    """Choose on some splits, measure on others, and write the page."""
    development, confirmation = run.pick(
        (DEVELOPMENT, CONFIRMATION), (range(2), range(18, 20)), (range(1), range(18, 20))
    )
    run.seeds.update(development, confirmation)
    known = run.cells(without_shots, [{"scale": s, "splits": [*development]} for s in SCALES])
    scores = {s: float(np.mean(one["found"])) for s, one in zip(SCALES, known, strict=True)}
    scale = max(scores, key=lambda s: scores[s])
    levels = {
        "pairs": run.pick(PAIR_SHOTS, (64,), (64,)),
        "points": run.pick(POINT_SHOTS, (512,), (512,)),
    }
    common = {"scale": scale, "goal": scores[scale] - NEAR, "choose_on": [*development]}
    pairs, points = run.cells(
        measure,
        [{"way": w, "levels": n, "splits": [*confirmation], **common} for w, n in levels.items()],
    )
    settings = len(choose_settings(4, seed=0))
    per_setting = (TRAIN * settings, NEW * settings)
    few, tiles = pairs["shots"], pairs["tiles"]
    rows: list[tuple[str, ...]] = []
    for shots, count in ((USUAL, 1), (few, 1), (few, tiles), (USUAL, tiles)):
        paid = bill(PAIRS, shots, count, pairs["depth"])
        reached = pairs["usual" if shots == USUAL else "reached"]
        name = f"every pair, {shots:,} shots" + (f", {count} tiles" if count > 1 else "")
        rows.append(_row(name, PAIRS, shots, paid, reached))
    each = points["shots"] // settings
    paid = bill(per_setting, each, points["tiles"], points["depth"])
    name = f"points, {points['shots']} shots, {points['tiles']} tiles"
    rows.append(_row(name, per_setting, each, paid, points["reached"]))
    (exact,) = run.cells(without_shots, [{"scale": scale, "splits": [*confirmation]}])
    free = {f"{name}, no shots": one for name, one in controls(run, confirmation).items()}
    for name, one in {"exact kernel": exact["found"], **free}.items():
        rows.append((name, *[""] * 5, mean_and_error(one)))
    return [
        "# What Iris costs on a Heron",
        "100 training and 50 new points, four features on four qubits (the paper's ZZ map), a "
        "support vector machine with a cross-validated penalty on the measured kernel. Shots are "
        "drawn from the exact noise of each tile of a fake Fez, without crosstalk; nothing is "
        "corrected. QPU time is that of `aqka plan`: 2 s a job, and about 350 µs an execution.",
        table(
            (
                "way",
                "shots",
                "executions",
                "jobs",
                "QPU time",
                f"fits in {FREE_SECONDS / 60:g} free minutes",
                "accuracy",
            ),
            rows,
        ),
        f"Features are scaled to [0, {scale / np.pi:g}π]. Shots other than {USUAL:,} are the "
        f"smallest power of two whose accuracy on {len(development)} other splits is within a "
        "percentage point of the exact kernel's, or the most tried if there is none. "
        f"Accuracies are means over {len(confirmation)} splits, with their standard errors; the "
        "classical model is chosen in hindsight. Training and predictions are separate jobs.",
    ]


def _row(
    name: str,
    requests: tuple[int, int],
    shots: int,
    paid: tuple[int, int, float],
    reached: list[float],
) -> tuple[str, ...]:
    executions, jobs, seconds = paid
    fits = "yes" if seconds <= FREE_SECONDS else "no"
    figures = (f"{sum(requests) * shots:,}", f"{executions:,}", str(jobs), duration(seconds))
    return (name, *figures, fits, mean_and_error(reached))
