"""Exact noisy fidelities of an Aer noise model or a device, then binomial draws."""

from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Union

from numpy.random import Generator
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
from aqka.backends.simulated import ExactBackend, draw_outcomes
from aqka.core.outcomes import OutcomeCounts
from aqka.core.plans import ShotPlan
from aqka.core.point_plans import OutcomePlan
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
    X, feature_map, columns, design
        See :class:`~aqka.backends.SamplerBackend`.
    noise
        A ``NoiseModel``, transpiled to its basis gates with every qubit connected to every
        other; or a backend, such as ``FakeFez()``, transpiled to its target with the noise
        Aer derives from its calibration. :func:`depolarising_noise` is the paper's.
    seed
        The hits depend on it, on the tag and on the plan, and on nothing else.
    optimization_level
        Level of the transpiler, 0 to 3.
    initial_layout
        Physical qubits to use, one per qubit of the map; None leaves it to the transpiler.

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
        self._circuits = SentCircuits(as_feature_map(feature_map, self._rows.shape[1]), transpile)
        self._noise, self._main = noise, BY_DESIGN[check_design(design)]
        self._kernel: FloatArray | None = None
        self._compiled: dict[str, Any] = {}
        self._check_size(len(used_qubits(self.circuit)))
        self._compile(self._main)

    def _check_size(self, n_qubits: int) -> None:
        """Refuse states that do not fit into memory: a kernel needs all of them at once."""
        needed = 8 * 4**n_qubits * (len(self._rows) if self._main is PAIRS else 1)
        if needed > _LARGEST_BYTES:
            raise InputError(
                f"X has {len(self._rows)} points and the transpiled circuit uses {n_qubits} "
                f"qubits: exact noisy states would take {needed / 2**30:.0f} GiB, the most is "
                f"{_LARGEST_BYTES / 2**30:.0f}; take fewer points or fewer qubits."
            )

    def with_points(self, X: ArrayLike) -> "AerBackend":
        """Return the backend for other points; the circuit is compiled once for all of them."""
        other = copy(self)
        other._rows = other._columns = as_rows_and_columns(X, None)[0]
        other._kernel, other._plans, other._compiled = None, {}, dict(self._compiled)
        other._flip_chances = None
        return other

    def kernel(self) -> FloatArray:
        """Return the exact noisy kernel; it is computed at the first call."""
        if self._kernel is None:
            self._kernel = self._compile(PAIRS).kernel(self._rows, self._columns)
            del self._compiled[PAIRS.name]
        return self._kernel

    def _flip_probabilities(self, plan: ShotPlan, rows: IntArray) -> FloatArray:
        values = PAIRS.values(plan, rows, self._rows, self._columns)
        found: FloatArray = self._compile(PAIRS, flips=True).probabilities(values)
        return found

    def _draw_points(self, plan: OutcomePlan, rng: Generator) -> OutcomeCounts:
        """Draw from the exact noisy probabilities of points or reference states."""
        return draw_outcomes(plan, partial(self._probabilities, plan), rng)

    _draw_references = _draw_points

    def _probabilities(self, plan: OutcomePlan, which: IntArray) -> FloatArray:
        program = program_of(plan)
        values = program.values(plan, which, self._rows, self._columns)
        found: FloatArray = self._compile(program).probabilities(values)
        return found

    def _compile(self, program: Program, flips: bool = False) -> Any:
        """Return the circuit of a program with its noise, compiled once."""
        name = "flips" if flips else program.name
        if name not in self._compiled:
            sent = self._circuits.of(program)
            kind = OutcomeProgram if flips or program.reads_all_qubits else FidelityProgram
            model = noise_on_circuit(self._noise, sent.circuit)
            self._compiled[name] = kind(sent.circuit, model, sent.parameters)
        return self._compiled[name]

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
