"""A circuit in the gates and on the qubits of a backend."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka._util.optional import require
from aqka.backends._tiles.places import DEAD
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import CircuitInstruction

DEFAULT_LEVEL = 1


@dataclass(frozen=True)
class Preset:
    """A target, and how Qiskit's preset pass manager brings a circuit onto it."""

    target: Any  # a backend, or basis gates where every qubit is connected to every other
    optimization_level: int = DEFAULT_LEVEL
    initial_layout: Sequence[int] | None = None


def choose_target(
    target: Any,
    optimization_level: int | None,
    initial_layout: Sequence[int] | None,
    pass_manager: Any = None,
) -> Any:
    """Return what :func:`transpile_circuit` takes, after a check of the user's choices."""
    if pass_manager is not None:
        if optimization_level is not None or initial_layout is not None:
            raise InputError(
                "pass_manager takes the place of optimization_level and initial_layout; leave them "
                "out."
            )
        if not isinstance(pass_manager, require("qiskit.transpiler", "qiskit").PassManager):
            raise InputError(
                "pass_manager must be a qiskit PassManager, such as generate_preset_pass_manager "
                f"makes; got {type(pass_manager).__name__}."
            )
        return pass_manager
    if optimization_level is None and initial_layout is None:
        return target
    level = DEFAULT_LEVEL if optimization_level is None else optimization_level
    if isinstance(level, bool) or level not in (0, 1, 2, 3):
        raise InputError(f"optimization_level must be 0, 1, 2 or 3, got {level!r}.")
    if target is None or isinstance(target, require("qiskit.transpiler", "qiskit").PassManager):
        raise InputError(
            "optimization_level and initial_layout need a backend to transpile for; the sampler "
            "shows none. Pass target_backend."
        )
    return Preset(target, level, initial_layout)


def transpile_circuit(circuit: "QuantumCircuit", target: Any) -> "QuantumCircuit":
    """Return the circuit for a backend, by its pass manager at level 1 or by the given one.

    The transpiler's seed is fixed: a backend made again must have the same circuit, or on a
    simulator the same seed and tag would not give the same hits.
    """
    if target is None:
        return circuit
    transpiler = require("qiskit.transpiler", "qiskit")
    isa: QuantumCircuit
    if isinstance(target, transpiler.PassManager):
        isa = target.run(circuit)
    else:
        isa = _by_preset(circuit, target if isinstance(target, Preset) else Preset(target))
    # It has no effect on outcomes, and as an expression of all parameters it slows binding.
    isa.global_phase = 0
    return isa


def _by_preset(circuit: "QuantumCircuit", chosen: Preset) -> "QuantumCircuit":
    """Return the circuit for a target, off its dead couplers where that needs no routing."""
    target, make = (
        chosen.target,
        require("qiskit.transpiler", "qiskit").generate_preset_pass_manager,
    )
    available = getattr(target, "num_qubits", None)
    if available is not None and available < circuit.num_qubits:
        name = getattr(target, "name", type(target).__name__)
        raise InputError(
            f"feature_map needs {circuit.num_qubits} qubits but {name} has {available}; "
            "reduce the features or choose a larger backend."
        )
    _check_connected(circuit, target)
    layout = None if chosen.initial_layout is None else list(chosen.initial_layout)
    if layout is not None:
        _check_layout(layout, circuit.num_qubits, available)
    on = {"basis_gates" if isinstance(target, list) else "backend": target, "seed_transpiler": 0}
    isa: QuantumCircuit = make(chosen.optimization_level, initial_layout=layout, **on).run(circuit)
    chip = getattr(target, "target", None)
    dead = _dead_couplers(chip)
    if layout is not None or not dead & _uses(isa):
        return isa
    alive = _without(chip, dead)
    if _largest_piece(alive.build_coupling_map()) < circuit.num_qubits:
        return isa
    # Level 2 looks longer for a place without routing.
    found = make(2, target=alive, seed_transpiler=0).run(circuit).layout
    layout = found.initial_index_layout(filter_ancillas=True)
    other: QuantumCircuit = make(chosen.optimization_level, initial_layout=layout, **on).run(
        circuit
    )
    routed = other.num_nonlocal_gates() > isa.num_nonlocal_gates()
    return isa if routed or dead & _uses(other) else other


Use = tuple[str, tuple[int, ...]]
"""A gate, and the qubits that it acts on."""


def _uses(isa: "QuantumCircuit") -> set[Use]:
    return {(s.name, tuple(isa.find_bit(qubit).index for qubit in s.qubits)) for s in isa.data}


def _dead_couplers(chip: Any) -> set[Use]:
    """Return the two-qubit gates of a target that always err."""
    if chip is None:
        return set()
    return {
        (name, qubits)
        for name in chip.operation_names
        for qubits, known in (chip[name] or {}).items()
        if qubits is not None and len(qubits) == 2 and (getattr(known, "error", 0) or 0) >= DEAD
    }


