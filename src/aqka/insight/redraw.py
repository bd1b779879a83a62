"""Counts drawn anew from what was measured: what the same shots could have given as well."""

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import FloatArray
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks
from aqka.core.problem import Problem
from aqka.estimates.pairs import estimate_kernel
from aqka.maths.spectrum import Spectrum


def redraw_counts(table: PairTable, chances: FloatArray, rng: Generator) -> PairTable:
    """Return a table of the same shots whose hits are drawn with the given chance per pair."""
    again = PairTable(table.n_points, table.diagonal)
    again.shots[:] = table.shots
    again.hits[:] = rng.binomial(table.shots, chances)
    return again


def hit_chances(
    table: PairTable,
    problem: Problem,
    landmarks: Landmarks | None = None,
    spectrum: Spectrum | None = None,
) -> FloatArray:
    """Return the chance of a hit per pair, by the kernel without its shot noise.

    ``spectrum`` is that of the estimated kernel, where it is decomposed already.
    """
    kernel = kernel_without_noise(table, problem, landmarks, spectrum)
    return np.asarray(np.clip(table.condense(kernel), 0.0, 1.0))


def kernel_without_noise(
    table: PairTable,
    problem: Problem,
    landmarks: Landmarks | None,
    spectrum: Spectrum | None = None,
) -> FloatArray:
    """Return the estimated kernel without the eigenvalues that shot noise alone can give.

    The spectrum of symmetric noise ends at the :func:`noise_floor`. A kernel with the noise left
    in would let the readout choose its ridge as if noise were signal, and so hide the bias that
    the true noise gives it.
    """
    if spectrum is None:
        spectrum = Spectrum.of(estimate_kernel(table, problem, landmarks))
    values, vectors = spectrum.measured, spectrum.vectors
    kept = values > min(noise_floor(table), values[-1] / 2)
    return np.asarray((vectors[:, kept] * values[kept]) @ vectors[:, kept].T)


def noise_floor(table: PairTable) -> float:
    """Return 2σ sqrt(N): no eigenvalue of shot noise alone lies far above it (Wigner)."""
    seen = ~table.unseen
    shots = np.maximum(table.shots, 1)
    k = (table.hits + 0.5) / (table.shots + 1)
    # Entries without shots read one value and bring no noise.
    variance = float(np.sum((k * (1 - k) / shots)[seen])) / table.n_pairs
    return float(2 * np.sqrt(variance * table.n_points))
