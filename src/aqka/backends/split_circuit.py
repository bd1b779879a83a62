"""A circuit that falls into parts which share no qubit, and each part by itself.

Without crosstalk the parts are independent, so that simulating each on its own is exact, and a
chip full of small circuits costs what the small circuits cost.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.optional import require
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


@dataclass(frozen=True)
class CircuitPart:
    """What is measured into one classical register.

    Attributes
    ----------
    name
        The register's name.
    circuit
        The part's circuit; its qubits keep their numbers.
    columns
        For each of its parameters, the number among those of the whole circuit.
    """

    name: str
    circuit: "QuantumCircuit"
    columns: IntArray


Sampler = Callable[[CircuitPart, FloatArray, int], NDArray[np.uint8]]
"""From a part, rows of values and shots to packed bits: rows by shots by bytes."""


def sample_part(
    part: CircuitPart, values: FloatArray, shots: int, sampler: Sampler
) -> NDArray[np.uint8]:
    """Return the outcomes of a part for rows of values of the whole circuit.

    Equal rows are copies of one request: they are simulated once with all their shots, which costs
    one row, and the shots are dealt out to them.
    """
    own = np.ascontiguousarray(values[:, part.columns])
    distinct, which, copies = np.unique(own, axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    first = np.cumsum(copies) - copies
    number = np.empty(len(own), dtype=np.int64)  # of each row among its copies
    number[order] = np.arange(len(own)) - first[which[order]]
    outcomes = sampler(part, distinct, shots * int(copies.max()))
    return np.asarray(outcomes[which[:, None], number[:, None] * shots + np.arange(shots)])


def tiled_result(outcomes: dict[str, NDArray[np.uint8]], parts: list[CircuitPart]) -> Any:
    """Return the outcomes of all parts as a sampler's result, a register for each."""
    containers = require("qiskit.primitives.containers", "qiskit")
    bits = {
        part.name: containers.BitArray(outcomes[part.name], part.circuit.num_clbits)
        for part in parts
    }
    rows = next(iter(outcomes.values())).shape[:1]
    data = containers.DataBin(**bits, shape=rows)
    return containers.PrimitiveResult([containers.SamplerPubResult(data)])


def split_circuit(circuit: "QuantumCircuit") -> list[CircuitPart]:
    """Return the parts of a circuit, one for each classical register.

    Two registers that are read from qubits with gates between them are refused: they are not
    independent.
    """
    qiskit = require("qiskit", "qiskit")
    if len(circuit.cregs) == 1:
        whole = np.arange(circuit.num_parameters)
        return [CircuitPart(circuit.cregs[0].name, circuit, whole)]
    piece = _pieces(circuit)
    owner = _owners(circuit, piece)
    parts = {
        register.name: qiskit.QuantumCircuit(circuit.qubits, register) for register in circuit.cregs
    }
    for step in circuit.data:
        for name in {owner[piece[qubit]] for qubit in step.qubits if piece[qubit] in owner}:
            # Only a barrier can reach over several parts, and it is a barrier in each of them.
            own = [qubit for qubit in step.qubits if owner.get(piece[qubit]) == name]
            operation = step.operation
            if step.name == "barrier" and len(own) < len(step.qubits):
                operation = require("qiskit.circuit.library", "qiskit").Barrier(len(own))
            parts[name].append(operation, own, step.clbits)
    number = {parameter: k for k, parameter in enumerate(circuit.parameters)}
    return [
        CircuitPart(name, part, np.array([number[p] for p in part.parameters], dtype=np.int64))
        for name, part in parts.items()
    ]


def _pieces(circuit: "QuantumCircuit") -> dict[Any, int]:
    """Return for each qubit the connected piece of the circuit that it is in."""
    rustworkx = require("rustworkx", "qiskit")
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(circuit.num_qubits))
    for step in circuit.data:
        if step.name != "barrier" and len(step.qubits) > 1:
            first, *others = (circuit.find_bit(qubit).index for qubit in step.qubits)
            graph.add_edges_from_no_data([(first, other) for other in others])
    return {
        circuit.qubits[qubit]: k
        for k, piece in enumerate(rustworkx.connected_components(graph))
        for qubit in piece
    }


def _owners(circuit: "QuantumCircuit", piece: dict[Any, int]) -> dict[int, str]:
    """Return the register that each piece is measured into."""
    owner: dict[int, str] = {}
    for step in circuit.data:
        for bit in step.clbits:
            name = circuit.find_bit(bit).registers[0][0].name
            known = owner.setdefault(piece[step.qubits[0]], name)
            if known != name:
                raise InputError(
                    f"circuit must have no gates between qubits of two registers, got {known!r} "
                    f"and {name!r}; measure them into one."
                )
    return owner
