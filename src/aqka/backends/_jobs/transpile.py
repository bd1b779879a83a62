"""A circuit in the gates and on the qubits of a backend."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka._util.optional import require
from aqka.backends._noisy.models import part_of_target
from aqka.backends._tiles.places import DEAD, Use, gate_errors
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import CircuitInstruction

if hasattr(os, "register_at_fork"):  # Qiskit's threads do not survive a fork: a child uses none
    os.register_at_fork(after_in_child=lambda: os.environ.update(QISKIT_IN_PARALLEL="TRUE"))


def is_pass_manager(given: Any) -> bool:
    return isinstance(given, require("qiskit.transpiler", "qiskit").PassManager)


@dataclass(frozen=True)
class Transpiler:
    """Brings circuits onto a target, by Qiskit's preset pass manager or by one of the user's."""

    # A backend; basis gates where every qubit is connected to every other; a pass manager; or None,
    # which leaves circuits as they are.
    target: Any = None
    optimization_level: int | None = None  # None is 1
    initial_layout: Sequence[int] | None = None

    def __post_init__(self) -> None:
        level = self.optimization_level
        if level is None and self.initial_layout is None:
            return
        if level is not None and (isinstance(level, bool) or level not in (0, 1, 2, 3)):
            raise InputError(f"optimization_level must be 0, 1, 2 or 3, got {level!r}.")
        if is_pass_manager(self.target):
            raise InputError(
                "pass_manager takes the place of optimization_level and initial_layout; leave them "
                "out."
            )
        if self.target is None:
            raise InputError(
                "optimization_level and initial_layout need a backend to transpile for; the "
                "sampler shows none. Pass target_backend."
            )

    def __call__(self, circuit: "QuantumCircuit") -> "QuantumCircuit":
        """Return a circuit in the gates and on the qubits of the target."""
        if self.target is None:
            return circuit
        manager = self.target if is_pass_manager(self.target) else self._preset(circuit.num_qubits)
        isa: QuantumCircuit = manager.run(circuit)
        # It has no effect on outcomes, and as an expression of all parameters it slows binding.
        isa.global_phase = 0
        chip = getattr(self.target, "target", None)
        errors = {} if chip is None or self.initial_layout is not None else gate_errors(chip)
        dead = {use for use, error in errors.items() if len(use[1]) == 2 and error >= DEAD}
        return self._off(dead, circuit, isa) if dead & _uses(isa) else isa

    def _off(
        self, dead: set[Use], circuit: "QuantumCircuit", isa: "QuantumCircuit"
    ) -> "QuantumCircuit":
        """Return the circuit off dead couplers where it stands there without routing."""
        alive = part_of_target(self.target.target, lambda use: use not in dead)
        couplers = alive.build_coupling_map()
        pieces = [] if couplers is None else couplers.connected_components()
        if max((piece.size() for piece in pieces), default=0) < circuit.num_qubits:
            return isa
        # Level 2 looks longer for such a place than level 1.
        make = require("qiskit.transpiler", "qiskit").generate_preset_pass_manager
        manager = make(2, target=alive, seed_transpiler=0)
        layout = manager.run(circuit).layout.initial_index_layout(filter_ancillas=True)
        other = replace(self, initial_layout=layout)(circuit)
        routed = other.num_nonlocal_gates() > isa.num_nonlocal_gates()
        return isa if routed or dead & _uses(other) else other

    def check(self, n_qubits: int) -> None:
        """Refuse a target whose connected pieces are all too small for a circuit, or its layout."""
        available = getattr(self.target, "num_qubits", None)
        name = getattr(self.target, "name", type(self.target).__name__)
        target = getattr(self.target, "target", None)
        couplers = None if target is None else target.build_coupling_map()
        largest, problem = available, f"{name} has {available}"
        if couplers is not None and not couplers.is_connected():
            largest = max(piece.size() for piece in couplers.connected_components())
            problem = f"{name} is not connected: its largest piece has {largest} qubits"
        if largest is not None and largest < n_qubits:
            raise InputError(
                f"feature_map needs {n_qubits} qubits but {problem}; reduce the features or choose "
                "a larger device."
            )
        if self.initial_layout is not None:
            _check_layout(list(self.initial_layout), n_qubits, available)

    def _preset(self, n_qubits: int) -> Any:
        """Return Qiskit's pass manager for circuits of so many qubits, or refuse them."""
        self.check(n_qubits)
        layout = None if self.initial_layout is None else list(self.initial_layout)
        # The seed is fixed: a backend made again must have the same circuit, or on a simulator the
        # same seed and tag would not give the same hits.
        return require("qiskit.transpiler", "qiskit").generate_preset_pass_manager(
            optimization_level=1 if self.optimization_level is None else self.optimization_level,
            initial_layout=layout,
            seed_transpiler=0,
            **{"basis_gates" if isinstance(self.target, list) else "backend": self.target},
        )


def _uses(isa: "QuantumCircuit") -> set[Use]:
    return {(s.name, tuple(isa.find_bit(qubit).index for qubit in s.qubits)) for s in isa.data}


def _check_layout(layout: list[Any], n_qubits: int, available: int | None) -> None:
    whole = all(isinstance(qubit, int) and not isinstance(qubit, bool) for qubit in layout)
    end = float("inf") if available is None else available
    inside = whole and all(0 <= qubit < end for qubit in layout)
    if not inside or len(set(layout)) != len(layout) or len(layout) != n_qubits:
        raise InputError(
            f"initial_layout must name {n_qubits} different qubits of the device"
            f"{'' if available is None else f', from 0 to {available - 1}'}, one for each of the "
            f"circuit's; got {layout}."
        )


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
