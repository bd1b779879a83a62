"""Gates as primitives, and their angles for all points at once."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray, IntArray
from aqka._util.optional import require
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

# A number, or a qiskit ParameterExpression (untyped: the SDK is imported late).
Angle = Any

# A fixed gate up to this size is asked for its matrix; only then can it be seen to be a
# permutation. Larger gates, and dense ones above DENSE, are unfolded through their definition.
MATRIX_QUBITS = 10
DENSE_QUBITS = 5


@dataclass(frozen=True, eq=False)
class Phases:
    """Multiplies each basis state by exp(i · angle · weights[its bits]).

    Bit b of the position in ``weights`` belongs to ``qubits[b]``, as everywhere in this file.
    """

    qubits: tuple[int, ...]
    angle: Angle
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class FixedGate:
    """A gate that is the same for every point."""

    qubits: tuple[int, ...]
    matrix: ComplexArray

    @cached_property
    def monomial(self) -> tuple[IntArray, FloatArray] | None:
        """The gate as (source, phase) if it only permutes and phases basis states.

        Output r is exp(i · phase[source[r]]) times input source[r].
        """
        nonzero = np.abs(self.matrix) > 1e-14
        if not (np.all(nonzero.sum(axis=0) == 1) and np.all(nonzero.sum(axis=1) == 1)):
            return None
        source = nonzero.argmax(axis=1)
        phase = np.empty(len(source))
        phase[source] = np.angle(self.matrix[np.arange(len(source)), source])
        return source, phase


@dataclass(frozen=True, eq=False)
class Rotation:
    """RY(angle) on one qubit, the only gate that mixes amplitudes differently for each point."""

    qubits: tuple[int, ...]
    angle: Angle


Primitive = Phases | FixedGate | Rotation


def local_index(n_qubits: int, qubits: tuple[int, ...]) -> IntArray:
    """Return, for each of the 2^n basis states, the number that the bits of ``qubits`` spell."""
    states = np.arange(2**n_qubits)
    index = np.zeros_like(states)
    for bit, qubit in enumerate(qubits):
        index |= ((states >> qubit) & 1) << bit
    return index


def is_varying(angle: Angle) -> bool:
    """Return whether an angle depends on the data."""
    return bool(getattr(angle, "parameters", ()))


def primitives(circuit: "QuantumCircuit") -> Iterator[Primitive]:
    """Yield the primitives of a circuit in order; their product is the circuit, phase included."""
    yield from chain.from_iterable(unfolded(circuit))


def unfolded(circuit: "QuantumCircuit") -> Iterator[list[Primitive]]:
    """Yield the gates of a circuit in order, each as its primitives."""
    yield from _Library().unfold(circuit, tuple(range(circuit.num_qubits)))


class _Library:
    """The gate classes of the installed Qiskit that have a closed form here."""

    def __init__(self) -> None:
        self._qiskit = require("qiskit", "qiskit")
        self._circuit = require("qiskit.circuit", "qiskit")
        gates = require("qiskit.circuit.library", "qiskit")
        self._unitary = gates.UnitaryGate
        self._diagonal = {
            gates.PhaseGate: np.array([0.0, 1.0]),
            gates.U1Gate: np.array([0.0, 1.0]),
            gates.RZGate: np.array([-0.5, 0.5]),
            gates.RZZGate: np.array([-0.5, 0.5, 0.5, -0.5]),
        }
        quarter = math.pi / 2
        self._rotations: dict[Any, Callable[..., tuple[Angle, Angle, Angle]]] = {
            gates.RXGate: lambda theta: (theta, -quarter, quarter),
            gates.RYGate: lambda theta: (theta, 0.0, 0.0),
            gates.RGate: lambda theta, phi: (theta, phi - quarter, quarter - phi),
            gates.UGate: lambda theta, phi, lam: (theta, phi, lam),
            gates.U3Gate: lambda theta, phi, lam: (theta, phi, lam),
            gates.U2Gate: lambda phi, lam: (quarter, phi, lam),
        }

    def unfold(
        self, circuit: "QuantumCircuit", qubits: tuple[int, ...]
    ) -> Iterator[list[Primitive]]:
        """Yield the gates of a circuit whose k-th qubit is ``qubits[k]``."""
        yield _phase(circuit.global_phase)
        position = {bit: qubits[k] for k, bit in enumerate(circuit.qubits)}
        for instruction in circuit.data:
            targets = tuple(position[bit] for bit in instruction.qubits)
            yield from self._gate(instruction.operation, targets)

    def _gate(self, gate: Any, targets: tuple[int, ...]) -> Iterator[list[Primitive]]:
        kind, params = type(gate), getattr(gate, "params", [])
        if isinstance(gate, (self._circuit.Barrier, self._circuit.Delay)):
            return
        varying = any(is_varying(param) for param in params)
        if not targets:
            yield _phase(params[0])
        elif varying and (diagonal := self._phases(gate, targets)) is not None:
            yield [diagonal]
        elif varying and kind in self._rotations:
            theta, phi, lam = self._rotations[kind](*params)
            # U(θ, φ, λ) = P(φ) RY(θ) P(λ): the phases fuse with their neighbours, and what is
            # left is real.
            turn = Rotation((targets[0],), theta)
            yield [*_phase(lam, targets), turn, *_phase(phi, targets)]
        elif not varying and (fixed := self._fixed(gate, targets)) is not None:
            yield [fixed]
        else:
            yield from self.unfold(self._definition(gate), targets)

    def _phases(self, gate: Any, targets: tuple[int, ...]) -> Phases | None:
        """Return the gate as phases if it is a diagonal rotation, under any number of controls."""
        base, controls, on = gate, 0, 0
        if isinstance(gate, self._circuit.ControlledGate):
            base, controls, on = gate.base_gate, gate.num_ctrl_qubits, gate.ctrl_state
        weights = self._diagonal.get(type(base))
        if weights is None:
            return None
        spread = np.zeros((len(weights), 2**controls))
        spread[:, on] = weights
        return Phases(targets, gate.params[0], spread.ravel())

    def _fixed(self, gate: Any, targets: tuple[int, ...]) -> FixedGate | None:
        """Return a fixed gate by its matrix where that is cheaper than to unfold it."""
        is_unitary, size = isinstance(gate, self._unitary), len(targets)
        if not hasattr(gate, "__array__") or (size > MATRIX_QUBITS and not is_unitary):
            return None
        fixed = FixedGate(targets, np.asarray(gate, dtype=np.complex128))
        small = size <= DENSE_QUBITS or is_unitary
        return fixed if small or fixed.monomial is not None else None

    def _definition(self, gate: Any) -> Any:
        """Return a gate's own circuit, or one of annotated gates, Cliffords and their like."""
        definition = cause = None
        try:
            definition = getattr(gate, "definition", None)
            plain = not isinstance(gate, self._circuit.ControlFlowOp) and gate.num_clbits == 0
            if definition is None and plain:
                definition = self._circuit.QuantumCircuit(gate.num_qubits)
                definition.append(gate, range(gate.num_qubits))
                # By default Qiskit would take the qubits for |0⟩ here, and simplify accordingly.
                definition = self._qiskit.transpile(
                    definition,
                    basis_gates=["u", "cx"],
                    optimization_level=0,
                    qubits_initially_zero=False,
                )
        except (TypeError, self._qiskit.exceptions.QiskitError) as error:
            definition, cause = None, error
        if definition is None:
            raise InputError(
                f"feature_map holds {gate.name!r}, which is not a unitary gate that can be "
                "unfolded; give the gate a definition, or remove it."
            ) from cause
        return definition


