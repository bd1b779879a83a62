"""How one budget is split between training and predictions, and what else depends on the design."""

from typing import NamedTuple

from aqka._util.arrays import as_count
from aqka._util.text import percent
from aqka.designs import Design, as_design
from aqka.errors import InputError

ROTATION_LAYERS = 5
"""Layers of any one-qubit rotation on a device of RZ and √X, read off as :func:`zz_depth` was."""


def settled_design(name: str) -> Design:
    """Return the design of that name; an automatic one must be settled before."""
    design = as_design(name)
    if design is None:
        raise InputError(f"design must be 'pairs' or 'points', got {name!r}.")
    return design


def zz_depth(n_qubits: int, design: str) -> int:
    """Return the depth of the circuit that a shot of the ZZ map runs, on a line of CZ qubits.

    That is the fidelity circuit of a pair, and half of it and a rotation for a point. Read off
    Qiskit 2 at optimization level 1, virtual RZ counted; the paper reports 102 for four qubits. At
    20 ns a layer the difference is below 1 µs of 350.
    """
    if n_qubits < 2:
        raise InputError(
            f"the ZZ map needs at least 2 qubits, got {n_qubits}; for a map of your own pass depth."
        )
    # Neighbours interact in two layers per repetition, two qubits in one.
    depth = 119 if n_qubits > 2 else 65
    return depth if settled_design(design).runs_inverse else -(-depth // 2) + ROTATION_LAYERS


def shots_on_top(design: str, shots: int, n_train: int, n_new: int, each: int | None = None) -> int:
    """Return what predictions get on top of so many training shots; ``each`` new pair or point."""
    measured = settled_design(design)
    each = measured.new_shots(shots, n_train) if each is None else each
    return each * measured.new_units(n_train, n_new)


class Split(NamedTuple):
    """How a budget is split.

    Attributes
    ----------
    train, predict
        Shots for training, and at most for predictions.
    reason
        Why, in a sentence.
    """

    train: int
    predict: int
    reason: str


def split_budget(
    budget: int, n_train: int, n_new: int, design: str, *, test_shots: int | None = None
) -> Split:
    """Return how many of all shots to train with, and how many to keep for new points.

    Parameters
    ----------
    budget : int
        Shots in all.
    n_train, n_new : int
        Numbers of training points N and of new points n.
    design : {"pairs", "points"}
        What a shot is spent on. With pairs, new points need N entries each, and errors of
        f are least, w/s + 1/t at s shots a training pair and t a new one, where the parts are
        as √(w N(N-1)/2) to √(N n), w being 1/8. With points, every point gets the same.
    test_shots : int, optional
        Shots for each pair of a new and a training point, or for each new point where the design
        is points, in place of a share; training gets the rest.

    Examples
    --------
    >>> split = split_budget(100_000, n_train=60, n_new=60, design="pairs")
    >>> split.train, split.predict
    (19866, 80134)
    >>> print(split.reason)
    20 % for training: 60 new points have 3,600 pairs with the 60 training points, which have ...
    >>> split_budget(100_000, 60, 60, design="points").train
    50000
    >>> split_budget(100_000, 100, 50, "pairs", test_shots=10).train
    50000
    """
    budget, measured = as_count(budget, "budget"), settled_design(design)
    n_train, n_new = as_count(n_train, "n_train", 2), as_count(n_new, "n_new", 0)
    if n_new == 0:
        return Split(budget, 0, "No points to predict: all shots are for training.")
    new = measured.new_units(n_train, n_new)
    if test_shots is not None:
        each = as_count(test_shots, "test_shots", minimum=0)
        reason = f"Predictions get {each:,} shots for each new {measured.unit}, as set."
        return Split(budget - each * new, each * new, reason)
    training, prediction, reason = measured.shares(n_train, n_new)
    share = training / (training + prediction)
    budget = as_count(budget, "budget", minimum=2)
    train = min(max(round(share * budget), 1), budget - 1)
    return Split(train, budget - train, f"{percent(share)} for training: {reason}")
