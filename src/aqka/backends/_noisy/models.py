"""Noise models: those given, those of a device, and what they do at each instruction.

Aer builds the noise of all 156 qubits of a Heron and reads it anew in every run, 4 to 9 s each.
For the few qubits in use it takes milliseconds, and the outcomes have the same distribution.
"""

import json
from collections.abc import Callable
from copy import copy
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray, as_fraction, text_digest
from aqka._util.optional import require
from aqka.backends._noisy.pauli import transfer_matrix, zero_outcome
from aqka.backends.circuits import placed_steps
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import Instruction
    from qiskit.transpiler import Target
    from qiskit_aer.noise import NoiseModel

# The gates that Aer's density matrices know, so that a feature map keeps its own gates.
_ONE_QUBIT = [
    *("h", "s", "sdg", "sx", "sxdg", "t", "tdg", "x", "y", "z"),
    *("p", "r", "rx", "ry", "rz", "u", "u1", "u2", "u3"),
]
_TWO_QUBIT = ["cp", "cx", "cy", "cz", "ecr", "rxx", "ryy", "rzx", "rzz", "swap"]


def depolarising_noise(
    one_qubit: float = 0.01, two_qubit: float = 0.04, readout: float = 0.0
) -> "NoiseModel":
    """Return depolarising noise after every gate; the defaults are the paper's (Appendix C).

    The rates are Qiskit's λ in ρ → (1 - λ) ρ + λ I/d. All one- and two-qubit gates of Aer's
    density matrices are basis gates and carry the noise, rz and p included, which are virtual
    on IBM's devices. So a feature map runs with its own gates, the ZZ map with h, p and cx.

    Parameters
    ----------
    one_qubit, two_qubit
        Depolarising rates, within [0, 1].
    readout
        Probability that a bit is read wrongly.
    """
    noise = require("qiskit_aer.noise", "aer")
    as_fraction(one_qubit, "one_qubit")
    as_fraction(two_qubit, "two_qubit")
    as_fraction(readout, "readout")
    model: NoiseModel = noise.NoiseModel(basis_gates=[*_ONE_QUBIT, *_TWO_QUBIT])
    model.add_all_qubit_quantum_error(noise.depolarizing_error(one_qubit, 1), _ONE_QUBIT)
    model.add_all_qubit_quantum_error(noise.depolarizing_error(two_qubit, 2), _TWO_QUBIT)
    if readout:
        wrong = noise.ReadoutError([[1 - readout, readout], [readout, 1 - readout]])
        model.add_all_qubit_readout_error(wrong)
    return model


SIMULATED_QUBITS = 25  # 2^25 amplitudes take half a gigabyte
DENSITY_MATRIX_QUBITS = 10  # up to here the exact noisy state is faster than trajectories


def used_qubits(circuit: "QuantumCircuit") -> list[int]:
    """Return the qubits that anything but a barrier touches, in ascending order."""
    steps = placed_steps(circuit)
    return sorted({q for qubits, step in steps if step.name != "barrier" for q in qubits})


def noise_on_circuit(noise: Any, circuit: "QuantumCircuit") -> "NoiseModel":
    """Return a noise model of what a circuit uses, which was transpiled for it.

    ``noise`` is a ``NoiseModel``, an ``AerSimulator`` that carries one, or a device, whose noise
    Aer derives from its calibration.
    """
    aer = require("qiskit_aer", "aer")
    noise_module = require("qiskit_aer.noise", "aer")
    used = set(used_qubits(circuit))
    if isinstance(noise, aer.AerSimulator):
        # It carries its own model; reading its target as a device's would lose the noise.
        noise = noise.options.noise_model or noise_module.NoiseModel()
    if isinstance(noise, noise_module.NoiseModel):
        part = copy(noise)  # without the errors of other qubits
        part._local_quantum_errors = {
            name: {where: error for where, error in errors.items() if used.issuperset(where)}
            for name, errors in noise._local_quantum_errors.items()
        }
        part._local_readout_errors = {
            # One that is correlated with other qubits stays, to be seen and refused.
            where: error
            for where, error in noise._local_readout_errors.items()
            if used.intersection(where)
        }
        return part
    uses: set[Any] = {(step.name, qubits) for qubits, step in placed_steps(circuit)}
    uses |= {("measure", (qubit,)) for qubit in used}
    whole: Target = noise.target
    facts = {"dt": whole.dt, "qubit_properties": whole.qubit_properties}
    target = part_of_target(whole, uses.__contains__, **facts)
    # What Aer reads of a backend, and no more.
    device = SimpleNamespace(
        version=2, target=target, operation_names=list(target.operation_names), dt=target.dt
    )
    model: NoiseModel = noise_module.NoiseModel.from_backend(device)
    return model


