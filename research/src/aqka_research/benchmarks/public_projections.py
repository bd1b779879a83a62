"""IBM's projections of 60 qubits: what do labels lose with fewer shots, and are they worth any?

⟨X⟩, ⟨Y⟩ and ⟨Z⟩ of 60 qubits for 246 points, error-mitigated; shot noise of fewer shots is drawn
on them. All models are Gaussian kernels of three widths with a ridge, both chosen inside the
training points of each of 10 folds, five times over.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from aqka._util.arrays import FloatArray
from aqka.estimates.reduced_states import Operators, ReducedStates, given_states, shrunk_to_signal
from aqka.insight.exact_kernels import PROJECTED_WIDTHS, linear_share
from aqka.insight.fold_scores import KernelHead, standard_error
from aqka.maths.metrics import Fold
from aqka.planning.device import HERON
from aqka_research.benchmarks.classical import MAJORITY, best_and_majority, labels_without_shots
from aqka_research.markdown import table

QUBITS, LETTERS, MOTIFS = 60, 15, 4
TUTORIAL = "https://quantum.cloud.ibm.com/docs/tutorials/projected-quantum-kernels"
TOXIC = 0.62  # cells above it are of the positive class
SHOTS = (30, 100, 300, 1000)  # a basis
CLAIMED = 300
FEW = (6, 15, 30, 100)
DRAWS = 10
SEED = 0
FOLDS, REPEATS = 10, 5
DEPTH = 16  # two-qubit layers hardly matter beside the delay before an execution


@dataclass(frozen=True, eq=False)
class Projections:
    """The published set."""

    states: ReducedStates  # mitigated expectations, X, Y, Z of each qubit in turn
    inputs: FloatArray  # four motifs, each one-hot
    y: NDArray[np.int64]

    @classmethod
    def load(cls, place: Path) -> "Projections":
        """Read the four files."""
        values, rows = [], []
        for part in ("train", "test"):
            with (place / f"projections_{part}.csv").open(encoding="utf-8-sig") as stream:
                values.append(np.loadtxt(stream))
            with (place / f"{part}_data.csv").open(encoding="utf-8-sig", newline="") as stream:
                lines = [line[0].split(",") for line in csv.reader(stream)][1:]
                rows += [[float(cell) for cell in line] for line in lines]
        by_letter = np.vstack(values).reshape(-1, 3, QUBITS)
        expectations = by_letter.transpose(0, 2, 1).reshape(-1, 3 * QUBITS)
        cells = np.array(rows)
        motifs = cells[:, 1 : 1 + MOTIFS].astype(np.int64)
        motifs[motifs == 17] = 14
        one_hot = np.eye(LETTERS)[motifs].reshape(len(cells), -1)
        states = given_states(expectations, Operators.of(QUBITS))
        return cls(states, one_hot, np.where(cells[:, -1] > TOXIC, 1, -1))

    def drawn(self, shots: int, rng: np.random.Generator) -> ReducedStates:
        """Return the features as so many shots a basis would show them."""
        exact = np.clip(self.states.expectations, -1, 1)  # some mitigated values exceed 1
        means = 2 * rng.binomial(shots, (1 + exact) / 2) / shots - 1
        return replace(self.states, expectations=means, variances=(1 - means**2) / (shots - 1))


def gaussian_kernels(features: FloatArray) -> list[FloatArray]:
    """Return kernels of three widths, in units of the median squared distance."""
    distances = cdist(features, features, "sqeuclidean")
    unit = np.median(distances[np.triu_indices(len(features), 1)])
    return [np.exp(-distances / (width * unit)) for width in PROJECTED_WIDTHS]


class Judge:
    """Predicts every point from the others, fold by fold."""

    def __init__(self, y: NDArray[np.int64], repeats: int = REPEATS) -> None:
        from sklearn.model_selection import RepeatedStratifiedKFold

        splitter = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=SEED)
        self.y = y
        self.folds = [Fold(*pair) for pair in splitter.split(np.zeros(len(y)), y)]

    def predictions(self, features: FloatArray) -> list[NDArray[np.int64]]:
        """Return the labels of the points that each fold holds out."""
        kernels, head = gaussian_kernels(features), KernelHead(self.y)
        return [head.choose(kernels, fold) for fold in self.folds]

    def shares(
        self, labels: list[NDArray[np.int64]], others: list[NDArray[np.int64]] | None = None
    ) -> FloatArray:
        """Return each fold's share of labels that are right, or that agree with others."""
        truth = [self.y[fold.held] for fold in self.folds] if others is None else others
        return np.array([np.mean(a == b) for a, b in zip(labels, truth, strict=True)])


def labels_for_free(data: Projections, judge: Judge) -> dict[str, list[NDArray[Any]]]:
    """Return each fold's labels by what needs no shots: models of the inputs, majority class."""
    X, y = data.inputs, data.y.astype(np.float64)
    folds = [labels_without_shots(X[f.kept], y[f.kept], X[f.held]) for f in judge.folds]
    names = sorted(folds[0], key=lambda name: name == MAJORITY)
    others = {name: [fold[name] for fold in folds] for name in names}
    return {"RBF ridge": judge.predictions(X), **others}


