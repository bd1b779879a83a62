"""The states of all data points under one circuit, in bulk."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray
from aqka.backends._bulk.gates import evaluate, primitives
from aqka.backends._bulk.layers import (
    DenseLayer,
    Layer,
    MonomialLayer,
    PhaseTable,
    TurnLayer,
    fuse_layers,
)

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

# Amplitudes worked on at a time: 2 MiB, so that the passes of one chunk stay in cache.
CHUNK_AMPLITUDES = 2**17

Step = Callable[[ComplexArray, FloatArray], ComplexArray]


def simulate(circuit: "QuantumCircuit", X: FloatArray) -> ComplexArray:
    """Return U(x)|0…0⟩ for every row x of ``X``, one state per row, Qiskit's qubit order.

    Column k of ``X`` is the k-th of ``circuit.parameters``.
    """
    n_qubits = circuit.num_qubits
    layers, angles = fuse_layers(primitives(circuit), n_qubits)
    values = evaluate(angles, list(circuit.parameters), X)
    return run_layers(layers, n_qubits, values)


def run_layers(layers: list[Layer], n_qubits: int, values: FloatArray) -> ComplexArray:
    """Return what layers make of |0…0⟩ at the angles' values, one column of them a point."""
    # Within a chunk the points are the last axis: each gate is then one long vector operation
    # per amplitude, whichever qubits it acts on.
    state = np.zeros((2**n_qubits, 1), dtype=np.complex128)
    state[0] = 1.0
    varying = next((k for k, layer in enumerate(layers) if layer.varies), len(layers))
    for step in steps_of(layers[:varying]):  # the same for every point: once is enough
        state = step(state, values[:, :1])
    return run_steps(steps_of(layers[varying:]), state, values, values.shape[1])


def run_steps(
    steps: list[Step], state: ComplexArray, values: FloatArray, n_points: int
) -> ComplexArray:
    """Return what steps make of one state, a column, at each point."""
    states = np.empty((len(state), n_points), dtype=np.complex128)
    for chunk in chunks(len(state), n_points):
        part, shown = state, values[:, chunk]
        for step in steps:
            part = step(part, shown)
        states[:, chunk] = part
    return states.T


def chunks(dimension: int, n_points: int) -> list[slice]:
    """Return the points to work on at a time."""
    size = max(8, CHUNK_AMPLITUDES // dimension)
    return [slice(start, start + size) for start in range(0, n_points, size)]


def steps_of(layers: list[Layer]) -> list[Step]:
    """Return the layers as functions; repetitions of one phase table share its exponential."""
    tables: list[PhaseTable] = []
    steps: list[Step] = []
    for layer in layers:
        if isinstance(layer, MonomialLayer):
            table = PhaseTable(layer)
            table = next((known for known in tables if known.equals(table)), table)
            tables.append(table)
            steps.append(_monomial(layer, table))
        else:
            steps.append(_dense(layer) if isinstance(layer, DenseLayer) else _turn(layer))
    return steps


def _monomial(layer: MonomialLayer, table: PhaseTable) -> Step:
    permutes = not np.array_equal(layer.source, np.arange(len(layer.source)))

    def step(state: ComplexArray, values: FloatArray) -> ComplexArray:
        state = state * table(values)
        return state[layer.source] if permutes else state

    return step


def _dense(layer: DenseLayer) -> Step:
    blocks = layer.merged_blocks()

    def step(state: ComplexArray, values: FloatArray) -> ComplexArray:
        for qubits, matrix in blocks:
            state = apply_block(state, qubits, matrix)
        return state

    return step


def apply_block(state: ComplexArray, qubits: tuple[int, ...], matrix: ComplexArray) -> ComplexArray:
    """Return what a fixed gate makes of states, one column per point."""
    size, points = state.shape
    low, count = qubits[0], len(qubits)
    if qubits == tuple(range(low, low + count)):
        stacked = state.reshape(-1, 2**count, 2**low * points)
        return _product(matrix, stacked).reshape(size, points)
    n_qubits = size.bit_length() - 1
    axes = [n_qubits - 1 - qubit for qubit in reversed(qubits)]
    tensor = np.moveaxis(state.reshape((2,) * n_qubits + (points,)), axes, range(count))
    turned = _product(matrix, tensor.reshape(2**count, -1)).reshape(tensor.shape)
    return np.moveaxis(turned, range(count), axes).reshape(size, points)


def _product(matrix: ComplexArray, states: ComplexArray) -> ComplexArray:
    if np.any(matrix.imag):
        return np.asarray(np.matmul(matrix, states))
    # Real and imaginary parts are just more columns to a real matrix: half the work.
    parts = np.ascontiguousarray(states).view(np.float64)
    return np.asarray(np.matmul(np.ascontiguousarray(matrix.real), parts)).view(np.complex128)


def _turn(layer: TurnLayer) -> Step:
    def step(state: ComplexArray, values: FloatArray) -> ComplexArray:
        points = values.shape[1]
        state = np.ascontiguousarray(np.broadcast_to(state, (len(state), points)))
        for qubit, number in layer.rotations.items():
            # Real factors, so the real and imaginary parts are just twice as many points.
            cos, sin = (np.repeat(f(values[number] / 2), 2) for f in (np.cos, np.sin))
            halves = state.view(np.float64).reshape(-1, 2, 2**qubit, 2 * points)
            turned = halves * cos
            turned[:, 0] -= halves[:, 1] * sin
            turned[:, 1] += halves[:, 0] * sin
            state = turned.reshape(-1, 2 * points).view(np.complex128)
        return state

    return step