def noisy_simulator(device: Any, circuit: "QuantumCircuit") -> Any:
    """Return an Aer simulator with a device's noise, made for runs of one circuit."""
    aer = require("qiskit_aer", "aer")
    n_qubits = len(used_qubits(circuit))
    if n_qubits > SIMULATED_QUBITS:
        raise InputError(
            f"{device.name} is simulated in this process, on at most {SIMULATED_QUBITS} qubits; "
            f"the circuit uses {n_qubits} with its tiles or routing. Take tiles = 1 and a line or "
            "lattice of the device, fewer qubits, or the real device."
        )
    exact = n_qubits <= DENSITY_MATRIX_QUBITS
    return aer.AerSimulator(
        method="density_matrix" if exact else "automatic",
        noise_model=noise_on_circuit(device, circuit),
        runtime_parameter_bind_enable=True,  # a circuit a row would cost more than its simulation
        max_parallel_threads=1,  # Aer's threads wait by spinning, on a busy machine for long
    )


def part_of_target(target: "Target", keeps: Callable[[Any], bool], **facts: Any) -> "Target":
    """Return a target with the instructions that are kept, by their name and qubits.

    None stands for the qubits of one that is on all alike.
    """
    part: Target = require("qiskit.transpiler", "qiskit").Target(
        num_qubits=target.num_qubits, **facts
    )
    for name in target.operation_names:
        places = (target[name] or {None: None}).items()
        kept = {qubits: known for qubits, known in places if keeps((name, qubits))}
        if kept:
            on = None if None in kept else kept
            part.add_instruction(target.operation_from_name(name), on, name=name)
    return part


def noise_digest(model: "NoiseModel") -> str:
    """Return a short digest of a model's errors, the same in every process.

    Not of its text, which names no rates and lists a set, nor with the identifiers that Aer
    draws for the errors.
    """
    errors = []
    for error in model.to_dict(serializable=True)["errors"]:
        named = {key: value for key, value in error.items() if key != "id"}
        # Rounded, since another processor computes other last digits.
        rounded = json.loads(
            json.dumps(named), parse_float=lambda text: round(float(text), 9) + 0.0
        )
        errors.append(json.dumps(rounded, sort_keys=True))
    return text_digest("\n".join(sorted(errors)))


class NoiseTable:
    """What a noise model does at an instruction, as Aer itself looks it up.

    A gate with a label is looked up by the label alone, and an error given for these very
    qubits replaces the one for all qubits.
    """

    def __init__(self, model: "NoiseModel") -> None:
        self._model = model  # which has no public reader of single errors
        correlated = next(
            (qubits for qubits in model._local_readout_errors if len(qubits) > 1), None
        )
        if correlated is not None:
            raise InputError(
                f"noise holds a correlated readout error on qubits {correlated}, which Aer ignores "
                "when qubits are measured one by one; give one per qubit."
            )
        # By the error's own identity: one error often serves many gates and qubits.
        self._known: dict[int, FloatArray] = {}

    def error(self, operation: "Instruction", qubits: tuple[int, ...]) -> FloatArray | None:
        """Return the transfer matrix of the error at an instruction, or None if it has none."""
        label = getattr(operation, "label", None)
        name = operation.name if operation.name == "measure" else label or operation.name
        everywhere = self._model._default_quantum_errors.get(name)
        error = self._model._local_quantum_errors.get(name, {}).get(qubits, everywhere)
        if error is None:
            return None
        if error.num_qubits != len(qubits):
            raise InputError(
                f"noise holds an error on {error.num_qubits} qubits for the instruction {name!r} "
                f"on qubits {qubits}; errors must act on the instruction's own qubits."
            )
        if id(error) not in self._known:
            self._known[id(error)] = transfer_matrix(error.to_quantumchannel().data)
        return self._known[id(error)]

    def zero_outcome(self, qubit: int) -> FloatArray:
        """Return the operator of reading 0 from a qubit, readout error included."""
        default = self._model._default_readout_error
        error = self._model._local_readout_errors.get((qubit,), default)
        if error is None:
            return zero_outcome(1.0, 0.0)
        chances = np.asarray(error.probabilities)
        if chances.shape != (2, 2):
            raise InputError(
                f"noise holds a readout error of shape {chances.shape} for single qubits; "
                "give a 2x2 matrix."
            )
        return zero_outcome(chances[0, 0], chances[1, 0])


# A device's basis also names these, which the transpiler does not take as basis gates.
_NOT_GATES = {"measure", "reset", "delay", "if_else", "for_loop", "while_loop", "switch_case"}


def target_of(noise: Any) -> Any:
    """Return what a circuit is transpiled for: a noise model's basis gates, or the device."""
    noise_module = require("qiskit_aer.noise", "aer")
    if isinstance(noise, noise_module.NoiseModel):
        return [gate for gate in noise.basis_gates if gate not in _NOT_GATES]
    if not isinstance(noise, require("qiskit.providers", "aer").BackendV2):
        raise InputError(
            "noise must be a qiskit_aer NoiseModel or a backend such as FakeFez(), "
            f"got {type(noise).__name__}; depolarising_noise() gives the paper's model."
        )
    return noise
