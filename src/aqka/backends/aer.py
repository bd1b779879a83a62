"""Exact noisy fidelities of an Aer noise model or a device, then binomial draws."""

from typing import TYPE_CHECKING, Any, Self, Union

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, digest
from aqka._util.optional import require
from aqka.backends._jobs.transpile import Transpiler
from aqka.backends._noisy.models import (
    depolarising_noise,
    noise_digest,
    noise_on_circuit,
    target_of,
    used_qubits,
)
from aqka.backends._noisy.programs import FidelityProgram, OutcomeProgram
from aqka.backends._programs import (
    BY_DESIGN,
    PAIRS,
    CircuitBackend,
    Program,
    SentCircuits,
    program_of,
)
from aqka.backends.base import check_design
from aqka.backends.circuits import as_feature_map, as_rows_and_columns, circuit_digest
from aqka.backends.simulated import ExactBackend
from aqka.core.plans import Plan
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.providers import BackendV2
    from qiskit_aer.noise import NoiseModel

__all__ = ["AerBackend", "depolarising_noise"]

_LARGEST_BYTES = 2**33


class AerBackend(CircuitBackend, ExactBackend):
    """Draws shots from the exact kernel that a noisy circuit has.

    The circuit U(x) — barrier — U†(y) is transpiled once. The noisy states ρ(x_i) are evolved
    forward to the barrier and the all-zero outcome's operators M(x_j) backward to it, all
    points at once, so that ``K[i, j] = Tr(M(x_j) ρ(x_i))`` is one matrix product instead of a
    circuit per pair. Gate errors and readout errors are included.

    With noise K is not symmetric in general, and its diagonal is below 1. A plan's pair
    (i, j) is measured with x_i in the first half and x_j in the second.

    Parameters
    ----------
    X : array-like
        Points of the rows, one per row of the array.
    feature_map : QuantumCircuit or str, default=None
        A parametrised circuit; None is the ZZ map of two repetitions, linear.
    noise : NoiseModel or BackendV2
        A ``NoiseModel``, transpiled to its basis gates with every qubit connected to every
        other; or a backend, such as ``FakeFez()``, transpiled to its target with the noise
        Aer derives from its calibration. :func:`depolarising_noise` is the paper's.
    columns : array-like, default=None
        Points of the columns, for a test-by-train block; None takes those of X.
    seed : int, default=0
        The hits depend on it, on the tag and on the plan, and on nothing else.
    optimization_level : int, default=1
        Level of the transpiler, 0 to 3.
    initial_layout : list of int, default=None
        Physical qubits to use, one per qubit of the map; None leaves it to the transpiler.
    design : {"pairs", "points"}, default="pairs"
        Whose circuit ``circuit`` shows, and the fingerprint names, so that no run changes it.

    Examples
    --------
    >>> backend = AerBackend([[0.1, 0.2], [1.0, 2.0]], noise=depolarising_noise())
    >>> backend.kernel().round(3)
    array([[0.714, 0.112],
           [0.112, 0.707]])
    """

    def __init__(
        self,
        X: ArrayLike,
        feature_map: "QuantumCircuit | str | None" = None,
        *,
        noise: Union["NoiseModel", "BackendV2"],
        columns: ArrayLike | None = None,
        seed: int = 0,
        optimization_level: int = 1,
        initial_layout: list[int] | None = None,
        design: str = "pairs",
    ) -> None:
        super().__init__(seed)
        require("qiskit_aer", "aer")
        self._rows, self._columns = as_rows_and_columns(X, columns)
        transpile = Transpiler(target_of(noise), optimization_level, initial_layout)
        self._map = as_feature_map(feature_map, self._rows.shape[1])
        self._circuits = SentCircuits(self._map, transpile)
        self._noise, self._main = noise, BY_DESIGN[check_design(design)]
        self._compiled: dict[tuple[type, str], Any] = {}
        self._check_size(len(used_qubits(self.circuit)))
        self._compile(FidelityProgram if self._main is PAIRS else OutcomeProgram, self._main)

    def _check_size(self, n_qubits: int) -> None:
        """Refuse states that do not fit into memory: a kernel needs all of them at once."""
        needed = 8 * 4**n_qubits * (len(self._rows) if self._main is PAIRS else 1)
        if needed > _LARGEST_BYTES:
            raise InputError(
                f"X has {len(self._rows)} points and the transpiled circuit uses {n_qubits} "
                f"qubits: exact noisy states would take {needed / 2**30:.0f} GiB, the most is "
                f"{_LARGEST_BYTES / 2**30:.0f}; take fewer points or fewer qubits."
            )

    def with_points(self, X: ArrayLike, columns: Any = None, seed: int | None = None) -> Self:
        """Return the backend for other points; the circuit is compiled once for all of them."""
        other = object.__new__(type(self))  # not copy(), which leaves out what pickling does
        other.__dict__.update(self.__dict__, _seed=self._seed if seed is None else seed)
        other._rows, other._columns = as_rows_and_columns(X, columns)
        other._kernel, other._flip_chances, other._plans = None, None, {}
        return other

    def _compute_kernel(self) -> FloatArray:
        return np.asarray(self._compile(FidelityProgram, PAIRS).kernel(self._rows, self._columns))

    def _probabilities(self, plan: Plan, rows: IntArray) -> FloatArray:
        program = program_of(plan)
        values = program.values(plan, rows, self._rows, self._columns)
        return np.asarray(self._compile(OutcomeProgram, program).probabilities(values))

    _draw_references = ExactBackend._draw_points

    def _compile(self, kind: type, program: Program) -> Any:
        """Return the circuit of a program with its noise, compiled once."""
        key = kind, program.name
        if key not in self._compiled:
            sent = self._circuits.of(program)
            model = noise_on_circuit(self._noise, sent.circuit)
            self._compiled[key] = kind(sent.circuit, model, sent.parameters)
        return self._compiled[key]

    def _identity(self) -> list[str]:
        return [
            f"X={digest(self._rows)}",
            f"columns={digest(self._columns)}",
            f"circuit={circuit_digest(self.circuit)}",
            f"noise={noise_digest(noise_on_circuit(self._noise, self.circuit))}",
        ]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is compiled again, after computing the kernel that pairs need."""
        if self._main is PAIRS:
            self.kernel()
        return {**self.__dict__, "_compiled": {}}