def _without(chip: Any, dead: set[Use]) -> Any:
    """Return a target without some of its gates, and without control flow."""
    alive = require("qiskit.transpiler", "qiskit").Target(num_qubits=chip.num_qubits)
    for name in chip.operation_names:
        places = (chip[name] or {}).items()
        kept = {q: known for q, known in places if q is not None and (name, q) not in dead}
        if kept:
            alive.add_instruction(chip.operation_from_name(name), kept, name=name)
    return alive


FRACTIONAL = "rzz"


def in_fractional_gates(circuit: "QuantumCircuit") -> "tuple[QuantumCircuit, list[Any], list[Any]]":
    """Return a circuit with RZZ for CX–phase–CX, within the angles from 0 to π/2 that Heron has.

    Each RZZ is turned about Z and X by two angles of its own, 0 or π, which with its third replace
    one by any angle; :func:`fractional_angles` has their values. These parameters, three a gate,
    and the angles that they stand for are returned with it.
    """
    module = require("qiskit.circuit", "qiskit")
    while others := {
        step.name
        for step in circuit.data
        if len(step.qubits) > 1
        and step.name not in (FRACTIONAL, "cx", "cz", "swap", "barrier")
        and getattr(step.operation, "definition", None) is not None
    }:  # the transpiler would make RZZ of any angle from them
        circuit = circuit.decompose(sorted(others))
    steps = _with_rzz(circuit)
    angles = [step.operation.params[0] for step in steps if step.name == FRACTIONAL]
    own = iter(vector := module.ParameterVector("zzz", 3 * len(angles)))
    turned: QuantumCircuit = circuit.copy_empty_like()
    turned.global_phase = 0
    for step in steps:
        if step.name != FRACTIONAL:
            turned.append(step)
            continue
        about_z, about_x, angle = next(own), next(own), next(own)
        turned.rz(about_z, step.qubits)
        turned.rx(about_x, step.qubits[0])
        turned.rzz(angle, *step.qubits)
        turned.rx(about_x, step.qubits[0])
    return turned, list(vector), angles


def fractional_angles(angles: FloatArray) -> FloatArray:
    """Return what RZZ gates of any angles are on a Heron, three angles for each.

    Examples
    --------
    >>> import numpy as np
    >>> fractional_angles(np.array([[1.0, 3.0]])).round(2)
    array([[0.  , 0.  , 1.  , 3.14, 3.14, 0.14]])
    """
    about_z = np.where((angles + np.pi / 2) % (2 * np.pi) >= np.pi, np.pi, 0.0)
    about_x = np.where(angles % np.pi >= np.pi / 2, np.pi, 0.0)
    folded = np.pi / 2 - np.abs(angles % np.pi - np.pi / 2)
    return np.stack([about_z, about_x, folded], axis=2).reshape(len(angles), -1)


def _with_rzz(circuit: "QuantumCircuit") -> "list[CircuitInstruction]":
    """Return the gates of a circuit, each CX–phase–CX as the RZZ that it is but for a phase."""
    gate = require("qiskit.circuit.library", "qiskit").RZZGate
    found: dict[int, CircuitInstruction] = {}
    on: dict[Any, list[int]] = {qubit: [] for qubit in circuit.qubits}
    for number, step in enumerate(circuit.data):
        if step.name == "cx" and len(on[step.qubits[1]]) > 1:
            control, target = step.qubits
            first, middle = on[target][-2:]
            alike = found[first].name == "cx" and found[first].qubits == step.qubits
            if alike and on[control][-1] == first and found[middle].name in ("p", "rz"):
                found[middle] = step.replace(operation=gate(*found[middle].operation.params))
                del found[first], on[target][-2], on[control][-1]
                on[control].append(middle)
                continue
        found[number] = step
        for qubit in step.qubits:
            on[qubit].append(number)
    return [found[number] for number in sorted(found)]


def _check_connected(circuit: "QuantumCircuit", device: Any) -> None:
    """Refuse a device whose connected pieces are all too small for the circuit."""
    target = getattr(device, "target", None)
    couplers = None if target is None else target.build_coupling_map()
    if couplers is None or couplers.is_connected():
        return
    largest = _largest_piece(couplers)
    if largest < circuit.num_qubits:
        name = getattr(device, "name", type(device).__name__)
        raise InputError(
            f"feature_map needs {circuit.num_qubits} qubits, but the coupling map of {name} is not "
            f"connected: its largest piece has {largest} qubits. Reduce the features, or choose a "
            "device whose couplers reach further."
        )


def _largest_piece(couplers: Any) -> int:
    return max(int(piece.size()) for piece in couplers.connected_components())


def _check_layout(layout: list[Any], n_qubits: int, available: int | None) -> None:
    whole = all(isinstance(qubit, int) and not isinstance(qubit, bool) for qubit in layout)
    largest = None if available is None else available - 1
    if (
        not whole
        or len(set(layout)) != len(layout)
        or len(layout) != n_qubits
        or min(layout, default=0) < 0
        or (largest is not None and max(layout, default=0) > largest)
    ):
        raise InputError(
            f"initial_layout must name {n_qubits} different qubits of the device"
            f"{'' if largest is None else f', from 0 to {largest}'}, one for each of the "
            f"circuit's; got {layout}."
        )
