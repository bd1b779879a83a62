"""Small chips with a calibration of our own, and circuits on them."""

from qiskit.circuit import Parameter
from qiskit.circuit.library import CZGate, Measure, RZGate, SXGate, XGate
from qiskit.providers import BackendV2, Options
from qiskit.transpiler import InstructionProperties, Target

from aqka.backends._jobs.transpile import Transpiler
from aqka.backends.circuits import fidelity_circuit
from aqka.backends.feature_maps import built_in_map


class Chip(BackendV2):
    """A device that was calibrated as we like, and runs nothing."""

    max_circuits = None

    def __init__(self, n_qubits, errors, readout=0.01, name="chip"):
        super().__init__(name=name)
        self._target = Target(num_qubits=n_qubits)
        both = {}
        for (a, b), error in errors.items():
            both[a, b] = both[b, a] = InstructionProperties(error=error)
        self.target.add_instruction(CZGate(), both)
        single = {(q,): InstructionProperties(error=1e-4) for q in range(n_qubits)}
        for gate in (SXGate(), XGate()):
            self.target.add_instruction(gate, dict(single))
        self.target.add_instruction(
            RZGate(Parameter("a")), {q: InstructionProperties(error=0.0) for q in single}
        )
        self.target.add_instruction(
            Measure(), {q: InstructionProperties(error=readout) for q in single}
        )

    @property
    def target(self):
        return self._target

    @classmethod
    def _default_options(cls):
        return Options()

    def run(self, run_input, **options):
        raise NotImplementedError


def line(n_qubits, error=0.01, **rest):
    return Chip(n_qubits, {(k, k + 1): error for k in range(n_qubits - 1)}, **rest)


def grid(rows, columns, rng, **rest):
    edges = [
        (r * columns + c, r * columns + c + 1) for r in range(rows) for c in range(columns - 1)
    ]
    edges += [
        (r * columns + c, (r + 1) * columns + c) for r in range(rows - 1) for c in range(columns)
    ]
    return Chip(rows * columns, {e: float(rng.uniform(0.002, 0.05)) for e in edges}, **rest)


def pairs_circuit(n_qubits, chip):
    """The transpiled fidelity circuit of the ZZ map, whose interaction graph is a line."""
    return Transpiler(chip)(fidelity_circuit(built_in_map("zz", n_qubits)))
