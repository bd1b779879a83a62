"""States of a circuit with trainable parameters, and gradients by adjoint differentiation.

The gradient of a real function f of the states φ_i needs one sweep back over the circuit, however
many parameters there are: with λ_i = ∂f/∂φ_i* the last state and λ are undone gate by gate, and
an angle a of a gate adds 2 Re⟨∂φ_i/∂a|λ_i⟩. All points are done at once, in chunks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray, IntArray
from aqka.backends._bulk.evolve import Evolution, fuse_layers
from aqka.backends._bulk.gates import (
    Angle,
    Columns,
    FixedGate,
    Phases,
    Primitive,
    angle_values,
    compiled,
    primitives,
)
from aqka.backends._bulk.light_cones import CHUNK_AMPLITUDES, PAULIS, LightCones, paired
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


PAULI_PRODUCTS = {
    1: PAULIS[1:],
    2: np.array([np.kron(q, p) for p in PAULIS[1:] for q in PAULIS[1:]]),
}
"""X, Y, Z of one qubit; XX, XY, … ZZ of two, the first of which counts least."""


class MapAngles:
    """The angles of a circuit as functions of data and θ, and from their slopes to those of θ."""

    def __init__(
        self, angles: Sequence[Angle], data: Sequence[Any], trainable: Sequence[Any]
    ) -> None:
        self._angles, self._data, self._trainable = angles, data, trainable
        self._functions = [compiled(angle) for angle in angles]

    @cached_property
    def slopes(self) -> list[dict[int, Callable[[Columns], Any]]]:
        """Derivatives of each angle by the θ that it has; states alone need none."""
        return [
            {k: _slope(angle, p) for k, p in enumerate(self._trainable) if p in angle.parameters}
            for angle in self._angles
        ]

    @cached_property
    def wanted(self) -> set[int]:
        """Numbers of the angles that have any θ."""
        return {number for number, slopes in enumerate(self.slopes) if slopes}

    def _columns(self, X: FloatArray, theta: FloatArray) -> Columns:
        columns: dict[Any, Any] = dict(zip(self._data, np.ascontiguousarray(X.T), strict=True))
        return columns | dict(zip(self._trainable, theta.tolist(), strict=True))

    def values(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        """Return the angles' values, one row per angle and one column per point."""
        return angle_values(self._angles, self._functions, self._columns(X, theta), len(X))

    def gradient(self, X: FloatArray, theta: FloatArray, found: FloatArray) -> FloatArray:
        """Return the slopes by θ from those by each angle, half of them, at each point."""
        columns, gradient = self._columns(X, theta), np.zeros(len(theta))
        for number, by_parameter in enumerate(self.slopes):
            for k, slope in by_parameter.items():
                gradient[k] += 2 * np.sum(found[number] * slope(columns))
        return gradient


class DifferentiableMap:
    """The states of a circuit at any data and θ, compiled once.

    ``data`` and ``trainable`` are all its parameters, in the order of the data's columns and of θ.
    """

    def __init__(
        self, circuit: "QuantumCircuit", data: Sequence[Any], trainable: Sequence[Any]
    ) -> None:
        layers, angles = fuse_layers(primitives(circuit), circuit.num_qubits)
        self._angles = MapAngles(angles, data, trainable)
        self._whole = Evolution(layers, circuit.num_qubits)

    def states(self, X: FloatArray, theta: FloatArray) -> ComplexArray:
        """Return the state of every row of ``X``, one per row, Qiskit's qubit order."""
        return self._whole.states(self._angles.values(X, theta))

    def gradient(
        self, X: FloatArray, theta: FloatArray, states: ComplexArray, cotangents: ComplexArray
    ) -> FloatArray:
        """Return Σ_i 2 Re⟨∂φ_i/∂θ|λ_i⟩ of these states and their λ, one row per point each."""
        values = self._angles.values(X, theta)
        found = self._whole.slopes(values, states, cotangents, self._angles.wanted)
        return self._angles.gradient(X, theta, found)


