"""Tiles: how many copies of a circuit run side by side on a chip, and where they stand.

An execution costs the same however many qubits are in it, so twenty small circuits side by side
cost what one does.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import as_count
from aqka.backends._tiles.choice import choose_places
from aqka.backends._tiles.picture import Marks, draw_chip
from aqka.backends._tiles.places import (
    Calibration,
    Place,
    Shape,
    find_places,
    read_calibration,
    shape_of,
)
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

__all__ = ["Place", "TileRule", "Tiling", "draw_on_chip", "find_tiles"]

AUTO = "auto"
STEPS = 5  # of the search for the bound that lets most places in


@dataclass(frozen=True)
class TileRule:
    """Which places of a chip are used at once.

    Attributes
    ----------
    count
        How many tiles; ``"auto"`` takes as many as the other rules allow.
    worst
        Places whose estimated success is below this share of the best place's are left.
    mean
        The mean estimated success of the tiles is at least this share of the best place's.
    idle_neighbours
        Whether the neighbours of every qubit in use stay idle: gates side by side disturb each
        other, and no calibration says how much.
    """

    count: int | str = AUTO
    worst: float = 0.8
    mean: float = 0.92
    idle_neighbours: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.count, str):
            if self.count != AUTO:
                raise InputError(f"tiles must be 'auto' or a number, got {self.count!r}.")
        else:
            as_count(self.count, "tiles")
        for name in ("worst", "mean"):
            share = getattr(self, name)
            if (
                isinstance(share, bool)
                or not isinstance(share, (int, float))
                or not 0 <= share <= 1
            ):
                raise InputError(f"{name} must be a share within [0, 1], got {share!r}.")

    def describe(self) -> str:
        """Return the rule in a few words, the same in every version."""
        apart = "apart" if self.idle_neighbours else "touching"
        return f"{self.count} {self.worst:g} {self.mean:g} {apart}"


@dataclass(frozen=True)
class Tiling:
    """The places in use at once; made by :func:`~aqka.backends.tiles.find_tiles`.

    Attributes
    ----------
    places
        One per tile, the best first.
    best, median
        Estimated success of the best place of the chip, and of the median one.
    n_places
        Places of the chip that the circuit fits on, without dead couplers.
    rule
        What they were chosen by.
    calibration
        What the device says of itself.
    shape
        What the circuit needs.
    """

    places: tuple[Place, ...]
    best: float
    median: float
    n_places: int
    rule: TileRule
    calibration: Calibration
    shape: Shape

    def __len__(self) -> int:
        return len(self.places)

    @property
    def mean(self) -> float:
        """Mean estimated success of the tiles."""
        return float(np.mean([place.success for place in self.places]))

    def describe(self) -> str:
        """Return in words how many tiles there are, where, and how good."""
        used = sum(len(place.qubits) for place in self.places)
        noun = "tile" if len(self) == 1 else "tiles"
        apart = "with their neighbours idle" if self.rule.idle_neighbours else "side by side"
        lines = [
            f"{len(self)} {noun} of {self.shape.n_qubits} qubits on {self.calibration.name} "
            f"({used} of {self.calibration.n_qubits} qubits, {apart}), chosen from "
            f"{self.n_places} places.",
            f"Estimated success of one execution: {self.mean:.1%} on average, "
            f"{self.mean / self.best:.1%} of the best place's {self.best:.1%}; the median place "
            f"of the chip has {self.median:.1%}.",
        ]
        lines += [
            f"  {'-'.join(map(str, place.qubits))}: {place.success:.1%}" for place in self.places
        ]
        return "\n".join(lines)

    def draw(self, path: str | Path) -> None:
        """Draw the chip with its tiles into a picture file: PNG, SVG or PDF."""
        title = (
            f"{self.calibration.name}: {len(self)} tiles of {self.shape.n_qubits} qubits, "
            f"estimated success {self.mean:.0%} (best place {self.best:.0%})"
        )
        marks = [(place.qubits, place.success) for place in self.places]
        draw_chip(self.calibration, marks, title, "estimated success", path)

    def without(self, names: set[str]) -> "Tiling":
        """Return the tiling without some of its tiles, named as their registers are."""
        left = tuple(place for place in self.places if place.name not in names)
        if not left:
            raise InputError("every tile was dropped; calibrate the device, or pass tiles=1.")
        return replace(self, places=left)


def draw_on_chip(device: Any, marks: Marks, title: str, label: str, path: str | Path) -> None:
    """Draw a device's qubits with a value on some of them into a picture file."""
    draw_chip(read_calibration(device), marks, title, label, path)


