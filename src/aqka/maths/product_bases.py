"""Amplitudes of states in product Pauli bases, for all settings at once.

Setting s rotates qubit q so that its letter's eigenstates become |0⟩ and |1⟩: H for X, H S† for Y,
nothing for Z. The rotation of all qubits is never written out: it is applied to up to four qubits
at a time, each time one matrix product, which suits BLAS better than one qubit at a time.
"""

from functools import cached_property

import numpy as np

from aqka._util.arrays import ComplexArray, IntArray
from aqka.core.settings import ROTATIONS

GROUP = 4  # qubits rotated by one matrix product


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

    def quadratic_forms(self, weights: ComplexArray) -> ComplexArray:
        """Return Σ_s Σ_b w_sb ⟨b_s|ᵀ⟨b_s| for each row of weights, a 2^n × 2^n matrix each.

        A product of two halves of the qubits: 2^{2n} 2^{n/2} work for a setting, not 2^{3n}.
        """
        n, m = len(weights), self.n_settings
        low, high = self._squared_halves
        if high is None:  # one matrix product for all points
            forms = weights.reshape(n, -1) @ low.reshape(-1, low.shape[2])
            return np.asarray(forms.reshape(n, self.dimension, self.dimension))
        low_size, high_size = low.shape[1], self.dimension // low.shape[1]
        parts = weights.reshape(n, m, high_size, low_size) @ low
        forms = high @ parts.reshape(n, m * high_size, low_size**2)
        halves = forms.reshape(n, high_size, high_size, low_size, low_size)
        return halves.transpose(0, 1, 3, 2, 4).reshape(n, self.dimension, self.dimension)

    @cached_property
    def _squared_halves(self) -> tuple[ComplexArray, ComplexArray | None]:
        """Tables of ⟨b|x⟩⟨b|y⟩ for the less and the more significant half of the qubits."""
        n_low = self.n_qubits if self.n_qubits <= GROUP else (self.n_qubits + 1) // 2
        low = _squares(_rotations(self.settings[:, :n_low]))
        if n_low == self.n_qubits:
            return low, None
        high = _squares(_rotations(self.settings[:, n_low:]))
        return low, np.ascontiguousarray(high.reshape(-1, high.shape[2]).T)


def _squares(rotations: ComplexArray) -> ComplexArray:
    squares = rotations[:, :, :, None] * rotations[:, :, None, :]
    return squares.reshape(*rotations.shape[:2], -1)
