"""How each kind of plan becomes circuits: pairs, points and reference states."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends import circuits
from aqka.backends._bulk.gates import evaluate
from aqka.backends._jobs.transpile import fractional_angles, in_fractional_gates
from aqka.backends.base import Backend
from aqka.core.calibration import CalibrationPlan
from aqka.core.plans import Plan, ShotPlan
from aqka.core.point_plans import PointPlan

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


Values = Callable[[Any, IntArray, FloatArray, FloatArray], FloatArray]
"""From a plan, some of its rows and the points it names to the values of the parameters."""


@dataclass(frozen=True, eq=False)
class Program:
    """How the plans of one kind run: one circuit for all rows, and the values of each row."""

    name: str
    circuit: "Callable[[QuantumCircuit], QuantumCircuit]"  # of a feature map, not yet transpiled
    values: Values
    stands_like: "Program | None" = None  # whose circuit decides on which qubits this one runs
    reads_all_qubits: bool = True  # every outcome counts, not only the all-zero one, which is a hit
    watched: bool = False  # sentinels may be measured beside it
    on_all_tiles: bool = False  # each row must be measured on nearly all tiles

    @property
    def standing(self) -> "Program":
        """The program whose circuit decides on which qubits this one runs."""
        return self.stands_like or self


def _both_points(
    plan: ShotPlan, which: IntArray, rows: FloatArray, columns: FloatArray
) -> FloatArray:
    return np.concatenate([rows[plan.rows[which]], columns[plan.cols[which]]], axis=1)


def _point_and_setting(
    plan: PointPlan, which: IntArray, rows: FloatArray, columns: FloatArray
) -> FloatArray:
    angles = circuits.setting_angles(plan.letters)[plan.settings[which]]
    return np.concatenate([rows[plan.points[which]], angles], axis=1)


PAIRS = Program(
    "pairs", circuits.fidelity_circuit, _both_points, reads_all_qubits=False, watched=True
)
POINTS = Program("points", circuits.point_circuit, _point_and_setting)
# Each tile reads its bits with errors of its own, and points are measured on all tiles.
REFERENCES = Program(
    "references",
    lambda feature_map: circuits.reference_circuit(feature_map.num_qubits),
    lambda plan, which, rows, columns: np.pi * plan.references[which, None],
    stands_like=POINTS,
    on_all_tiles=True,
)
BY_DESIGN = {"pairs": PAIRS, "points": POINTS}
_BY_PLAN: dict[type[Plan], Program] = {
    ShotPlan: PAIRS,
    PointPlan: POINTS,
    CalibrationPlan: REFERENCES,
}


def program_of(plan: Plan) -> Program:
    """Return the program that a plan runs with."""
    return _BY_PLAN[type(plan)]


@dataclass(frozen=True, eq=False)
class SentCircuit:
    """A transpiled circuit, and what its parameters were before."""

    circuit: "QuantumCircuit"
    parameters: list[Any]  # of the plain circuit, in the order of a row of values
    folded: list[Any]  # parameters of fractional gates, behind them
    angles: list[Any]  # that these stand for

    @property
    def order(self) -> list[int]:
        """For each parameter of ``circuit``, its place in a row of values.

        A transpiler may drop parameters that act on nothing, and decides on their order.
        """
        every = [*self.parameters, *self.folded]
        position = {parameter: k for k, parameter in enumerate(every)}
        return [position[parameter] for parameter in self.circuit.parameters]

    def values(self, rows: FloatArray) -> FloatArray:
        """Return rows of the plain circuit's values as those of ``circuit``."""
        if self.folded:
            angles = evaluate(self.angles, self.parameters, rows).T
            rows = np.concatenate([rows, fractional_angles(angles)], axis=1)
        return np.asarray(rows[:, self.order])

    def rows(self, values: FloatArray) -> FloatArray:
        """Return rows of values as they were before, with 0 for what was dropped."""
        found = np.zeros((len(values), len(self.parameters)))
        found[:, self.order] = values
        return found


class SentCircuits:
    """The circuits of a feature map on one backend, each transpiled when it is first needed."""

    def __init__(
        self,
        feature_map: "QuantumCircuit",
        transpile: "Callable[[QuantumCircuit], QuantumCircuit]",
        fractional: bool = False,
    ) -> None:
        self.feature_map, self._transpile = feature_map, transpile
        self._fractional = fractional
        self._sent: dict[str, SentCircuit] = {}

    def of(self, program: Program) -> SentCircuit:
        if program.name not in self._sent:
            plain = program.circuit(self.feature_map)
            folded, own, angles = (
                in_fractional_gates(plain) if self._fractional else (plain, [], [])
            )
            circuit = self._transpile(folded)
            if program.stands_like is not None:
                circuit = circuits.placed_like(circuit, self.of(program.stands_like).circuit)
            self._sent[program.name] = SentCircuit(circuit, list(plain.parameters), own, angles)
        return self._sent[program.name]


class FeatureMapBackend(Backend):
    """What backends of points and a feature map tell of themselves."""

    _rows: FloatArray
    _columns: FloatArray
    _map: Any = None  # a circuit of Qiskit's, where the map is one

    @property
    def shape(self) -> tuple[int, int]:
        """Points of the rows and of the columns."""
        return len(self._rows), len(self._columns)

    @property
    def n_qubits(self) -> int:
        """Qubits of the feature map."""
        return int(self._map.num_qubits)

    @property
    def lattice(self) -> IntArray | None:
        """Pairs of qubits that the feature map's gates act on; None: neighbours on a line."""
        return circuits.lattice_of(self._map)


class CircuitBackend(FeatureMapBackend):
    """What backends of a feature map's transpiled circuits tell of themselves."""

    _circuits: SentCircuits
    _main: Program  # of the design that the backend was made for

    @property
    def circuit(self) -> "QuantumCircuit":
        """The transpiled circuit of the design that the backend was made for."""
        return self._circuits.of(self._main).circuit

    @property
    def flipped_bits(self) -> int:
        """Qubits of the feature map."""
        return self.n_qubits
