"""The circuits that a backend sends: those of pairs, of points and of reference states."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends._jobs.transpile import transpile_circuit
from aqka.backends._points.circuit import point_circuit, setting_angles
from aqka.backends._points.reference_circuit import (
    placed_like,
    reference_angles,
    reference_circuit,
)
from aqka.backends.circuits import fidelity_circuit
from aqka.backends.map_checks import check_feature_map, runs_backwards
from aqka.core.calibration import CalibrationPlan
from aqka.core.plans import Plan, ShotPlan
from aqka.core.point_plans import PointPlan

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


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
