"""E.ON's pairs of 100 qubits: what do 500 shots of each say, read in which way?

Bits of 500 shots of each of the 465 pairs of 30 points of three classes. All-zero is the fidelity,
tolerant E[w^h] with w chosen without labels. Labels by leaving points out one by one, of a ridge
that is chosen among the others.
"""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.tolerance import best_weight, tolerant
from aqka.insight.fold_scores import KernelHead
from aqka.maths.metrics import Fold
from aqka_research.benchmarks.classical import MAJORITY
from aqka_research.markdown import table

QUBITS, SHOTS = 100, 500
LEVELS = (5, 50, 500)
DRAWS = 20
SEED = 0
CLASSES = (11, 9, 10)  # points of each class, in order
SHUFFLES = 20


def load_flips(place: Path) -> IntArray:
    """Return the flipped bits of each shot, 30 × 30 × 500; the lower triangle is a copy."""
    packed = np.load(place / "bits.npz")["B"]
    bits = np.unpackbits(packed, axis=-1)[..., :QUBITS]
    return np.asarray(bits.sum(axis=-1, dtype=np.int64))


def load_inputs(place: Path) -> tuple[FloatArray, NDArray[np.str_]]:
    """Return the raw data that the points were drawn from, and their classes."""
    with (place / "inputs.csv").open(newline="") as stream:
        rows = list(csv.reader(stream))[1:]
    X = np.array([[float(cell) for cell in row[1 : 1 + QUBITS]] for row in rows])
    return X, np.array([row[1 + QUBITS] for row in rows])


def histograms_of(flips: IntArray, n_qubits: int) -> IntArray:
    """Return histograms of flipped bits h, whose last axis is the shots."""
    counts = [np.sum(flips == h, axis=-1) for h in range(n_qubits + 1)]
    return np.stack(counts, axis=-1)


def left_out_accuracy(kernel: FloatArray, y: NDArray[np.str_]) -> float:
    """Return how many points get their class from all others."""
    head, everything = KernelHead(y), np.arange(len(y))
    folds = [Fold(np.delete(everything, k), everything[k : k + 1]) for k in everything]
    return float(np.mean([head.predict(kernel, fold)[0] == y[fold.held[0]] for fold in folds]))


def square(entries: FloatArray, n_points: int) -> FloatArray:
    """Return the kernel of entries i < j, with the diagonal that a kernel of states has."""
    kernel = np.eye(n_points)
    kernel[np.triu_indices(n_points, 1)] = entries
    return np.maximum(kernel, kernel.T)


def sections(place: Path) -> tuple[list[str], str, float]:
    """Return the page's sections, what may be claimed, and our lead over the classical model."""
    flips = load_flips(place / "eon-100-qubits")
    n_points = len(flips)
    y = np.repeat(["a", "b", "c"], CLASSES)
    flips = flips[np.triu_indices(n_points, 1)]
    rng, rows, means = np.random.default_rng(SEED), [], []
    X, classes = load_inputs(place / "eon-100-qubits")
    plain = left_out_accuracy((X @ X.T) ** 2, classes)
    largest = np.unique(y, return_counts=True)[1].max() / n_points
    every = histograms_of(flips, QUBITS)
    full = square(tolerant(every, best_weight(every))[0], n_points)
    for level in LEVELS:
        scores, weights = [], []
        for _ in range(1 if level == SHOTS else DRAWS):
            some = rng.permuted(flips, axis=1)[:, :level]
            seen = histograms_of(some, QUBITS)
            weights.append(best_weight(seen))
            readings = (tolerant(seen, w)[0] for w in (0.0, weights[-1]))
            scores.append([left_out_accuracy(square(k, n_points), y) for k in readings])
        means.append(np.mean(scores, axis=0))
        zero, near = (_text(column) for column in np.array(scores).T)
        row = (str(level), zero, near, f"{np.mean(weights):.2f}")
        rows.append((*row, f"{plain:.2f}", f"{largest:.2f}"))
    shuffled = [left_out_accuracy(full, rng.permutation(y)) for _ in range(SHUFFLES)]
    header = ("shots a pair", "all-zero", "tolerant, E[w^h]", "mean w")
    claim = (
        f"With {LEVELS[0]} shots a pair of {QUBITS} qubits, the tolerant reading reaches "
        f"{means[0][1]:.2f}, all-zero {means[0][0]:.2f}, the classical kernel {plain:.2f} without "
        f"a shot, the majority class {largest:.2f}."
    )
    blocks = [
        "## Pairs of 100 qubits",
        f"E.ON's covariant kernels of {n_points} points in three classes, {SHOTS} shots a pair. "
        f"Leave-one-out accuracies; smaller numbers of shots are drawn {DRAWS} times from the "
        "published ones.",
        table((*header, "classical (x·y)², no shots", MAJORITY), rows),
        f"The classical kernel is that of the {len(classes)} raw inputs from which the points were "
        f"drawn. With shuffled labels, the tolerant kernel of all shots reaches {_text(shuffled)}.",
    ]
    return blocks, claim, float(np.max(means)) - plain


def _text(values: list[float] | FloatArray) -> str:
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.2f}"
