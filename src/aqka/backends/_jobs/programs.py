"""From plans to circuits: one program for pairs, one for points, one for reference states."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.optional import require
from aqka.backends.circuits import (
    fidelity_circuit,
    placed_like,
    point_circuit,
    reference_angles,
    reference_circuit,
    setting_angles,
)
from aqka.backends.feature_maps import check_feature_map, runs_backwards
from aqka.core.calibration import CalibrationPlan
from aqka.core.plans import Plan, ShotPlan
from aqka.core.point_plans import PointPlan
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

DEFAULT_LEVEL = 1


@dataclass(frozen=True)
class Preset:
    """A target, and how Qiskit's preset pass manager brings a circuit onto it."""

    target: Any
    optimization_level: int
    initial_layout: Sequence[int] | None


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
    if isinstance(target, transpiler.PassManager):
        manager = target
    else:
        chosen = target if isinstance(target, Preset) else Preset(target, DEFAULT_LEVEL, None)
        target = chosen.target
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
        manager = transpiler.generate_preset_pass_manager(
            optimization_level=chosen.optimization_level,
            backend=target,
            initial_layout=layout,
            seed_transpiler=0,
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


@dataclass(frozen=True, eq=False)
class SentCircuit:
    """A transpiled circuit, and which value each of its parameters takes.

    Attributes
    ----------
    circuit
        In the gates and on the qubits of the backend.
    order
        For each of its parameters, the number of the plain circuit's. A transpiler may drop
        parameters that act on nothing, and decides on their order.
    """

    circuit: "QuantumCircuit"
    order: IntArray

    @classmethod
    def of(cls, plain: "QuantumCircuit", target: Any) -> "SentCircuit":
        """Transpile a circuit for a backend."""
        circuit = transpile_circuit(plain, target)
        position = {parameter: k for k, parameter in enumerate(plain.parameters)}
        order = [position[parameter] for parameter in circuit.parameters]
        return cls(circuit, np.array(order, dtype=np.int64))


class SentCircuits:
    """The circuits of a feature map, each built and transpiled when it is first needed."""

    def __init__(self, feature_map: "QuantumCircuit", target: Any) -> None:
        self.feature_map, self._target = feature_map, target

    @cached_property
    def has_inverse(self) -> bool:
        """Whether pairs can be measured, which run the map backwards."""
        return runs_backwards(self.feature_map)

    @cached_property
    def fidelity(self) -> SentCircuit:
        """U(x)U†(y), whose all-zero outcome is a hit."""
        check_feature_map(self.feature_map)
        return SentCircuit.of(fidelity_circuit(self.feature_map), self._target)

    @cached_property
    def point(self) -> SentCircuit:
        """U(x) and a rotation of each qubit."""
        return SentCircuit.of(point_circuit(self.feature_map), self._target)

    @cached_property
    def reference(self) -> SentCircuit:
        """Reference states, on the qubits that ``point`` reads."""
        sent = SentCircuit.of(reference_circuit(self.feature_map.num_qubits), self._target)
        return replace(sent, circuit=placed_like(sent.circuit, self.point.circuit))

    def of(self, plan: Plan) -> SentCircuit:
        """Return the circuit that a plan needs."""
        if isinstance(plan, CalibrationPlan):
            return self.reference
        return self.point if isinstance(plan, PointPlan) else self.fidelity


def plan_values(
    plan: Plan, which: IntArray, rows: FloatArray, cols: FloatArray, order: IntArray
) -> FloatArray:
    """Return the values of a circuit's parameters, one row for each of ``which`` rows of a plan."""
    if isinstance(plan, PointPlan):
        angles = setting_angles(plan.letters)[plan.settings[which]]
        values = np.concatenate([rows[plan.points[which]], angles], axis=1)
    elif isinstance(plan, CalibrationPlan):
        values = reference_angles(plan.references[which])
    else:
        assert isinstance(plan, ShotPlan)
        values = np.concatenate([rows[plan.rows[which]], cols[plan.cols[which]]], axis=1)
    return np.asarray(values[:, order])