def _phase(angle: Angle, qubits: tuple[int, ...] = ()) -> list[Primitive]:
    """Return a phase on the state where all ``qubits`` are 1; without qubits, a global phase."""
    weights = np.zeros(2 ** len(qubits))
    weights[-1] = 1.0
    if is_varying(angle):
        return [Phases(qubits, angle, weights)]
    if float(angle) == 0.0:
        return []
    return [FixedGate(qubits, np.diag(np.exp(1j * float(angle) * weights)))]


Columns = Mapping[Any, FloatArray | float]
"""Values of the parameters: an array over the points, or a number that all points share."""


def evaluate(angles: Sequence[Angle], parameters: Sequence[Any], X: FloatArray) -> FloatArray:
    """Return the angles' values, one row per angle and one column per point of ``X``.

    ``parameters`` are those that the columns of ``X`` stand for, in this order.
    """
    columns = dict(zip(parameters, np.ascontiguousarray(X.T), strict=True))
    return angle_values(angles, [compiled(angle) for angle in angles], columns, len(X))


def angle_values(
    angles: Sequence[Angle],
    functions: Sequence[Callable[[Columns], Any]],
    columns: Columns,
    n_points: int,
) -> FloatArray:
    """Return what compiled angles are at every point, one row per angle."""
    values = np.empty((len(angles), n_points))
    for row, function in zip(values, functions, strict=True):
        row[:] = function(columns)
    if not np.isfinite(values).all():
        bad = angles[int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])]
        raise InputError(
            f"feature_map's angle {bad} is not finite for some points of the data; "
            "scale the data into the domain of the expression."
        )
    return values


def compiled(angle: Angle) -> Callable[[Columns], Any]:
    """Return an angle as a function of the parameters' values.

    Feature maps are almost always affine in each parameter on its own (x, 2x + 1, x·y, ...),
    and then f(p, rest) = f(0, rest) + p · f'(rest), by Qiskit's own derivative: a few array
    operations. Whatever else an author writes is bound point by point.
    """
    if not is_varying(angle):
        number = float(angle)
        return lambda columns: number
    parameter = min(angle.parameters, key=lambda p: str(p.name))
    try:
        slope = angle.gradient(parameter)
        curvature = slope.gradient(parameter) if is_varying(slope) else 0
    except (RuntimeError, NotImplementedError):  # no derivative known: abs, sign, ...
        return partial(_pointwise, angle)
    if is_varying(curvature) or curvature != 0:
        return partial(_pointwise, angle)
    if is_varying(slope):
        slope = slope.bind({parameter: 0.0})
    rest, factor = compiled(angle.bind({parameter: 0.0})), compiled(slope)
    return lambda columns: rest(columns) + columns[parameter] * factor(columns)


def _pointwise(angle: Angle, columns: Columns) -> FloatArray:
    names = sorted(angle.parameters, key=lambda p: str(p.name))
    rows = np.stack(np.broadcast_arrays(*(columns[name] for name in names)), axis=-1)
    try:
        values = [
            float(angle.bind(dict(zip(names, row, strict=True))))
            for row in rows.reshape(-1, len(names)).tolist()
        ]
    except (TypeError, ArithmeticError, RuntimeError) as error:
        raise InputError(
            f"feature_map's angle {angle} has no real value at some point of the data: {error}; "
            "scale the data into the domain of the expression."
        ) from error
    return np.array(values).reshape(rows.shape[:-1])
