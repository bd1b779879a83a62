"""Exact noisy fidelities of an Aer noise model or a device, then binomial draws."""

from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, digest
from aqka.backends._drawing import draw_outcomes
from aqka.backends._noisy.models import depolarising_noise, used_qubits
from aqka.backends._noisy.noisy_circuit import NoisyCircuit, Transpiled
from aqka.backends._noisy.programs import FidelityProgram, PointProgram
from aqka.backends.circuits import circuit_digest, reference_angles
from aqka.backends.simulated import ExactBackend
from aqka.core.calibration import CalibrationPlan
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import PointPlan
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.providers import BackendV2
    from qiskit_aer.noise import NoiseModel

__all__ = ["AerBackend", "depolarising_noise"]

# Vectors evolved together: small enough to stay in a cache, large enough to keep loops long.
_CHUNK_BYTES = 2**23
_LARGEST_BYTES = 2**33


class AerBackend(ExactBackend):
    """Draws shots from the exact kernel that a noisy circuit has.

    The circuit U(x) — barrier — U†(y) is transpiled once. The noisy states ρ(x_i) are evolved
    forward to the barrier and the all-zero outcome's operators M(x_j) backward to it, all
    points at once, so that ``K[i, j] = Tr(M(x_j) ρ(x_i))`` is one matrix product instead of a
    circuit per pair. Gate errors, on all or on single qubits, and readout errors are included;
    qubits that the transpiled circuit does not use are left out.

    The barrier stays in the circuit that is simulated: without it the transpiler would cancel
    gates across the middle and the kernel would be another one. Routing may move the qubits;
    measurements follow the final layout.

    With noise K is not symmetric in general, and its diagonal is below 1. A plan's pair
    (i, j) is measured with x_i in the first half and x_j in the second.

    Parameters
    ----------
    X
        Data, one row per point.
    feature_map
        A parametrised circuit; None is the paper's ZZ map, one qubit a feature.
    columns
        The second points, if they are not ``X`` themselves: training points, when ``X`` are
        test points.
    noise
        A ``NoiseModel``, transpiled to its basis gates with every qubit connected to every
        other; or a backend, such as ``FakeFez()``, transpiled to its target with the noise
        Aer derives from its calibration. :func:`depolarising_noise` is the paper's.
    seed
        The hits depend on it, on the tag and on the plan, and on nothing else.
    optimization_level
        Of the transpiler.
    initial_layout
        Physical qubits to use, one per qubit of the map; None leaves it to the transpiler.

    Attributes
    ----------
    circuit
        The transpiled circuit whose kernel this is.

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
    ) -> None:
        super().__init__(seed)
        noisy = NoisyCircuit(X, feature_map, columns, noise, optimization_level, initial_layout)
        self._noisy = noisy
        self._rows, self._columns, self._circuit = noisy.rows, noisy.columns, noisy.circuit
        self._check_size(len(used_qubits(noisy.circuit)))
        features = self._rows.shape[1]
        self._program: FidelityProgram | None = FidelityProgram(
            noisy.circuit,
            noisy.model,
            (noisy.parameters[:features], noisy.parameters[features:]),
        )
        self._kernel: FloatArray | None = None
        self._point_program: PointProgram | None = None

    def _check_size(self, n_qubits: int) -> None:
        needed = 8 * 4**n_qubits * len(self._rows)
        if needed > _LARGEST_BYTES:
            raise InputError(
                f"X has {len(self._rows)} points and the transpiled circuit uses {n_qubits} "
                f"qubits: exact noisy states would take {needed / 2**30:.0f} GiB, the most is "
                f"{_LARGEST_BYTES / 2**30:.0f}; take fewer points or fewer qubits."
            )

    def kernel(self) -> FloatArray:
        """Return the exact noisy kernel; it is computed at the first call."""
        if self._kernel is None:
            program = self._program
            assert program is not None
            chunk = max(1, _CHUNK_BYTES // (8 * 4 ** len(program.qubits)))
            states = np.concatenate([program.states(part) for part in _split(self._rows, chunk)])
            blocks = [states @ program.outcomes(part).T for part in _split(self._columns, chunk)]
            self._kernel = np.clip(np.concatenate(blocks, axis=1), 0.0, 1.0)
            self._program = None  # it has served
        return self._kernel

    @property
    def n_qubits(self) -> int:
        """Qubits of the feature map."""
        return int(self._noisy.feature_map.num_qubits)

    def _draw_points(self, plan: PointPlan, rng: Generator) -> OutcomeCounts:
        letters = plan.letters[plan.settings]
        return draw_outcomes(
            plan, lambda rows: self._probabilities(plan.points[rows], letters[rows]), rng
        )

    def _probabilities(self, points: IntArray, letters: IntArray) -> FloatArray:
        """Return the exact noisy probabilities of all outcomes of points in settings."""
        if self._point_program is None:
            self._point_program = _program(self._noisy.point)
        return _outcomes_of(self._point_program, self._noisy.point_values(points, letters))

    def _draw_references(self, plan: CalibrationPlan, rng: Generator) -> OutcomeCounts:
        program, angles = _program(self._noisy.reference), reference_angles(plan.references)
        return draw_outcomes(plan, lambda rows: _outcomes_of(program, angles[rows]), rng)

    def _identity(self) -> list[str]:
        return [
            f"X={digest(self._rows)}",
            f"columns={digest(self._columns)}",
            f"circuit={circuit_digest(self._circuit)}",
            f"kernel={digest(self.kernel())}",
        ]

    def __getstate__(self) -> dict[str, Any]:
        """Return what to pickle: the kernel in place of the program that computes it."""
        self.kernel()
        return {**self.__dict__, "_point_program": None}

    @property
    def circuit(self) -> "QuantumCircuit":
        """The transpiled circuit whose kernel this is."""
        return self._circuit

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the kernel."""
        return len(self._rows), len(self._columns)


def _program(sent: Transpiled) -> PointProgram:
    return PointProgram(sent.circuit, sent.model, sent.parameters)


def _outcomes_of(program: PointProgram, values: FloatArray) -> FloatArray:
    """Return the exact noisy probabilities of all outcomes, one row for each row of values."""
    chunk = max(1, _CHUNK_BYTES // (8 * 4**program.n_used))
    return np.concatenate([program.probabilities(part) for part in _split(values, chunk)])


def _split(points: FloatArray, size: int) -> list[FloatArray]:
    return [points[k : k + size] for k in range(0, len(points), size)]
