"""The tiles that a backend uses: their places, and the circuit with a copy on each."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.optional import require
from aqka.backends._noisy.models import used_qubits
from aqka.backends._programs import Program, SentCircuits
from aqka.backends._tiles.places import Place, Shape, shape_of
from aqka.backends.tiles import TileRule, Tiling, find_tiles

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


@dataclass(frozen=True)
class TiledCircuit:
    """A circuit whose tiles have parameters and a classical register of their own."""

    circuit: "QuantumCircuit"  # on the device's qubits; registers are called as their places are
    columns: IntArray  # for each of its parameters, the number among those of all tiles

    def flat(self, values: FloatArray) -> FloatArray:
        """Return values of rows by tiles by parameters in the order of ``circuit.parameters``."""
        return np.asarray(values.reshape(len(values), -1)[:, self.columns])


def tile_circuit(shape: Shape, places: tuple[Place, ...], n_qubits: int) -> TiledCircuit:
    """Return the shape's circuit once on every place of a device of ``n_qubits``.

    The copies are the transpiled circuit itself, gate by gate: nothing is transpiled again, so
    that each tile does what the circuit alone would do there.
    """
    module = require("qiskit.circuit", "qiskit")
    small, free = shape.circuit, list(shape.circuit.parameters)
    circuit: QuantumCircuit = module.QuantumCircuit(n_qubits)
    number = {}
    for k, place in enumerate(places):
        own = module.ParameterVector(place.name, len(free))
        number.update({parameter: k * len(free) + j for j, parameter in enumerate(own)})
        register = module.ClassicalRegister(small.num_clbits, place.name)
        circuit.add_register(register)
        copy = small.assign_parameters(dict(zip(free, own, strict=True)))
        circuit.compose(copy, qubits=list(place.qubits), clbits=list(register), inplace=True)
    columns = np.array([number[parameter] for parameter in circuit.parameters], dtype=np.int64)
    return TiledCircuit(circuit, columns)


class TilesInUse:
    """Finds tiles for each circuit once, and leaves out those that were dropped.

    One object for all backends that share a device, so that what one drops is dropped for all.
    """

    def __init__(self, device: Any, rule: TileRule) -> None:
        self._device, self.rule = device, rule
        self._found: dict[str, Tiling] = {}
        self._dropped: set[str] = set()
        self._tiled: dict[tuple[str, ...], TiledCircuit] = {}

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

    def tiled(self, program: Program, circuits: SentCircuits, n_tiles: int) -> TiledCircuit:
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
