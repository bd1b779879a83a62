"""What a transpiled circuit needs of a chip: which gates on which of its qubits, how often."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqka._util.optional import require
from aqka.backends._noisy.device_noise import used_qubits
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

# A gate and the qubits of the shape it acts on.
Use = tuple[str, tuple[int, ...]]


@dataclass(frozen=True)
class Shape:
    """A transpiled circuit without its place: qubits 0 to m - 1 and what is done on them.

    Attributes
    ----------
    circuit
        The circuit in the device's gates, on as many qubits as it uses.
    uses
        How often each gate acts on which qubits, measurements included.
    """

    circuit: "QuantumCircuit"
    uses: dict[Use, int]

    @property
    def n_qubits(self) -> int:
        """Qubits in use, those of routing included."""
        return int(self.circuit.num_qubits)

    @property
    def couplings(self) -> set[tuple[int, int]]:
        """The interaction graph: pairs of qubits with a gate on both, in the gate's direction."""
        return {(qubits[0], qubits[1]) for _, qubits in self.uses if len(qubits) == 2}


def shape_of(isa: "QuantumCircuit", used: list[int] | None = None) -> Shape:
    """Return the shape of a circuit that was transpiled for a device.

    Routing is part of it: a circuit that needs a qubit in between has it in its shape. ``used`` are
    its qubits in the order of the shape's; None for those that it uses.
    """
    qiskit = require("qiskit", "qiskit")
    used = used_qubits(isa) if used is None else used
    place = {isa.qubits[qubit]: k for k, qubit in enumerate(used)}
    small: QuantumCircuit = qiskit.QuantumCircuit(len(used), isa.num_clbits)
    uses: Counter[Use] = Counter()
    for step in isa.data:
        qubits = tuple(place[qubit] for qubit in step.qubits if qubit in place)
        if step.name == "barrier":
            small.barrier(qubits, label=step.operation.label)
            continue
        if len(qubits) > 2:
            raise InputError(
                f"feature_map holds the gate {step.name!r} on {len(qubits)} qubits after "
                "transpiling; tiles need gates on one or two. Pass tiles=1."
            )
        small.append(step.operation, qubits, [isa.find_bit(bit).index for bit in step.clbits])
        if step.name != "delay":
            uses[step.name, qubits] += 1
    return Shape(small, dict(uses))
