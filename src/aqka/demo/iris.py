"""The demo: Iris end to end, the usual way beside points on tiles, and what each would cost."""

from collections.abc import Callable
from dataclasses import astuple, dataclass, field

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends import StatevectorBackend
from aqka.core.problem import Problem
from aqka.designs import Fidelity, KernelEstimate, Points
from aqka.learners import labels_of, make_learner
from aqka.planning.budget import IBM_LIST_PRICES, price
from aqka.planning.device import HERON, Usage
from aqka.planning.split import zz_depth
from aqka.sessions import acquire, predict

TRAIN, QUBITS = 100, 4
RANGE = (0.0, np.pi / 4)  # of the angles, chosen on other splits
PAIR_SHOTS = (1, 4, 16, 64, 256, 1024)
POINT_SHOTS = (16, 32, 64, 128, 256, 512)
USUAL = 1024  # shots a pair
TILES = 20  # of 4 qubits on one Heron, less than docs/measured/tiles.md finds on two of three
NEAR = 0.01  # of accuracy: as good as the exact kernel
RATE = IBM_LIST_PRICES["pay-as-you-go"]
PAIRS, POINTS = "pairs", "points on tiles"
SEED = 1000  # of the first split; nothing was chosen on these splits


@dataclass(frozen=True)
class Bill:
    """What training and predictions cost together, at IBM's list price, pay as you go."""

    shots: int
    executions: int  # with tiles, many shots each
    jobs: int
    seconds: float
    cost: float

    @classmethod
    def of(cls, parts: list[int], tiles: int, depth: int) -> "Bill":
        """Return the bill of submissions of so many shots each."""
        usage = Usage(HERON, depth, tiles)
        executions, jobs = sum(map(usage.executions, parts)), sum(map(usage.jobs, parts))
        seconds = usage.job_seconds(jobs, executions)
        return cls(sum(parts), executions, jobs, seconds, price(seconds, RATE))


@dataclass(frozen=True)
class IrisRun:
    """One split at one level of shots: the accuracy on new points, and the bill."""

    way: str
    shots: int
    seed: int
    accuracy: float
    bill: Bill


@dataclass
class IrisDemo:
    """All runs, and what they are compared with, a value for each split."""

    runs: list[IrisRun] = field(default_factory=list)
    exact: list[float] = field(default_factory=list)
    plain_svm: list[float] = field(default_factory=list)
    majority: list[float] = field(default_factory=list)

    def levels(self, way: str) -> list[int]:
        """Return the levels of shots of a way."""
        return sorted({run.shots for run in self.runs if run.way == way})

    def mean(self, way: str, shots: int) -> tuple[float, float]:
        """Return the mean accuracy over splits and its standard error."""
        found = [run.accuracy for run in self.runs if (run.way, run.shots) == (way, shots)]
        error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
        return float(np.mean(found)), float(error)

    def bill(self, way: str, shots: int) -> Bill:
        """Return the mean bill over splits."""
        bills = [run.bill for run in self.runs if (run.way, run.shots) == (way, shots)]
        shots_used, executions, jobs, seconds, cost = np.mean([astuple(b) for b in bills], axis=0)
        return Bill(round(shots_used), round(executions), round(jobs), float(seconds), float(cost))

    def enough(self, way: str) -> int | None:
        """Return the fewest shots that are as good as the exact kernel; None if none are."""
        goal = float(np.mean(self.exact)) - NEAR
        return next((s for s in self.levels(way) if self.mean(way, s)[0] >= goal), None)


def count_runs(seeds: int) -> int:
    """Return how many runs the demo makes."""
    return seeds * (len(PAIR_SHOTS) + len(POINT_SHOTS))


def run_iris(seeds: int, on_run: Callable[[IrisRun], None]) -> IrisDemo:
    """Run both ways at every level of shots, on a number of splits of the data."""
    from sklearn.datasets import load_iris
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import minmax_scale
    from sklearn.svm import SVC

    data, labels = load_iris(return_X_y=True)
    angles = minmax_scale(data, RANGE)
    demo = IrisDemo()
    ways = [(PAIRS, shots, _by_pairs) for shots in PAIR_SHOTS]
    ways += [(POINTS, shots, _by_points) for shots in POINT_SHOTS]
    for seed in range(SEED, SEED + seeds):
        train_data, new_data, X, new, y, truth = train_test_split(
            data, angles, labels, train_size=TRAIN, stratify=labels, random_state=seed
        )
        problem = Problem(y)
        kernel, block = StatevectorBackend(X).kernel(), StatevectorBackend(new, columns=X).kernel()
        head = make_learner("ridge-loo").fit(KernelEstimate(kernel), problem)
        demo.exact.append(float(np.mean(head.predict(block) == truth)))
        demo.plain_svm.append(float(SVC().fit(train_data, y).score(new_data, truth)))
        demo.majority.append(float(np.mean(truth == np.bincount(y).argmax())))
        for way, shots, run in ways:
            decision, bill = run(X, new, y, seed, shots)
            accuracy = float(np.mean(labels_of(decision, problem.classes) == truth))
            demo.runs.append(IrisRun(way, shots, seed, accuracy, bill))
            on_run(demo.runs[-1])
    return demo


def _by_pairs(
    X: FloatArray, new: FloatArray, y: FloatArray, seed: int, shots: int
) -> tuple[FloatArray, Bill]:
    """The usual way: the same shots on every training pair and on every test pair."""
    pairs = TRAIN * (TRAIN - 1) // 2
    session = acquire(StatevectorBackend(X, seed=seed), y, shots * pairs, design="pairs")
    block = StatevectorBackend(new, columns=X).kernel()
    rows = np.random.default_rng([seed, shots]).binomial(shots, block) / shots
    bill = Bill.of([shots * pairs, shots * rows.size], 1, zz_depth(QUBITS))
    return session.fit("ridge-loo").decision_function(rows), bill


def _by_points(
    X: FloatArray, new: FloatArray, y: FloatArray, seed: int, shots: int
) -> tuple[FloatArray, Bill]:
    design = Points(Fidelity(rank=1))
    session = acquire(StatevectorBackend(X, seed=seed), y, shots * TRAIN, design=design)
    rounds: list[int] = []
    found = predict(
        session.fit(),
        StatevectorBackend(new, seed=seed + 1),
        shots * len(new),
        on_round=lambda s: rounds.append(s.shots_spent - sum(rounds)),
    )
    return found.f, Bill.of([session.table.total, *rounds], TILES, zz_depth(QUBITS) // 2)
