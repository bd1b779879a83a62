"""How each kind of plan becomes circuits: pairs, points and reference states."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends.circuits import (
    fidelity_circuit,
    placed_like,
    point_circuit,
    reference_angles,
    reference_circuit,
    setting_angles,
)
from aqka.backends.feature_maps import check_feature_map
from aqka.core.calibration import CalibrationPlan
from aqka.core.plans import Plan, ShotPlan
from aqka.core.point_plans import PointPlan

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


class Program(ABC):
    """How the plans of one kind run: one circuit for all rows, and the values of each row.

    Attributes
    ----------
    name
        What the kind is called.
    reads_all_qubits
        Whether every outcome counts, not only the all-zero one, which is a hit.
    watched
        Whether sentinels may be measured beside it.
    on_all_tiles
        Whether each row must be measured on nearly all tiles.
    """

    name: str
    reads_all_qubits = True
    watched = False
    on_all_tiles = False

    @abstractmethod
    def circuit(self, feature_map: "QuantumCircuit") -> "QuantumCircuit":
        """Return the circuit before it is transpiled."""

    @abstractmethod
    def values(
        self, plan: Any, which: IntArray, rows: FloatArray, columns: FloatArray
    ) -> FloatArray:
        """Return the values of the circuit's parameters for ``which`` rows of a plan.

        ``rows`` and ``columns`` are the points that the plan names.
        """

    @property
    def standing(self) -> "Program":
        """The program whose circuit decides on which qubits this one runs."""
        return self

    def identity(self, plan: Any) -> list[IntArray]:
        """Return what the rows of a plan measure, as arrays."""
        return [getattr(plan, name) for name in plan.ROWS]


class PairProgram(Program):
    """U(x)U†(y), whose all-zero outcome is a hit."""

    name = "pairs"
    reads_all_qubits = False
    watched = True

    def circuit(self, feature_map: "QuantumCircuit") -> "QuantumCircuit":
        """Return the fidelity test of a map that has an inverse."""
        check_feature_map(feature_map)
        return fidelity_circuit(feature_map)

    def values(
        self, plan: ShotPlan, which: IntArray, rows: FloatArray, columns: FloatArray
    ) -> FloatArray:
        """Return the data of both points."""
        return np.concatenate([rows[plan.rows[which]], columns[plan.cols[which]]], axis=1)


class PointProgram(Program):
    """U(x) and a rotation of each qubit."""

    name = "points"

    def circuit(self, feature_map: "QuantumCircuit") -> "QuantumCircuit":
        """Return the circuit of a point in any setting."""
        return point_circuit(feature_map)

    def values(
        self, plan: PointPlan, which: IntArray, rows: FloatArray, columns: FloatArray
    ) -> FloatArray:
        """Return the data of the point, and the angles of its setting."""
        angles = setting_angles(plan.letters)[plan.settings[which]]
        return np.concatenate([rows[plan.points[which]], angles], axis=1)

    def identity(self, plan: PointPlan) -> list[IntArray]:
        """Return points and settings, with what the settings are."""
        return [*super().identity(plan), plan.letters]


class ReferenceProgram(Program):
    """All qubits in 0 or all in 1, where points are measured.

    Each tile reads its bits with errors of its own, and points are measured on all tiles.
    """

    name = "references"
    on_all_tiles = True

    def circuit(self, feature_map: "QuantumCircuit") -> "QuantumCircuit":
        """Return the circuit of both reference states."""
        return reference_circuit(feature_map.num_qubits)

    def values(
        self, plan: CalibrationPlan, which: IntArray, rows: FloatArray, columns: FloatArray
    ) -> FloatArray:
        """Return the angle that prepares each state."""
        return reference_angles(plan.references[which])

    @property
    def standing(self) -> Program:
        """The program of points."""
        return BY_DESIGN["points"]


BY_DESIGN: dict[str, Program] = {
    program.name: program for program in (PairProgram(), PointProgram())
}
_BY_PLAN: dict[type[Plan], Program] = {
    ShotPlan: BY_DESIGN["pairs"],
    PointPlan: BY_DESIGN["points"],
    CalibrationPlan: ReferenceProgram(),
}


def program_of(plan: Plan) -> Program:
    """Return the program that a plan runs with."""
    return _BY_PLAN[type(plan)]


@dataclass(frozen=True, eq=False)
class SentCircuit:
    """A transpiled circuit, and what its parameters were before.

    Attributes
    ----------
    circuit
        In the gates and on the qubits of the backend.
    parameters
        Those of the plain circuit, in the order of a row of values.
    """

    circuit: "QuantumCircuit"
    parameters: list[Any]

    @property
    def order(self) -> list[int]:
        """For each parameter of ``circuit``, its place in a row of values.

        A transpiler may drop parameters that act on nothing, and decides on their order.
        """
        position = {parameter: k for k, parameter in enumerate(self.parameters)}
        return [position[parameter] for parameter in self.circuit.parameters]


class SentCircuits:
    """The circuits of a feature map on one backend, each transpiled when it is first needed.

    Parameters
    ----------
    feature_map
        The map.
    transpile
        Brings a circuit onto the backend.
    """

    def __init__(
        self,
        feature_map: "QuantumCircuit",
        transpile: "Callable[[QuantumCircuit], QuantumCircuit]",
    ) -> None:
        self.feature_map, self._transpile = feature_map, transpile
        self._sent: dict[str, SentCircuit] = {}

    def of(self, program: Program) -> SentCircuit:
        """Return the circuit of a program."""
        if program.name not in self._sent:
            plain = program.circuit(self.feature_map)
            circuit = self._transpile(plain)
            if program.standing is not program:
                circuit = placed_like(circuit, self.of(program.standing).circuit)
            self._sent[program.name] = SentCircuit(circuit, list(plain.parameters))
        return self._sent[program.name]
