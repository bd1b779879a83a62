"""One circuit with a copy of a small one on every tile."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.optional import require
from aqka.backends._tiles.places import Place
from aqka.backends._tiles.shape import Shape

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


@dataclass(frozen=True)
class TiledCircuit:
    """A circuit whose tiles have parameters and a classical register of their own.

    Attributes
    ----------
    circuit
        The circuit on the device's qubits; its registers are called as their places are.
    columns
        For each of ``circuit.parameters``, its number among those of all tiles, tile by tile.
    """

    circuit: "QuantumCircuit"
    columns: IntArray

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