class DifferentiableReductions:
    """Pauli expectations of one- and two-qubit reduced states at any data and θ, by light cones.

    Cones of the same gates, as all but the outer ones of a line are, are evolved side by side.
    ``edges`` are the pairs of qubits with two-qubit operators, one a row.
    """

    def __init__(
        self,
        circuit: "QuantumCircuit",
        data: Sequence[Any],
        trainable: Sequence[Any],
        edges: IntArray,
    ) -> None:
        cones = LightCones(circuit, np.zeros((0, circuit.num_parameters)))
        self._angles = MapAngles(cones.angles, data, trainable)
        supports: list[tuple[int, ...]] = [(qubit,) for qubit in range(cones.n_qubits)]
        supports += [(int(a), int(b)) for a, b in edges]
        ends = np.cumsum([3 ** len(support) for support in supports])
        self.size = int(ends[-1])
        columns = np.split(np.arange(self.size), ends[:-1])
        kinds: dict[Any, _AlikeCones] = {}
        for support, own in zip(supports, columns, strict=True):
            n_qubits, gates, place = cones.local(support)
            numbers = list(dict.fromkeys(g.angle for g in gates if not isinstance(g, FixedGate)))
            form = (n_qubits, place, *(_form(gate, numbers) for gate in gates))
            if form not in kinds:
                evolution = Evolution(fuse_layers(gates, n_qubits)[0], n_qubits)
                kinds[form] = _AlikeCones(evolution, n_qubits, place)
            kinds[form].numbers.append(numbers)
            kinds[form].columns.append(own)
        self._kinds = list(kinds.values())

    def expectations(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        """Return X, Y, Z of each qubit, then XX, XY, … ZZ of each edge, one row per point."""
        values, found = self._angles.values(X, theta), np.empty((len(X), self.size))
        for kind, shown, _, columns in self._batches(values):
            psi = paired(kind.evolution.states(shown), kind.place)
            rho = psi @ psi.conj().transpose(0, 2, 1)
            seen = np.einsum("nab,pba->np", rho, PAULI_PRODUCTS[len(kind.place)]).real
            found[:, np.concatenate(columns)] = np.hstack(np.split(seen, len(columns)))
        return found

    def gradient(self, X: FloatArray, theta: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return the slopes by θ from those by each expectation, of the same shape."""
        values = self._angles.values(X, theta)
        found = np.zeros_like(values)
        for kind, shown, numbers, columns in self._batches(values):
            states = kind.evolution.states(shown)
            weights = np.concatenate([slopes[:, each] for each in columns])
            sums = np.einsum("np,pab->nab", weights, PAULI_PRODUCTS[len(kind.place)])
            # Σ_P slope_P P|ψ⟩
            cotangents = paired(sums @ paired(states, kind.place), kind.place, back=True)
            by_angle = kind.evolution.slopes(shown, states, cotangents, set(range(len(shown))))
            for each, part in zip(numbers, np.split(by_angle, len(numbers), axis=1), strict=True):
                found[each] += part
        return self._angles.gradient(X, theta, found)

    def _batches(self, values: FloatArray) -> Iterator[tuple[Any, ...]]:
        """Give cones of one kind, with their angles' values side by side, as many as fit."""
        for kind in self._kinds:
            size = max(1, (CHUNK_AMPLITUDES >> kind.n_qubits) // max(1, values.shape[1]))
            for start in range(0, len(kind.numbers), size):
                numbers = kind.numbers[start : start + size]
                shown = np.concatenate([values[each] for each in numbers], axis=1)
                yield kind, shown, numbers, kind.columns[start : start + size]


@dataclass(eq=False)
class _AlikeCones:
    """Cones of the same gates on the same places, with other angles."""

    evolution: Evolution
    n_qubits: int
    place: tuple[int, ...]  # of the reduced state that is read
    numbers: list[list[int]] = field(default_factory=list)  # of each cone's angles
    columns: list[IntArray] = field(default_factory=list)  # of each cone's operators


def _form(gate: Primitive, numbers: list[int]) -> tuple[Any, ...]:
    """Return what makes a gate of one cone that of another."""
    if isinstance(gate, FixedGate):
        return gate.qubits, gate.matrix.tobytes()
    weights = gate.weights.tobytes() if isinstance(gate, Phases) else None
    return gate.qubits, numbers.index(gate.angle), weights


def _slope(angle: Angle, parameter: Any) -> Callable[[Columns], Any]:
    """Return the derivative of an angle by a parameter, as a function of all values."""
    try:
        return compiled(angle.gradient(parameter))
    except (RuntimeError, NotImplementedError) as error:
        raise InputError(
            f"feature_map's angle {angle} has no derivative by {parameter}; write it in sums, "
            "products, powers and smooth functions, or train on shots."
        ) from error