def as_tile_rule(tiles: Any) -> TileRule:
    """Return the rule that an argument ``tiles`` stands for: a rule, ``"auto"`` or a number."""
    return tiles if isinstance(tiles, TileRule) else TileRule(count=tiles)


def find_tiles(
    circuit: "QuantumCircuit", device: Any, tiles: "TileRule | int | str" = AUTO
) -> Tiling:
    """Find places for copies of a transpiled circuit, ranked by the device's calibration.

    Parameters
    ----------
    circuit
        The circuit as transpiled for the device, wherever it stands there.
    device
        A backend with a coupling map and calibrated errors.
    tiles
        ``"auto"``, a number, or a :class:`~aqka.backends.tiles.TileRule`.

    Examples
    --------
    >>> from qiskit.providers.fake_provider import GenericBackendV2
    >>> from aqka.backends import SamplerBackend
    >>> from aqka.backends.tiles import find_tiles
    >>> device = GenericBackendV2(8, coupling_map=[[k, k + 1] for k in range(7)], seed=1)
    >>> from qiskit.primitives import StatevectorSampler
    >>> backend = SamplerBackend(StatevectorSampler(), [[0.1, 0.2]], target_backend=device)
    >>> len(find_tiles(backend.circuit, device))
    3
    """
    rule = as_tile_rule(tiles)
    calibration, shape = read_calibration(device), shape_of(circuit)
    every = find_places(shape, calibration)
    chosen = _most_places(every, calibration, rule)
    if rule.count != AUTO:
        chosen = _so_many(every, calibration, rule, chosen)
    return Tiling(
        places=tuple(chosen),
        best=every[0].success,
        median=float(np.median([place.success for place in every])),
        n_places=len(every),
        rule=rule,
        calibration=calibration,
        shape=shape,
    )


def _most_places(every: list[Place], calibration: Calibration, rule: TileRule) -> list[Place]:
    """Return the largest set that the rule allows, over some bounds from ``worst`` to ``mean``."""
    best: list[Place] = []
    for share in np.linspace(rule.worst, max(rule.worst, rule.mean), STEPS):
        good = [place for place in every if place.success >= share * every[0].success]
        found = choose_places(good, calibration, idle_neighbours=rule.idle_neighbours)
        while found and np.mean([place.success for place in found]) < rule.mean * every[0].success:
            found = found[:-1]
        best = max(best, found, key=lambda places: (len(places), _total(places)))
    return best


def _total(places: list[Place]) -> float:
    return sum(place.success for place in places)


def _so_many(
    every: list[Place], calibration: Calibration, rule: TileRule, most: list[Place]
) -> list[Place]:
    """Return as many places as requested, or say how many there are."""
    count = int(rule.count)
    if len(most) < count:
        raise InputError(
            f"tiles = {count} is more than {calibration.name} has: {len(most)} places that stand "
            f"apart, have at least {rule.worst:.0%} of the best place's estimated success and "
            f"{rule.mean:.0%} of it on average. Pass tiles='auto', or a TileRule with lower shares."
        )
    good = [place for place in every if place.success >= rule.worst * every[0].success]
    return choose_places(good, calibration, idle_neighbours=rule.idle_neighbours, count=count)
