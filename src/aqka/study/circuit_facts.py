"""What is worth knowing of the circuit that runs the shots, as plain values for the results."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


def circuit_facts(circuit: "QuantumCircuit | None") -> dict[str, Any]:
    """Return depth, gates and places on the device of a transpiled circuit; nothing of none.

    ``places`` are the device's qubits that the circuit's own qubits lie on, in their order.
    """
    if circuit is None:
        return {}
    gates = {str(name): int(count) for name, count in circuit.count_ops().items()}
    layout = circuit.layout
    places = [] if layout is None else layout.initial_index_layout(filter_ancillas=True)
    return {
        "circuit": {
            "device_qubits": circuit.num_qubits,
            "depth": int(circuit.depth()),
            "two_qubit_gates": sum(1 for step in circuit.data if len(step.qubits) == 2),
            "gates": gates,
            "places": [int(place) for place in places],
        }
    }
