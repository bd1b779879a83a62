"""How one budget is split between training and predictions, and what else depends on the design."""

import math
from typing import TYPE_CHECKING, NamedTuple

from aqka._util.arrays import as_count
from aqka._util.text import percent
from aqka.designs import Never, Pairs, Points, Settle
from aqka.errors import InputError
from aqka.maths.point_law import label_shots

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

# Squared error of f that a shot on every training pair leaves, in units of that of a shot on every
# pair of a new and a training point. To first order it is |(K + λI)⁻¹ k|² for a new row k, the
# share of directions that the ridge lets through. docs/explanation/prediction.md measures it.
TRAINING_WEIGHT = 1 / 8

DEFAULT_TEST_SHOTS = 100
"""Shots of a pair of a new and a training point that come on top of a training budget."""

ROTATION_LAYERS = 5
"""Layers of any one-qubit rotation on a device of RZ and √X, read off as :func:`zz_depth` was."""


def zz_depth(n_qubits: int) -> int:
    """Return the depth of the ZZ map's fidelity circuit, transpiled for a line of CZ qubits.

    Read off Qiskit 2 at optimization level 1, virtual RZ counted; the paper reports 102 for four
    qubits. At 20 ns a layer the difference is below 1 µs of 350.
    """
    if n_qubits < 2:
        raise InputError(
            f"the ZZ map needs at least 2 qubits, got {n_qubits}; for a map of your own pass depth."
        )
    # Neighbours interact in two layers per repetition, two qubits in one.
    return 119 if n_qubits > 2 else 65


class PairCosts:
    """What a quote has to know about a design; here pairs of points are measured."""

    design: Pairs | Points = Pairs()
    rounds_are_known = True
    """Whether the paper says what sparse shots and further rounds bring."""

    def zz_depth(self, n_qubits: int) -> int:
        """Return the depth of the circuit that a shot runs, for the ZZ map."""
        return zz_depth(n_qubits)

    def map_depth(self, feature_map: "QuantumCircuit") -> int:
        """Return about the same for another map that is not transpiled."""
        from aqka.backends.circuits import fidelity_circuit

        return max(1, int(fidelity_circuit(feature_map).depth()))

    def units(self, n_points: int, n_pairs: int) -> tuple[int, str]:
        """Return how many units are measured for training, and how that number comes about."""
        measured = n_pairs > n_points * (n_points - 1) // 2
        return n_pairs, "N(N+1)/2" if measured else "N(N-1)/2, diagonal known"

    def new_units(self, n_train: int, n_new: int) -> int:
        """Return how many units new points add."""
        return n_train * n_new

    def worth(self, shots: float, n_qubits: int) -> float:
        """Return the shots on every pair that label as well as these on every unit."""
        return shots

    def shots_on_top(self, shots: int, n_train: int, n_new: int) -> int:
        """Return what predictions get on top of a training budget, unless the user says."""
        return DEFAULT_TEST_SHOTS * n_train * n_new

    def training_share(self, n_train: int, n_new: int) -> tuple[float, str]:
        """Return the share of one budget that training gets, and why."""
        pairs, new_pairs = n_train * (n_train - 1) // 2, n_train * n_new
        training, prediction = math.sqrt(TRAINING_WEIGHT * pairs), math.sqrt(new_pairs)
        reason = (
            f"{n_new:,} new points have {new_pairs:,} pairs with the {n_train:,} training points, "
            f"which have {pairs:,} among themselves, and the noise of a training pair reaches a "
            "prediction only through what the ridge lets through."
        )
        return training / (training + prediction), reason

    def prediction_rounds(self, classes: bool) -> int:
        """Return in how many submissions predictions come, at most; values never settle."""
        return self.design.looks(Settle() if classes else Never())


class PointCosts(PairCosts):
    """The same for a design that measures each point on its own: U and a rotation, no U†."""

    design = Points()
    rounds_are_known = False

    def zz_depth(self, n_qubits: int) -> int:
        """Return the depth of the ZZ map and a rotation."""
        return -(-zz_depth(n_qubits) // 2) + ROTATION_LAYERS

    def map_depth(self, feature_map: "QuantumCircuit") -> int:
        """Return the depth of another map and a rotation."""
        return max(1, int(feature_map.depth())) + ROTATION_LAYERS

    def units(self, n_points: int, n_pairs: int) -> tuple[int, str]:
        """Return the number of points."""
        return n_points, "each measured once"

    def new_units(self, n_train: int, n_new: int) -> int:
        """Return the number of new points."""
        return n_new

    def worth(self, shots: float, n_qubits: int) -> float:
        """Return what shots on a point are worth (``aqka.maths.point_law``)."""
        return label_shots(n_qubits, shots)

    def shots_on_top(self, shots: int, n_train: int, n_new: int) -> int:
        """Return as many shots for a new point as a training point gets."""
        return n_new * (shots // n_train)

    def training_share(self, n_train: int, n_new: int) -> tuple[float, str]:
        """Return the share with which every point gets the same."""
        reason = (
            f"a new point costs what a training point does, so {n_train:,} training and {n_new:,} "
            "new points get the same shots each."
        )
        return n_train / (n_train + n_new), reason


_COSTS: dict[str, PairCosts] = {"pairs": PairCosts(), "points": PointCosts()}


def costs_of(design: str) -> PairCosts:
    """Return what a quote has to know about a design, by its name."""
    if design not in _COSTS:
        raise InputError(f"design must be 'pairs' or 'points', got {design!r}.")
    return _COSTS[design]


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
    budget: int, n_train: int, n_new: int, design: str = "pairs", *, test_shots: int | None = None
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
    >>> split = split_budget(100_000, n_train=60, n_new=60)
    >>> split.train, split.predict
    (19866, 80134)
    >>> print(split.reason)
    20 % for training: 60 new points have 3,600 pairs with the 60 training points, which have ...
    >>> split_budget(100_000, 60, 60, design="points").train
    50000
    >>> split_budget(100_000, 100, 50, test_shots=10).train
    50000
    """
    budget, costs = as_count(budget, "budget"), costs_of(design)
    n_train, n_new = as_count(n_train, "n_train", 2), as_count(n_new, "n_new", 0)
    if n_new == 0:
        return Split(budget, 0, "No points to predict: all shots are for training.")
    if test_shots is not None:
        each = as_count(test_shots, "test_shots", minimum=0)
        wanted = each * costs.new_units(n_train, n_new)
        reason = f"Predictions get {each:,} shots for each new {costs.design.unit}, as set."
        return Split(budget - wanted, wanted, reason)
    share, reason = costs.training_share(n_train, n_new)
    reason = f"{percent(share)} for training: {reason}"
    budget = as_count(budget, "budget", minimum=2)
    train = min(max(round(share * budget), 1), budget - 1)
    return Split(train, budget - train, reason)
