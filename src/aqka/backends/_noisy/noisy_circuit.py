"""The fidelity test under noise: its points, and its circuit transpiled for the noise."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.optional import require
from aqka.backends._noisy.models import noise_on_circuit
from aqka.backends.circuits import (
    as_feature_map,
    as_rows_and_columns,
    fidelity_circuit,
    placed_like,
    point_circuit,
    reference_circuit,
    setting_angles,
)
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

# A device's basis also names these, which the transpiler does not take as basis gates.
_NOT_GATES = {"measure", "reset", "delay", "if_else", "for_loop", "while_loop", "switch_case"}


class Transpiled(NamedTuple):
    """A transpiled circuit, the parameters in the order of their values, and its noise model."""

    circuit: "QuantumCircuit"
    parameters: list[Any]
    model: Any


class NoisyCircuit:
    """Points, the circuit U(x) — barrier — U†(y) transpiled once, and its noise model.

    Attributes
    ----------
    rows, columns
        The points of the first half and those of the second.
    circuit
        The transpiled circuit, with its measurements.
    parameters
        Those of the first half, then those of the second, in the data's column order.
    model
        The noise, with qubits named as in ``circuit``.
    """

    def __init__(
        self,
        X: ArrayLike,
        feature_map: "QuantumCircuit | str | None",
        columns: ArrayLike | None,
        noise: Any,
        optimization_level: int,
        initial_layout: list[int] | None,
    ) -> None:
        require("qiskit_aer", "aer")
        self.rows, self.columns = as_rows_and_columns(X, columns)
        self.feature_map = as_feature_map(feature_map, self.rows.shape[1])
        self._noise, self._transpiling = noise, (optimization_level, initial_layout)
        fidelity = self._transpiled(fidelity_circuit(self.feature_map))
        self.circuit, self.parameters, self.model = fidelity

    @cached_property
    def point(self) -> Transpiled:
        """The circuit of points: U(x), one rotation per qubit, and measurements."""
        return self._transpiled(point_circuit(self.feature_map))

    @cached_property
    def reference(self) -> Transpiled:
        """The circuit of reference states, on the qubits that ``point`` reads."""
        plain = reference_circuit(self.feature_map.num_qubits)
        circuit = placed_like(self._transpiled(plain).circuit, self.point.circuit)
        return Transpiled(circuit, list(plain.parameters), noise_on_circuit(self._noise, circuit))

    def point_values(self, points: IntArray, letters: IntArray) -> FloatArray:
        """Return the values of ``point``'s parameters for points, each in its row of letters."""
        return np.concatenate([self.rows[points], setting_angles(letters)], axis=1)

    def _transpiled(self, plain: "QuantumCircuit") -> Transpiled:
        level, layout = self._transpiling
        circuit = transpile_for_noise(
            plain, self._noise, optimization_level=level, initial_layout=layout
        )
        return Transpiled(circuit, list(plain.parameters), noise_on_circuit(self._noise, circuit))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the kernel."""
        return len(self.rows), len(self.columns)


def transpile_for_noise(
    circuit: "QuantumCircuit",
    noise: Any,
    *,
    optimization_level: int,
    initial_layout: list[int] | None,
) -> "QuantumCircuit":
    """Transpile for a noise model's basis gates, or for a device.

    The transpiler's seed is fixed: the kernel must not depend on the seed of the shots.
    """
    qiskit = require("qiskit", "aer")
    if optimization_level not in (0, 1, 2, 3):
        raise InputError(f"optimization_level must be 0, 1, 2 or 3, got {optimization_level!r}.")
    try:
        transpiled: QuantumCircuit = qiskit.transpile(
            circuit,
            initial_layout=initial_layout,
            optimization_level=optimization_level,
            seed_transpiler=0,
            **_transpiler_target(noise, circuit.num_qubits),
        )
    except qiskit.transpiler.exceptions.TranspilerError as error:
        raise InputError(
            "feature_map cannot be transpiled for this noise with "
            f"initial_layout={initial_layout!r}: {error.message}"
        ) from error
    return transpiled


def _transpiler_target(noise: Any, n_qubits: int) -> dict[str, Any]:
    """Return what the transpiler is told of the noise: its basis gates, or the device."""
    noise_module = require("qiskit_aer.noise", "aer")
    providers = require("qiskit.providers", "aer")
    if isinstance(noise, noise_module.NoiseModel):
        return {"basis_gates": [gate for gate in noise.basis_gates if gate not in _NOT_GATES]}
    if not isinstance(noise, providers.BackendV2):
        raise InputError(
            "noise must be a qiskit_aer NoiseModel or a backend such as FakeFez(), "
            f"got {type(noise).__name__}; depolarising_noise() gives the paper's model."
        )
    if noise.num_qubits is not None and noise.num_qubits < n_qubits:
        raise InputError(
            f"noise is a backend of {noise.num_qubits} qubits but feature_map needs "
            f"{n_qubits}; choose a larger backend or a smaller map."
        )
    return {"backend": noise}
