"""The states of all data points under one circuit, in bulk."""

from collections.abc import Hashable, Iterable, Set
from typing import TYPE_CHECKING

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray
from aqka.backends._bulk.gates import Angle, FixedGate, Primitive, Rotation, evaluate, primitives
from aqka.backends._bulk.layers import (
    Angles,
    DenseLayer,
    Layer,
    MonomialLayer,
    PhaseTable,
    SweptAngles,
    TurnLayer,
)

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

# Amplitudes worked on at a time: 2 MiB, so that the passes of one chunk stay in cache.
CHUNK_AMPLITUDES = 2**17


def simulate(circuit: "QuantumCircuit", X: FloatArray) -> ComplexArray:
    """Return U(x)|0…0⟩ for every row x of ``X``, one state per row, Qiskit's qubit order.

    Column k of ``X`` is the k-th of ``circuit.parameters``.
    """
    layers, angles = fuse_layers(primitives(circuit), circuit.num_qubits)
    values = evaluate(angles, list(circuit.parameters), X)
    return Evolution(layers, circuit.num_qubits).states(values)


def fuse_layers(gates: Iterable[Primitive], n_qubits: int) -> tuple[list[Layer], list[Angle]]:
    """Return the layers of a circuit, and the angles whose numbers they use.

    A gate goes to the earliest layer of its kind that no later gate on its qubits has closed off,
    so the order in which a circuit happens to list commuting gates does not matter.
    """
    layers: list[Layer] = []
    angles: Angles = {}
    latest: dict[int, int] = {}  # for each qubit, the last layer that acts on it
    for gate in gates:
        earliest = max((latest.get(qubit, 0) for qubit in gate.qubits), default=0)
        for place in range(earliest, len(layers)):
            if layers[place].add(gate, angles):
                break
        else:
            place = len(layers)
            layers.append(_new_layer(gate, n_qubits))
            layers[place].add(gate, angles)
        latest.update(dict.fromkeys(gate.qubits, place))
    return layers, list(angles)


def _new_layer(gate: Primitive, n_qubits: int) -> Layer:
    if isinstance(gate, Rotation):
        return TurnLayer()
    if isinstance(gate, FixedGate) and gate.monomial is None:
        return DenseLayer()
    return MonomialLayer(n_qubits)


class Evolution:
    """Layers of gates: what they make of |0…0⟩ at the values of their angles."""

    def __init__(self, layers: list[Layer], n_qubits: int) -> None:
        tables: dict[Hashable, PhaseTable] = {}
        for layer in layers:
            if isinstance(layer, MonomialLayer):  # repetitions of one share its exponential
                layer.table = tables.setdefault(layer.phases, layer.table)
        self._layers = layers
        self._fixed = next((k for k, layer in enumerate(layers) if layer.varies), len(layers))
        self._start = np.eye(2**n_qubits, 1, dtype=np.complex128)
        for layer in layers[: self._fixed]:  # the same for every point: once is enough
            self._start = layer.forward(self._start, np.zeros((0, 1)))

    def states(self, values: FloatArray) -> ComplexArray:
        """Return the state at each column of angles, one per row, Qiskit's qubit order."""
        states = np.empty((len(self._start), values.shape[1]), dtype=np.complex128)
        for chunk in self._chunks(values):
            part, shown = self._start, values[:, chunk]
            for layer in self._layers[self._fixed :]:
                part = layer.forward(part, shown)
            states[:, chunk] = part
        return states.T

    def slopes(
        self, values: FloatArray, states: ComplexArray, cotangents: ComplexArray, wanted: Set[int]
    ) -> FloatArray:
        """Return Re⟨∂φ_i/∂a|λ_i⟩ of each angle a that is wanted, at each point."""
        slopes = np.zeros_like(values)
        for chunk in self._chunks(values):
            psi, lam = (np.ascontiguousarray(part[chunk].T) for part in (states, cotangents))
            angles = SweptAngles(values[:, chunk], slopes[:, chunk], wanted)
            for layer in reversed(self._layers):
                psi, lam = layer.back(psi, lam, angles)
        return slopes

    def _chunks(self, values: FloatArray) -> list[slice]:
        size, n_points = max(8, CHUNK_AMPLITUDES // len(self._start)), values.shape[1]
        return [slice(start, start + size) for start in range(0, n_points, size)]
