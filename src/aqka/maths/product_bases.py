"""Amplitudes of states in product Pauli bases, for all settings at once.

Setting s rotates qubit q so that its letter's eigenstates become |0⟩ and |1⟩: H for X, H S† for Y,
nothing for Z. The rotation of all qubits is never written out: it is applied to up to four qubits
at a time, each time one matrix product, which suits BLAS better than one qubit at a time.
"""

import numpy as np
from scipy.linalg import hadamard
from scipy.sparse import csr_array

from aqka._util.arrays import ComplexArray, FloatArray, IntArray
from aqka.core.settings import ROTATIONS

GROUP = 4  # qubits rotated by one matrix product
# |b⟩⟨b| and ⟨b|ᵀ⟨b| of one qubit are ½ Σ_t (-1)^{bt} i^k X^x Z^z: x, z and k by letter and t.
_PROJECTORS = np.array([[[0, 0, 0], [1, 0, 0]], [[0, 0, 0], [1, 1, 1]], [[0, 0, 0], [0, 1, 0]]])
_SQUARES = np.array([[[0, 0, 0], [1, 0, 0]], [[0, 1, 0], [1, 0, 3]], [[0, 0, 0], [0, 1, 0]]])
_SIGNS = hadamard(64, np.float64)  # (-1)^{b·t}; of fewer qubits, its corner


def _rotations(letters: IntArray) -> ComplexArray:
    """Return the rotation of a few qubits for each row of letters, least significant first."""
    product = ROTATIONS[letters[:, 0]]
    for column in letters.T[1:]:
        size = 2 * product.shape[1]
        product = np.einsum("sab,scd->sacbd", ROTATIONS[column], product).reshape(-1, size, size)
    return product


class ProductBases:
    """The bases of some Pauli settings: a row each, 0, 1, 2 for X, Y, Z in column q for qubit q."""

    def __init__(self, settings: IntArray) -> None:
        self.settings = settings
        self.n_settings, self.n_qubits = settings.shape
        self.dimension = 2**self.n_qubits
        low = settings[:, : min(self.n_qubits, GROUP)]
        self._low_size = 2 ** low.shape[1]
        # Column (s, b) of the low matrix is ⟨b| of setting s on the least significant qubits.
        self._low = np.ascontiguousarray(
            _rotations(low).transpose(2, 0, 1).reshape(self._low_size, -1)
        )
        self._low_adjoint = np.ascontiguousarray(self._low.conj().T)
        self._high = [
            _rotations(settings[:, first : first + GROUP])
            for first in range(GROUP, self.n_qubits, GROUP)
        ]

    def amplitudes(self, states: ComplexArray) -> ComplexArray:
        """Return ⟨b_s|u⟩ for each state u (a row), setting s and outcome b."""
        n, m, low = len(states), self.n_settings, self._low_size
        spread = (states.reshape(-1, low) @ self._low).reshape(n, -1, m, low)
        result = spread.transpose(0, 2, 1, 3)
        for rotations in self._high:
            size = rotations.shape[1]
            # The next group is the least significant of the qubits that are left.
            done = result.shape[3]
            parts = result.reshape(n, m, -1, size, done)
            result = (rotations[:, None] @ parts).reshape(n, m, -1, size * done)
        return result.reshape(n, m, self.dimension)

    def bras(self, settings: IntArray, outcomes: IntArray) -> ComplexArray:
        """Return ⟨b_s| as a row for each of some settings and outcomes."""
        rows = np.ones((len(outcomes), 1), dtype=np.complex128)
        for qubit, letters in enumerate(self.settings[settings].T):
            factor = ROTATIONS[letters, (outcomes >> qubit) & 1]
            rows = (factor[:, :, None] * rows[:, None]).reshape(len(rows), -1)
        return rows

    def adjoint(self, weights: ComplexArray) -> ComplexArray:
        """Return Σ_s Σ_b w_sb |b_s⟩ for each row of weights, settings × outcomes each."""
        n, m, low = len(weights), self.n_settings, self._low_size
        result = weights.reshape(n, m, 1, self.dimension)
        for k, rotations in reversed(list(enumerate(self._high))):
            size = rotations.shape[1]
            done = low * 2 ** (GROUP * k)
            parts = result.reshape(n, m, -1, size, done)
            result = (rotations.conj().transpose(0, 2, 1)[:, None] @ parts).reshape(n, m, -1, done)
        gathered = result.transpose(0, 2, 1, 3).reshape(-1, m * low)
        return np.asarray((gathered @ self._low_adjoint).reshape(n, self.dimension))

    def mixtures(self, weights: FloatArray) -> ComplexArray:
        """Return Σ_s Σ_b w_sb |b_s⟩⟨b_s| for each row of weights, a 2^n × 2^n matrix each."""
        return self.quadratic_forms(weights, _PROJECTORS)

    def quadratic_forms(
        self, weights: FloatArray | ComplexArray, of: IntArray = _SQUARES
    ) -> ComplexArray:
        """Return Σ_s Σ_b w_sb ⟨b_s|ᵀ⟨b_s| for each row of weights, a 2^n × 2^n matrix each."""
        n, m, d = len(weights), self.n_settings, self.dimension
        # Which X^x Z^z, row 2^n x + z, the signed sums of a setting multiply.
        place, value = np.zeros((m, 1), dtype=np.int64), np.full((m, 1), 1 / d, dtype=complex)
        for qubit, letters in enumerate(self.settings.T):
            x, z, power = of[letters].transpose(2, 0, 1)[:, :, :, None]
            place = (((d * x + z) << qubit) + place[:, None]).reshape(m, -1)
            value = (1j**power * value[:, None]).reshape(m, -1)
        cells = (place.reshape(-1), np.arange(m * d))
        terms = csr_array((value.reshape(-1), cells), shape=(d**2, m * d))
        signed = _signed_sums(weights).reshape(n, -1)
        coefficients = np.ascontiguousarray((terms @ signed.T).T).reshape(n, d, d)
        # X^x Z^z has the entry (-1)^{z·j} in column j, row j with the bits of x flipped.
        column = np.arange(d)
        entry = (column[:, None] ^ column) * d + column
        return np.asarray(np.take(_signed_sums(coefficients).reshape(n, -1), entry, axis=1))


def _signed_sums(values: FloatArray | ComplexArray) -> ComplexArray:
    """Return Σ_b (-1)^{b·t} v_b for each t, along the last axis."""
    high = max(1, values.shape[-1] // len(_SIGNS))
    low = values.shape[-1] // high
    result = (values.reshape(-1, low) @ _SIGNS[:low, :low]).reshape(-1, high, low)
    return np.asarray(result if high == 1 else _SIGNS[:high, :high] @ result).reshape(values.shape)
