"""A circuit in the gates and on the qubits of a backend."""

from typing import TYPE_CHECKING, Any

from aqka._util.optional import require
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


def transpile_circuit(circuit: "QuantumCircuit", target: Any) -> "QuantumCircuit":
    """Return the circuit for a backend, by its pass manager at level 1 or by the given one.

    The transpiler's seed is fixed: a backend made again must have the same circuit, or on a
    simulator the same seed and tag would not give the same hits.
    """
    if target is None:
        return circuit
    transpiler = require("qiskit.transpiler", "qiskit")
    if isinstance(target, transpiler.PassManager):
        manager = target
    else:
        available = getattr(target, "num_qubits", None)
        if available is not None and available < circuit.num_qubits:
            name = getattr(target, "name", type(target).__name__)
            raise InputError(
                f"feature_map needs {circuit.num_qubits} qubits but {name} has {available}; "
                "reduce the features or choose a larger backend."
            )
        _check_connected(circuit, target)
        manager = transpiler.generate_preset_pass_manager(
            optimization_level=1, backend=target, seed_transpiler=0
        )
    isa: QuantumCircuit = manager.run(circuit)
    # It has no effect on outcomes, and as an expression of all parameters it slows binding.
    isa.global_phase = 0
    return isa


def _check_connected(circuit: "QuantumCircuit", device: Any) -> None:
    """Refuse a device that falls into pieces, none of which can hold the circuit."""
    target = getattr(device, "target", None)
    couplers = None if target is None else target.build_coupling_map()
    if couplers is None or couplers.is_connected():
        return
    largest = max(piece.size() for piece in couplers.connected_components())
    if largest < circuit.num_qubits:
        name = getattr(device, "name", type(device).__name__)
        raise InputError(
            f"feature_map needs {circuit.num_qubits} qubits, but the coupling map of {name} is not "
            f"connected: its largest piece has {largest} qubits. Reduce the features, or choose a "
            "device whose couplers reach further."
        )
