"""The states of many points under the built-in feature maps or a circuit, all at once."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.backends.feature_maps import DEFAULT_REPS, check_map_name
from aqka.backends.statevector import StatevectorBackend
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

MAX_QUBITS = 14  # 200 states of more would not fit the memory of a small machine

ComplexArray = NDArray[np.complex128]
FeatureMap: TypeAlias = "str | QuantumCircuit | Callable[[Any], Any]"


def map_states(
    angles: FloatArray, feature_map: FeatureMap, repetitions: int = DEFAULT_REPS
) -> ComplexArray:
    """Return the state of each row of angles, one per row.

    Parameters
    ----------
    angles
        One row per point, one column per feature.
    feature_map
        ``"zz"`` (linear), ``"zz-full"`` or ``"z"``, as in Qiskit's library; or whatever
        :class:`~aqka.StatevectorBackend` takes.
    repetitions
        Of a map that is given by its name.

    Examples
    --------
    >>> abs(map_states(np.zeros((1, 2)), "z")).round(3)
    array([[1., 0., 0., 0.]])
    """
    if not isinstance(feature_map, str):
        circuit: Any = feature_map
        n_qubits = getattr(circuit, "num_qubits", None)
        if n_qubits is not None:
            _check_qubits(n_qubits)
        return StatevectorBackend(angles, circuit).states()
    check_map_name(feature_map)
    _check_qubits(angles.shape[1])
    return _phase_states(angles, _couplings(feature_map, angles.shape[1]), repetitions)


def _check_qubits(n_qubits: int) -> None:
    if n_qubits > MAX_QUBITS:
        raise InputError(
            f"a check simulates every state exactly, on at most {MAX_QUBITS} qubits; this feature "
            f"map needs {n_qubits}. Reduce the data to fewer principal components first (PCA): "
            "one qubit each."
        )


def _couplings(name: str, n_qubits: int) -> list[tuple[int, int]]:
    if name == "z":
        return []
    if name == "zz":
        return [(k, k + 1) for k in range(n_qubits - 1)]
    return [(j, k) for j in range(n_qubits) for k in range(j + 1, n_qubits)]


def _phase_states(
    angles: FloatArray, couplings: list[tuple[int, int]], repetitions: int
) -> ComplexArray:
    """Return Hadamards then phases, repeated: 2x_i on a qubit, 2(π - x_i)(π - x_j) on a parity."""
    n_points, n_qubits = angles.shape
    bits = (np.arange(2**n_qubits)[:, None] >> np.arange(n_qubits)) & 1
    exponent = 2 * angles @ bits.T
    for j, k in couplings:
        phase = 2 * (np.pi - angles[:, j]) * (np.pi - angles[:, k])
        exponent += np.outer(phase, bits[:, j] ^ bits[:, k])
    phases = np.exp(1j * exponent)
    states = np.zeros((n_points, 2**n_qubits), dtype=np.complex128)
    states[:, 0] = 1.0
    for _ in range(repetitions):
        states = _hadamards(states, n_qubits) * phases
    return states


def _hadamards(states: ComplexArray, n_qubits: int) -> ComplexArray:
    """Return the states after a Hadamard gate on every qubit."""
    for qubit in range(n_qubits):
        halves = states.reshape(len(states), -1, 2, 2**qubit)
        zero, one = halves[:, :, 0], halves[:, :, 1]
        states = np.stack([zero + one, zero - one], axis=2).reshape(len(states), -1)
    return states / 2 ** (n_qubits / 2)
