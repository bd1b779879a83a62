"""States as real vectors whose inner products are the fidelity kernel."""

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray

BATCH_FEATURES = 2**20


def state_features(states: ComplexArray) -> FloatArray:
    """Return φ with φ_i · φ_j = Tr ρ_i ρ_j, 4^n real numbers for each point.

    The diagonal of ρ, then the real and the imaginary parts of its upper triangle times √2.
    """
    dimension = states.shape[2]
    rows, cols = np.triu_indices(dimension, k=1)
    features = np.zeros((states.shape[1], dimension**2))
    # A few points at a time, so that what is written down in between needs little memory.
    size = max(1, BATCH_FEATURES // dimension**2)
    for first in range(0, len(features), size):
        some = slice(first, first + size)
        parts = np.split(features[some], [dimension, dimension + len(rows)], axis=1)
        for vectors in states[:, some]:  # the vectors of one rank; ρ itself is never written out
            upper = np.sqrt(2) * vectors[:, rows] * vectors[:, cols].conj()
            kinds = (np.abs(vectors) ** 2, upper.real, upper.imag)
            for part, values in zip(parts, kinds, strict=True):
                part += values
    return features


def expectations(operator: ComplexArray, states: ComplexArray) -> FloatArray:
    """Return Tr ρA of each point: f(x) = ⟨u|A|u⟩ for a pure state u."""
    return np.asarray(np.einsum("kid,kid->i", states.conj(), states @ operator.T).real)


def overlap_kernel(states: ComplexArray, others: ComplexArray | None = None) -> FloatArray:
    """Return Tr ρ_i ρ_j = Σ_kl |⟨v_ik|v_jl⟩|², for pure states the fidelity kernel."""
    columns = states if others is None else others
    kernel = np.zeros((states.shape[1], columns.shape[1]))
    for left in states:
        for right in columns:
            overlaps = left @ right.conj().T
            kernel += overlaps.real**2 + overlaps.imag**2
    return kernel
