"""Tiles: how many copies of a circuit run side by side on a chip, and where they stand.

An execution costs the same however many qubits are in it, so twenty small circuits side by side
cost what one does.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import as_count, as_fraction
from aqka._util.optional import require
from aqka._util.text import counted, percent
from aqka.backends._noisy.models import used_qubits
from aqka.backends._programs import Program, SentCircuit, SentCircuits
from aqka.backends._tiles.picture import Marks, draw_chip
from aqka.backends._tiles.places import (
    Calibration,
    Place,
    Shape,
    choose_places,
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

    Parameters
    ----------
    count : int or "auto", default="auto"
        How many tiles; ``"auto"`` takes as many as the other rules allow.
    worst : float, default=0.8
        Places whose estimated success is below this share of the best place's are left.
    mean : float, default=0.92
        The mean estimated success of the tiles is at least this share of the best place's.
    idle_neighbours : bool, default=True
        Keep neighbours of qubits in use idle: gates side by side disturb each other, and no
        calibration says how much.
    """

    count: int | str = AUTO
    worst: float = 0.8
    mean: float = 0.92
    idle_neighbours: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.count, str) and self.count != AUTO:
            raise InputError(f"tiles must be 'auto' or a number, got {self.count!r}.")
        if self.count != AUTO:
            as_count(self.count, "tiles")
        for name in ("worst", "mean"):
            as_fraction(getattr(self, name), name)

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
        apart = "with their neighbours idle" if self.rule.idle_neighbours else "side by side"
        lines = [
            f"{counted(len(self), 'tile')} of {self.shape.n_qubits} qubits on "
            f"{self.calibration.name} ({used} of {self.calibration.n_qubits} qubits, {apart}), "
            f"chosen from {self.n_places} places.",
            f"Estimated success of one execution: {percent(self.mean, 1)} on average, "
            f"{percent(self.mean / self.best, 1)} of the best place's {percent(self.best, 1)}; "
            f"the chip's median is {percent(self.median, 1)}.",
        ]
        for place in self.places:
            lines.append(f"  {'-'.join(map(str, place.qubits))}: {percent(place.success, 1)}")
        return "\n".join(lines)

    def draw(self, path: str | Path) -> None:
        """Draw the chip with its tiles into a picture file: PNG, SVG or PDF."""
        title = (
            f"{self.calibration.name}: {len(self)} tiles of {self.shape.n_qubits} qubits, "
            f"estimated success {percent(self.mean)} (best place {percent(self.best)})"
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
    best, median = every[0].success, float(np.median([place.success for place in every]))

    def choose(share: float, count: int | None = None) -> list[Place]:
        good = [place for place in every if place.success >= share * best]
        return choose_places(good, calibration, idle_neighbours=rule.idle_neighbours, count=count)

    sets = []  # over some bounds from ``worst`` to ``mean``
    for share in np.linspace(rule.worst, max(rule.worst, rule.mean), STEPS):
        found = choose(share)
        while found and np.mean([place.success for place in found]) < rule.mean * best:
            found = found[:-1]
        sets.append(found)
    chosen = max(sets, key=lambda places: (len(places), sum(place.success for place in places)))
    if rule.count != AUTO:
        count = int(rule.count)
        if len(chosen) < count:
            raise InputError(
                f"tiles = {count} is more than {calibration.name} has: {len(chosen)} places "
                f"that stand apart, have at least {percent(rule.worst)} of the best place's "
                f"estimated success and {percent(rule.mean)} of it on average. Pass tiles='auto', "
                "or a TileRule with lower shares."
            )
        chosen = choose(rule.worst, count)
    return Tiling(tuple(chosen), best, median, len(every), rule, calibration, shape)


def tile_circuit(shape: Shape, places: tuple[Place, ...], n_qubits: int) -> SentCircuit:
    """Return the shape's circuit once on every place of a device of ``n_qubits``.

    The copies are the transpiled circuit itself, gate by gate: nothing is transpiled again, so
    that each tile does what the circuit alone would do there. Each has parameters and a classical
    register of its own, which are called as its place is.
    """
    module = require("qiskit.circuit", "qiskit")
    small, free = shape.circuit, list(shape.circuit.parameters)
    circuit: QuantumCircuit = module.QuantumCircuit(n_qubits)
    parameters: list[Any] = []
    for place in places:
        own = module.ParameterVector(place.name, len(free))
        parameters += own
        register = module.ClassicalRegister(small.num_clbits, place.name)
        circuit.add_register(register)
        copy = small.assign_parameters(dict(zip(free, own, strict=True)))
        circuit.compose(copy, qubits=list(place.qubits), clbits=list(register), inplace=True)
    return SentCircuit(circuit, parameters, [], [])


class TilesInUse:
    """Finds tiles for each circuit once, and leaves out those that were dropped.

    One object for all backends that share a device, so that what one drops is dropped for all.
    """

    def __init__(self, device: Any, rule: TileRule) -> None:
        read_calibration(device)  # it is better to hear now of a device that tells too little
        self._device, self.rule = device, rule
        self._found: dict[str, Tiling] = {}
        self._dropped: set[str] = set()
        self._tiled: dict[tuple[str, ...], SentCircuit] = {}

    def find(self, program: Program, circuits: SentCircuits) -> Tiling:
        """Return the tiles of a program's circuit."""
        standing = program.standing
        if standing.name not in self._found:
            circuit = circuits.of(standing).circuit
            self._found[standing.name] = find_tiles(circuit, self._device, self.rule)
        return self._found[standing.name].without(self._dropped)

    def drop(self, names: set[str]) -> None:
        """Use some tiles no more; at least one must be left of every circuit's."""
        for tiling in self._found.values():
            tiling.without(self._dropped | names)
        self._dropped |= names

    def tiled(self, program: Program, circuits: SentCircuits, n_tiles: int) -> SentCircuit:
        """Return a program's circuit on so many tiles, in the order of their names.

        Where a submission was begun with another number than there are now, before a tile was
        dropped or the device calibrated anew, the rest of it needs that number, good or not.
        """
        tiling, standing = self.find(program, circuits), circuits.of(program.standing).circuit
        if len(tiling) != n_tiles:
            rule = replace(self.rule, count=n_tiles, worst=0.0, mean=0.0)
            tiling = find_tiles(standing, self._device, rule)
        places = tuple(sorted(tiling.places, key=lambda place: place.name))
        key = (program.name, *(place.name for place in places))
        if key not in self._tiled:
            shape = shape_of(circuits.of(program).circuit, used_qubits(standing))
            self._tiled[key] = tile_circuit(shape, places, tiling.calibration.n_qubits)
        return self._tiled[key]
