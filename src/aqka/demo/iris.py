"""The demo: Iris end to end, from the usual way to ours, one step at a time, with the bill of each.

Every number of shots is fixed before the first shot: 1,024 a pair is what Qiskit's samplers
default to, and the others are aqka's own defaults (``default_shots`` of the designs).
"""

from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from pathlib import Path

import numpy as np

from aqka._util.arrays import FloatArray
from aqka._util.colours import GREY, NOTE, VERMILION
from aqka._util.text import percent
from aqka.backends import StatevectorBackend
from aqka.core.problem import Problem
from aqka.designs import Fidelity, KernelEstimate, Points, Settle
from aqka.learners import labels_of, make_learner
from aqka.planning.budget import IBM_LIST_PRICES, duration, price
from aqka.planning.device import HERON, Usage
from aqka.planning.split import zz_depth
from aqka.sessions import acquire, predict

TRAIN, QUBITS = 100, 4
RANGE = (0.0, np.pi / 4)  # of the angles, chosen on other splits
TILES = 20  # of 4 qubits on one Heron, less than docs/measured/tiles.md finds on two of three
RATE = IBM_LIST_PRICES["pay-as-you-go"]
SEED = 1000  # of the first split; nothing was chosen on these splits


@dataclass(frozen=True)
class Step:
    """One way to spend shots, which differs from the one before it in one thing."""

    name: str
    shots: int  # of each pair, or of each point
    tiles: int = 1
    looks: int = 0  # at new points, where points are measured


STEPS = (
    Step("1,024 shots a pair", 1024),
    Step("16 shots a pair", 16),
    Step(f"on {TILES} tiles", 16, TILES),
    Step("256 shots a point", 256, TILES, looks=4),
    Step("in two jobs", 256, TILES, looks=1),
)


@dataclass(frozen=True)
class IrisRun:
    """One step on one split, or its mean: accuracy on new points, and what all points cost.

    The price is IBM's list price, pay as you go.
    """

    step: str
    accuracy: float
    shots: int
    executions: int  # with tiles, many shots each
    jobs: int
    seconds: float
    cost: float

    @classmethod
    def of(cls, step: Step, accuracy: float, parts: list[int], depth: int) -> "IrisRun":
        """Return the run whose submissions had so many shots each."""
        usage = Usage(HERON, depth, step.tiles)
        executions, jobs = sum(map(usage.executions, parts)), sum(map(usage.jobs, parts))
        seconds = usage.job_seconds(jobs, executions)
        bill = (sum(parts), executions, jobs, seconds, price(seconds, RATE))
        return cls(step.name, accuracy, *bill)


@dataclass
class IrisDemo:
    """All runs, and what they are compared with, a value for each split."""

    runs: list[IrisRun] = field(default_factory=list)
    exact: list[float] = field(default_factory=list)
    plain_svm: list[float] = field(default_factory=list)
    majority: list[float] = field(default_factory=list)

    def mean(self, step: str) -> tuple[float, float]:
        """Return the mean accuracy over splits and its standard error."""
        found = [run.accuracy for run in self.runs if run.step == step]
        error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
        return float(np.mean(found)), float(error)

    def bill(self, step: str) -> IrisRun:
        """Return the mean over splits."""
        runs = [astuple(run)[1:] for run in self.runs if run.step == step]
        accuracy, shots, executions, jobs, *costs = map(float, np.mean(runs, axis=0))
        return IrisRun(step, accuracy, round(shots), round(executions), round(jobs), *costs)


def run_iris(seeds: int, on_run: Callable[[IrisRun], None]) -> IrisDemo:
    """Run every step on a number of splits of the data."""
    from sklearn.datasets import load_iris
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import minmax_scale
    from sklearn.svm import SVC

    data, labels = load_iris(return_X_y=True)
    angles = minmax_scale(data, RANGE)
    demo = IrisDemo()
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
        for step in STEPS:
            measure = _by_points if step.looks else _by_pairs
            decision, parts, depth = measure(X, new, y, seed, step)
            accuracy = float(np.mean(labels_of(decision, problem.classes) == truth))
            demo.runs.append(IrisRun.of(step, accuracy, parts, depth))
            on_run(demo.runs[-1])
    return demo


def _by_pairs(
    X: FloatArray, new: FloatArray, y: FloatArray, seed: int, step: Step
) -> tuple[FloatArray, list[int], int]:
    """Give every training pair and every test pair the same shots, in a job each."""
    shots, pairs = step.shots, TRAIN * (TRAIN - 1) // 2
    session = acquire(StatevectorBackend(X, seed=seed), y, shots * pairs, design="pairs")
    block = StatevectorBackend(new, columns=X).kernel()
    rows = np.random.default_rng([seed, shots]).binomial(shots, block) / shots
    decision = session.fit("ridge-loo").decision_function(rows)
    return decision, [shots * pairs, shots * rows.size], zz_depth(QUBITS, "pairs")


def _by_points(
    X: FloatArray, new: FloatArray, y: FloatArray, seed: int, step: Step
) -> tuple[FloatArray, list[int], int]:
    """Measure every point, and look at new ones so often before their shots end."""
    design = Points(Fidelity(rank=1))
    rounds: list[int] = []
    session = acquire(StatevectorBackend(X, seed=seed), y, step.shots * TRAIN, design=design)
    found = predict(
        session.fit(),
        StatevectorBackend(new, seed=seed + 1),
        step.shots * len(new),
        stop=Settle(looks=step.looks),
        on_round=lambda s: rounds.append(s.shots_spent - sum(rounds)),
    )
    return found.f, [session.table.total, *rounds], zz_depth(QUBITS, "pairs") // 2


def draw_iris(demo: IrisDemo, path: Path) -> None:
    """Draw the QPU time of each step with its accuracy and price, and save it as a PNG."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.size": 10}):
        figure = Figure(figsize=(9, 3.6), layout="constrained")
        axes = figure.subplots()
        bills = [demo.bill(step.name) for step in STEPS]
        places = np.arange(len(STEPS))[::-1]
        colours = [GREY, *[VERMILION] * (len(STEPS) - 1)]
        axes.barh(places, [bill.seconds for bill in bills], color=colours, height=0.62)
        for place, step, bill in zip(places, STEPS, bills, strict=True):
            words = f" {duration(bill.seconds)}, ${bill.cost:,.0f}, {bill.shots:,} shots"
            axes.text(bill.seconds, place, words, va="center", fontsize=9, color=NOTE)
            score = percent(demo.mean(step.name)[0], 1)
            axes.text(1.1, place, score, va="center", fontsize=9, color="white", weight="bold")
        axes.set_xscale("log")
        axes.set_xlim(1, 90 * max(bill.seconds for bill in bills))
        axes.set_yticks(places, [step.name for step in STEPS])
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel("seconds of QPU time, training and predictions")
        axes.set_title(
            "Iris on four qubits: what each step saves, and the accuracy it keeps\n"
            f"(this kernel exactly {percent(float(np.mean(demo.exact)), 1)}, a plain SVM without "
            f"any shot {percent(float(np.mean(demo.plain_svm)), 1)})",
            fontsize=10.5,
        )
        figure.savefig(path, dpi=130)
