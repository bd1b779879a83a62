"""States of a circuit with trainable parameters, and gradients by adjoint differentiation.

The gradient of a real function f of the states φ_i needs one sweep back over the circuit, however
many parameters there are: with λ_i = ∂f/∂φ_i* the last state and λ are undone gate by gate, and
an angle a of a gate adds 2 Re⟨∂φ_i/∂a|λ_i⟩. All points are done at once, in chunks.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends._bulk.evolve import apply_block, chunks, run_steps, steps_of
from aqka.backends._bulk.gates import (
    Angle,
    Columns,
    ComplexArray,
    angle_values,
    compiled,
    primitives,
)
from aqka.backends._bulk.layers import Layer, MonomialLayer, PhaseTable, TurnLayer, fuse_layers
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


class DifferentiableMap:
    """The states of a circuit at any data and θ, compiled once.

    Parameters
    ----------
    circuit
        A circuit whose parameters are those of the data and the trainable ones.
    data, trainable
        Its parameters, in the order of the data's columns and of θ.
    """

    def __init__(
        self, circuit: "QuantumCircuit", data: Sequence[Any], trainable: Sequence[Any]
    ) -> None:
        self.n_qubits = int(circuit.num_qubits)
        self._data, self._trainable = list(data), list(trainable)
        self._layers, self._angles = fuse_layers(primitives(circuit), self.n_qubits)
        self._functions = [compiled(angle) for angle in self._angles]
        self._forward = steps_of(self._layers)

    @cached_property
    def _slopes(self) -> list[dict[int, Callable[[Columns], Any]]]:
        """Derivatives of each angle by the θ that it has; states alone need none."""
        return [
            {k: _slope(angle, p) for k, p in enumerate(self._trainable) if p in angle.parameters}
            for angle in self._angles
        ]

    @cached_property
    def _backward(self) -> "list[Sweep]":
        wanted = {number for number, slopes in enumerate(self._slopes) if slopes}
        return [_back_over(layer, wanted) for layer in self._layers]

    def _columns(self, X: FloatArray, theta: FloatArray) -> Columns:
        columns: dict[Any, Any] = dict(zip(self._data, np.ascontiguousarray(X.T), strict=True))
        return columns | dict(zip(self._trainable, theta.tolist(), strict=True))

    def _values(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        return angle_values(self._angles, self._functions, self._columns(X, theta), len(X))

    def states(self, X: FloatArray, theta: FloatArray) -> ComplexArray:
        """Return the state of every row of ``X``, one per row, Qiskit's qubit order."""
        first = np.eye(2**self.n_qubits, 1, dtype=np.complex128)
        return run_steps(self._forward, first, self._values(X, theta), len(X))

    def gradient(
        self, X: FloatArray, theta: FloatArray, states: ComplexArray, cotangents: ComplexArray
    ) -> FloatArray:
        """Return Σ_i 2 Re⟨∂φ_i/∂θ|λ_i⟩ of these states and their λ, one row per point each."""
        values = self._values(X, theta)
        found = np.zeros_like(values)  # by angle and point
        for chunk in chunks(2**self.n_qubits, len(X)):
            shown, slopes = values[:, chunk], found[:, chunk]
            psi, lam = (np.ascontiguousarray(part[chunk].T) for part in (states, cotangents))
            for step in reversed(self._backward):
                psi, lam = step(psi, lam, shown, slopes)
        columns, gradient = self._columns(X, theta), np.zeros(len(theta))
        for number, by_parameter in enumerate(self._slopes):
            for k, slope in by_parameter.items():
                gradient[k] += 2 * np.sum(found[number] * slope(columns))
        return gradient


def _slope(angle: Angle, parameter: Any) -> Callable[[Columns], Any]:
    """Return the derivative of an angle by a parameter, as a function of all values."""
    try:
        return compiled(angle.gradient(parameter))
    except (RuntimeError, NotImplementedError) as error:
        raise InputError(
            f"feature_map's angle {angle} has no derivative by {parameter}; write it in sums, "
            "products, powers and smooth functions, or train on shots."
        ) from error


Sweep = Callable[..., tuple[ComplexArray, ComplexArray]]
"""From ψ and λ behind a layer to those before it; adds Re⟨∂ψ|λ⟩ to the slopes of its angles."""


def _back_over(layer: Layer, wanted: set[int]) -> Sweep:
    if isinstance(layer, MonomialLayer):
        return _back_over_phases(layer, wanted)
    if isinstance(layer, TurnLayer):
        return _back_over_turns(layer, wanted)
    blocks = [(qubits, matrix.conj().T) for qubits, matrix in layer.merged_blocks()]

    def sweep(
        psi: ComplexArray, lam: ComplexArray, values: FloatArray, slopes: FloatArray
    ) -> tuple[ComplexArray, ComplexArray]:
        for qubits, matrix in blocks:
            psi, lam = apply_block(psi, qubits, matrix), apply_block(lam, qubits, matrix)
        return psi, lam

    return sweep


def _back_over_phases(layer: MonomialLayer, wanted: set[int]) -> Sweep:
    """Of phases exp(i a w), ∂ψ = i w ψ."""
    table, numbers = PhaseTable(layer), sorted(wanted & layer.weights.keys())
    weights = np.array([layer.weights[number] for number in numbers])
    order = np.argsort(layer.source)  # undoes the permutation

    def sweep(
        psi: ComplexArray, lam: ComplexArray, values: FloatArray, slopes: FloatArray
    ) -> tuple[ComplexArray, ComplexArray]:
        psi, lam = psi[order], lam[order]
        if numbers:
            slopes[numbers] += weights @ (psi.conj() * lam).imag
        back = table(values).conj()
        return psi * back, lam * back

    return sweep


def _back_over_turns(layer: TurnLayer, wanted: set[int]) -> Sweep:
    """Of rotations RY(a), ∂ψ = (-ψ₁, ψ₀) / 2."""
    turned = {qubit: number for qubit, number in layer.rotations.items() if number in wanted}
    (step,) = steps_of([layer])

    def sweep(
        psi: ComplexArray, lam: ComplexArray, values: FloatArray, slopes: FloatArray
    ) -> tuple[ComplexArray, ComplexArray]:
        for qubit, number in turned.items():
            one, other = (state.reshape(-1, 2, 2**qubit, psi.shape[1]) for state in (psi, lam))
            both = one[:, 0].conj() * other[:, 1] - one[:, 1].conj() * other[:, 0]
            slopes[number] += both.real.sum(axis=(0, 1)) / 2
        return step(psi, -values), step(lam, -values)

    return sweep