def text(shares: FloatArray) -> str:
    """Return a mean over folds with its standard error."""
    return f"{shares.mean():.3f} ± {standard_error(shares[:, None], FOLDS)[0]:.3f}"


def weighted(states: ReducedStates) -> FloatArray:
    """Return features whose squared distances are those of the states."""
    return states.expectations * np.sqrt(states.weights)


def qpu_seconds(n_points: int, shots: int) -> float:
    """Return the QPU time of three bases on a Heron, in jobs of all points."""
    execution = HERON.rep_delay + HERON.execution_overhead + DEPTH * HERON.layer_time
    return HERON.job_overhead + 3 * n_points * shots * execution


def sections(place: Path, repeats: int = REPEATS) -> tuple[list[str], str, float]:
    """Return the page's sections, what may be claimed, and our lead over the classical models."""
    data = Projections.load(place / "ibm-60-qubits")
    rng, judge = np.random.default_rng(SEED), Judge(data.y, repeats)
    mitigated = judge.predictions(weighted(data.states))
    permuted = weighted(data.states)[rng.permutation(len(data.y))]
    free = labels_for_free(data, judge)
    drawn = {shots: judge.predictions(weighted(data.drawn(shots, rng))) for shots in SHOTS}
    seconds = {shots: f"{qpu_seconds(len(data.y), shots):.0f} s" for shots in SHOTS}
    rows = [
        ("mitigated features", "–", text(judge.shares(mitigated)), "1"),
        *(
            (
                f"{shots:,} shots a basis",
                seconds[shots],
                text(judge.shares(labels)),
                text(judge.shares(labels, mitigated)),
            )
            for shots, labels in drawn.items()
        ),
        ("features of permuted points", "–", text(judge.shares(judge.predictions(permuted))), "–"),
        *(
            (
                name if name == MAJORITY else f"no shots: {name} of the inputs",
                "–",
                text(judge.shares(labels)),
                text(judge.shares(labels, mitigated)),
            )
            for name, labels in free.items()
        ),
    ]
    share = linear_share(data.inputs, data.states)
    gap = text(judge.shares(mitigated) - judge.shares(free["RBF ridge"]))
    header = ("features", "QPU time", "accuracy", "agreement with mitigated features")
    right = {name: judge.shares(labels).mean() for name, labels in free.items()}
    ours = {shots: judge.shares(labels).mean() for shots, labels in drawn.items()}
    reached = judge.shares(mitigated).mean()
    best = max(share for name, share in right.items() if name != MAJORITY)
    claim = (
        f"An accuracy of {ours[CLAIMED]:.3f} from about {seconds[CLAIMED]} of QPU time, simulated "
        f"on mitigated values, where the mitigated values themselves reach {reached:.3f}, the best "
        f"classical model {best:.3f} and the majority class {right[MAJORITY]:.3f}. "
        f"[IBM's tutorial]({TUTORIAL}) estimates 80 minutes on a Heron for them."
    )
    blocks = [
        "## Projections of 60 qubits",
        f"[IBM's tutorial]({TUTORIAL}) on projected kernels: X, Y and Z of {QUBITS} qubits for "
        f"{len(data.y)} points, error-mitigated, {FOLDS} folds {repeats} times. Fewer shots are "
        "drawn on the "
        "mitigated values; their QPU time is that of three settings a point, without mitigation.",
        table(header, rows),
        f"A linear model of the inputs explains {share:.1%} of the features' variance. Mitigated "
        f"features less the RBF ridge of the inputs, fold by fold: {gap}.",
        f"[Shrinking to the signal](shrinkage.md) on the same points, {DRAWS} draws, one round of "
        "folds; errors are over draws, and the classical model is the best of four in hindsight:",
        table(
            (
                "shots a basis",
                "as measured",
                "shrunk",
                "difference",
                "classical, no shots",
                MAJORITY,
            ),
            _shrinkage(data, free, rng),
        ),
    ]
    return blocks, claim, max(reached, *ours.values()) - max(right.values())


def _shrinkage(
    data: Projections, free: dict[str, list[NDArray[Any]]], rng: np.random.Generator
) -> Sequence[tuple[str, ...]]:
    judge, rows = Judge(data.y, repeats=1), []
    right = {name: judge.shares(labels[:FOLDS]) for name, labels in free.items()}
    shares = [{name: float(one[k]) for name, one in right.items()} for k in range(FOLDS)]
    control = [f"{mean:.3f}" for mean in best_and_majority(shares)]
    for shots in FEW:
        found = []
        for _ in range(DRAWS):
            states = data.drawn(shots, rng)
            arms = states, shrunk_to_signal(states, shots=0)
            found.append([judge.shares(judge.predictions(weighted(arm))).mean() for arm in arms])
        plain, shrunk = np.array(found).T
        error = np.std(shrunk - plain, ddof=1) / np.sqrt(DRAWS)
        gain = f"{np.mean(shrunk - plain):+.3f} ± {error:.3f}"
        rows.append((str(shots), f"{plain.mean():.3f}", f"{shrunk.mean():.3f}", gain, *control))
    return rows
