"""The exact fidelity kernel of a feature map, by simulating every point's state once."""

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.linalg import hadamard

from aqka._util.arrays import ComplexArray, FloatArray, IntArray, digest
from aqka.backends._bulk.evolve import simulate
from aqka.backends._bulk.layers import BLOCK_QUBITS
from aqka.backends._programs import PAIRS, FeatureMapBackend
from aqka.backends._qml import simulate_qfunc
from aqka.backends.circuits import (
    as_feature_map,
    as_rows_and_columns,
    circuit_digest,
    fidelity_circuit,
)
from aqka.backends.simulated import ExactBackend, draw_points
from aqka.core.outcomes import OutcomeCounts
from aqka.core.plans import ShotPlan
from aqka.core.point_plans import PointPlan
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

TILE, NARROW_TILE = 512, 64
MANY_AMPLITUDES = 256
AMPLITUDES = 1024  # of all states, multiplied at a time
CHUNK_AMPLITUDES = 2**18  # of the ZZ map, worked on at a time: 4 MiB stay in cache


def fidelities(rows: ComplexArray, columns: ComplexArray | None = None) -> FloatArray:
    """Return the fidelity of every row state with every column state.

    Without ``columns`` it compares ``rows`` among themselves, at half the work, and the result is
    exactly symmetric with ones on the diagonal.
    """
    if columns is None and rows.shape[1] >= MANY_AMPLITUDES:
        return _fidelities_of_many_amplitudes(rows)
    others = rows if columns is None else columns
    kernel = np.empty((len(rows), len(others)))
    # Square tiles on the diagonal compute both halves; narrow ones keep that waste small.
    tile = min(TILE, max(NARROW_TILE, len(rows) // 8))
    # Written over in place: fresh memory costs as much as the arithmetic of few amplitudes.
    scratch = np.empty(tile * len(others), dtype=np.complex128)
    for start in range(0, len(rows), tile):
        stop = min(start + tile, len(rows))
        first = start if columns is None else 0
        block = kernel[start:stop, first:]
        overlaps = scratch[: block.size].reshape(block.shape)
        np.matmul(rows[start:stop].conj(), others[first:].T, out=overlaps)
        parts = overlaps.view(np.float64)
        parts *= parts
        np.add(parts[:, ::2], parts[:, 1::2], out=block)
        np.clip(block, 0.0, 1.0, out=block)
        if columns is None:
            square = block[:, : stop - start]
            square[:] = (square + square.T) / 2
            kernel[stop:, start:stop] = block[:, stop - start :].T
    if columns is None:
        np.fill_diagonal(kernel, 1.0)
    return kernel


def _fidelities_of_many_amplitudes(states: ComplexArray) -> FloatArray:
    """Return the fidelities of states among themselves by three eighths of the multiplications.

    For states A + iB and G = (A + B)(A - B)ᵀ the overlaps have the real part (G + Gᵀ)/2 + 2BBᵀ and
    the imaginary part (G - Gᵀ)/2 up to its sign; BLAS computes half of BBᵀ.
    """
    mixed = squares = np.zeros(())
    for start in range(0, states.shape[1], AMPLITUDES):
        part = states[:, start : start + AMPLITUDES]
        imaginary = np.ascontiguousarray(part.imag)
        mixed = mixed + (part.real + imaginary) @ (part.real - imaginary).T
        squares = squares + imaginary @ imaginary.T
    kernel = np.empty_like(mixed)
    for start in range(0, len(states), NARROW_TILE):
        rows, rest = slice(start, start + NARROW_TILE), slice(start, None)
        above, below = mixed[rows, rest], mixed[rest, rows].T
        real, imaginary = (above + below) / 2 + 2 * squares[rows, rest], (above - below) / 2
        kernel[rows, rest] = np.clip(real**2 + imaginary**2, 0.0, 1.0)
        kernel[rest, rows] = kernel[rows, rest].T
    np.fill_diagonal(kernel, 1.0)
    return kernel


def phase_states(X: FloatArray, repetitions: int, apart: int) -> ComplexArray:
    """Return the states of a Z or ZZ map, one row per point (Havlíček et al. 2019).

    Each repetition is a Hadamard on every qubit, then phases 2x_i on each qubit and
    2(π - x_i)(π - x_j) on the parity of two that are at most so far ``apart``.
    """
    n_points, n_qubits = X.shape
    states = np.empty((n_points, 2**n_qubits), dtype=np.complex128)
    size = max(1, CHUNK_AMPLITUDES >> n_qubits)
    for start in range(0, n_points, size):
        phases = _phases(np.ascontiguousarray(X[start : start + size].T), apart)
        part = phases  # the first Hadamards spread |0…0⟩ evenly
        for _ in range(repetitions - 1):
            part = _hadamards(part)
            part *= phases
        states[start : start + size] = part.T
    return states


def _phases(x: FloatArray, apart: int) -> ComplexArray:
    """Return a repetition's phases over √2ⁿ, basis states by points.

    Each qubit doubles the table of those below it: a multiplication per phase, no exponential.
    """
    n_qubits, n_points = x.shape
    phases = np.empty((2**n_qubits, n_points), dtype=np.complex128)
    phases[0] = 2 ** (-n_qubits / 2)
    for k in range(n_qubits):
        unequal = np.ones((1, n_points), dtype=np.complex128)  # to qubit k, where it is 0
        for j in range(max(0, k - apart), k):
            phase = np.exp(2j * (np.pi - x[j]) * (np.pi - x[k]))
            unequal = np.concatenate([unequal, unequal * phase])
        zero, one = phases[: 2 ** (k + 1)].reshape(2, len(unequal), -1, n_points)
        np.multiply(zero, (np.exp(2j * x[k]) * unequal[::-1])[:, None], out=one)
        zero *= unequal[:, None]
    return phases


def _hadamards(states: ComplexArray) -> ComplexArray:
    """Return a Hadamard, times √2, on every qubit of states, one column a point."""
    shape, n_qubits = states.shape, len(states).bit_length() - 1
    parts = states.view(np.float64)
    for low in range(0, n_qubits, BLOCK_QUBITS):
        block = 2 ** min(BLOCK_QUBITS, n_qubits - low)
        parts = hadamard(block, dtype=np.float64) @ parts.reshape(-1, block, 2**low * 2 * shape[1])
    return np.asarray(parts.reshape(len(states), -1).view(np.complex128))


def zz_states(X: FloatArray, repetitions: int = 2) -> ComplexArray:
    """Return the states of the ZZ map with linear entanglement, one row per point."""
    return phase_states(X, repetitions, apart=1)


def zz_kernel(X: FloatArray, columns: FloatArray | None = None) -> FloatArray:
    """Return the exact fidelity kernel |⟨φ(x)|φ(y)⟩|² of the ZZ map (Eq. 3)."""
    return fidelities(zz_states(X), None if columns is None else zz_states(columns))


MAX_STATE_BYTES = 2**33
MAX_STATE_QUBITS = 24
SLOW_AMPLITUDES = 2**24  # numbers of all states together that take seconds to simulate
MORE_QUBITS = (
    "For more qubits measure points of a circuit of few layers: the backend 'light-cone' "
    "(LightConeBackend) with design = 'points'."
)


class StatevectorBackend(FeatureMapBackend, ExactBackend):
    """Computes K_ij = |⟨φ(x_i)|φ(x_j)⟩|² exactly and draws shots from it.

    The N states are simulated in bulk when they are first needed, and kept.

    Parameters
    ----------
    X : array-like
        Data, one row per point: the rows of the kernel.
    feature_map : QuantumCircuit, callable or str, default=None
        A Qiskit ``QuantumCircuit`` whose k-th parameter (in the order of
        ``circuit.parameters``) takes column k of the data; or a PennyLane function ``f(x)`` that
        applies operations for one point; or ``"zz"``, ``"zz-full"`` or ``"z"``, with two
        repetitions and one qubit per feature. None is ``"zz"``, whose entanglement is linear.
    columns : array-like, default=None
        Points of the columns, for a test-by-train block; None takes those of X.
    seed : int, default=0
        The hits depend on it, on the tag and on the plan, and on nothing else.

    Notes
    -----
    The kernel does not depend on the order of qubits; :meth:`states` does. Qiskit is
    little-endian: qubit 0 is the least significant bit of a basis state. PennyLane's first wire
    is the most significant bit; integer wires are sorted, others keep their order of appearance.

    Examples
    --------
    >>> from aqka.core import ShotPlan
    >>> backend = StatevectorBackend([[0.1, 0.2], [0.3, 0.4]])
    >>> backend.shape
    (2, 2)
    >>> backend.kernel().diagonal()
    array([1., 1.])
    >>> hits = backend.collect(backend.submit(ShotPlan([0], [1], [1000]), tag="first"))
    >>> bool(abs(hits[0] / 1000 - backend.kernel()[0, 1]) < 0.1)
    True
    """

    def __init__(
        self,
        X: ArrayLike,
        feature_map: "QuantumCircuit | Callable[[Any], Any] | str | None" = None,
        *,
        columns: ArrayLike | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self._rows, self._columns = as_rows_and_columns(X, columns)
        self._square = columns is None
        # One stack, so that rows and columns share one simulation.
        both = [self._rows] if self._square else [self._rows, self._columns]
        self._points = np.concatenate(both)
        _check_memory(self._points, feature_map)
        # A plain function cannot be pickled in general, a circuit can: they stay apart.
        self._function = feature_map if callable(feature_map) else None
        # In plain numpy, so that it needs no quantum SDK.
        self._is_zz = feature_map is None or feature_map == "zz"
        if not self._is_zz and not callable(feature_map):
            self._map = as_feature_map(feature_map, self._points.shape[1])

    @property
    def n_qubits(self) -> int:
        """Qubits of the feature map."""
        if self._map is not None:
            return super().n_qubits
        if self._is_zz:
            return int(self._points.shape[1])
        return int(self._all_states.shape[1]).bit_length() - 1

    def states(self) -> ComplexArray:
        """Return the states of the points of ``X``, one per row."""
        return self._all_states[: len(self._rows)]

    def _compute_kernel(self) -> FloatArray:
        return fidelities(
            self.states(), None if self._square else self._all_states[len(self._rows) :]
        )

    @property
    def flipped_bits(self) -> int | None:
        """Qubits of a circuit; None of a PennyLane function, whose inverse is not known."""
        return self.n_qubits if self._is_zz or self._map is not None else None

    @cached_property
    def _pair_circuit(self) -> "QuantumCircuit":
        chosen = as_feature_map(self._map, self._points.shape[1])
        return fidelity_circuit(chosen).remove_final_measurements(inplace=False)

    def _probabilities(self, plan: ShotPlan, rows: IntArray) -> FloatArray:
        values = PAIRS.values(plan, rows, self._rows, self._columns)
        states = simulate(self._pair_circuit, values)
        return np.asarray(states.real**2 + states.imag**2)

    def _draw_points(self, plan: PointPlan, rng: Generator) -> OutcomeCounts:
        return draw_points(plan, self.states(), rng)

    def _identity(self) -> list[str]:
        # A function has no content to compare, but its kernel has: but for the last digits, in
        # which processors differ.
        if self._map is not None:
            which = circuit_digest(self._map)
        else:
            which = "zz" if self._is_zz else digest(self.kernel().round(6))
        return [f"X={digest(self._points)}", f"rows={len(self._rows)}", f"feature_map={which}"]

    @cached_property
    def _all_states(self) -> ComplexArray:
        """The states of rows and columns."""
        if self._function is None and len(self._points) << self.n_qubits > SLOW_AMPLITUDES:
            warnings.warn(
                f"whole states of {self.n_qubits} qubits are slow to simulate. {MORE_QUBITS}",
                RuntimeWarning,
                stacklevel=2,
            )
        try:
            if self._function is not None:
                return simulate_qfunc(self._function, self._points)
            return zz_states(self._points) if self._is_zz else simulate(self._map, self._points)
        except MemoryError as error:
            raise InputError(
                f"the states of {len(self._points)} points of {self._points.shape[1]} features "
                "do not fit into the memory that this process may use; take fewer points, or "
                f"reduce X to fewer columns. {MORE_QUBITS}"
            ) from error

    def __getstate__(self) -> dict[str, Any]:
        """Return what to pickle: a PennyLane function is replaced by the states it prepares."""
        if self._function is not None:
            self.states()
        return {**self.__dict__, "_function": None}


def _check_memory(points: FloatArray, feature_map: Any) -> None:
    """Refuse states that would not fit into memory, before a circuit is built."""
    if callable(feature_map):
        return  # its wires are known when it has run
    n_features = points.shape[1]
    named = feature_map is None or isinstance(feature_map, str)
    n_qubits = n_features if named else getattr(feature_map, "num_qubits", 0)
    needed = 16 * 2**n_qubits * len(points)
    if needed > MAX_STATE_BYTES or n_qubits > MAX_STATE_QUBITS:
        most = min((MAX_STATE_BYTES // (16 * len(points))).bit_length() - 1, MAX_STATE_QUBITS)
        gib = -(-needed // 2**30)
        shown = f"{gib:,}" if gib < 10**9 else f"10^{len(str(gib)) - 1}"
        raise InputError(
            f"{n_features} features on {n_qubits} qubits: the states of {len(points)} points would "
            f"take {shown} GiB, the most is {MAX_STATE_BYTES // 2**30} and "
            f"{MAX_STATE_QUBITS} qubits. The default "
            f"feature map needs a qubit for every column, so reduce X to {most} columns at most, "
            "better 4 to 10: sklearn.decomposition.PCA(4), or in a study feature_map.qubits = 4. "
            f"{MORE_QUBITS}"
        )
