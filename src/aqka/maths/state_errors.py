"""How the shot noise of fitted pure states moves their overlaps: Fisher information, delta method.

A fitted state is u + δ with δ ⊥ u, and δ has the inverse Fisher information as its covariance.
With the phase of u_j chosen so that o = ⟨u_i|u_j⟩ ≥ 0, the overlap moves by
⟨δ_i|u_j⟩ + ⟨u_i|δ_j⟩, along o and across it, and the norm of u + δ has to be divided out:

    K̂ = ((o + δ∥)² + δ⊥²) / ((1 + |δ_i|²)(1 + |δ_j|²))

    E K̂ - K ≈ σ∥² + σ⊥² - K (E|δ_i|² + E|δ_j|²)
    Var K̂ ≈ 4K σ∥² + 2σ∥⁴ + 2σ⊥⁴ + 4σ×⁴,  σ×² the covariance of the two

The terms of second order matter: at K = 0 the first one vanishes.
"""

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray
from aqka.maths.likelihood import confuse
from aqka.maths.product_bases import ProductBases

HELD = 1e6  # information, in units of the shots, on what is no parameter
LEAST = 1e-6  # information, in units of the shots, that every direction is given
SMALLEST = 1e-12  # outcomes less likely than this tell nothing that could be computed


def tangent_roots(
    bases: ProductBases,
    states: ComplexArray,
    shots: FloatArray,
    confusion: FloatArray | None = None,
) -> FloatArray:
    """Return B with δ = Bz, z standard normal, one matrix for each pure state.

    It is the transposed inverse of the :func:`information_root`.
    """
    lower = information_root(bases, states, shots, confusion)
    return np.asarray(np.linalg.inv(lower).transpose(0, 2, 1))


def information_root(
    bases: ProductBases,
    states: ComplexArray,
    shots: FloatArray,
    confusion: FloatArray | None = None,
) -> FloatArray:
    """Return the lower triangular L with the Fisher information LLᵀ of each pure state.

    Real coordinates: the real parts x of δ = x + iy, then the imaginary ones y. ``shots`` has a
    row for each state and a column for each setting; ``confusion`` are the readout errors.
    """
    if confusion is None:
        information = _exact_readout_information(bases, states, shots)
    else:
        rows = zip(states, shots, strict=True)
        information = np.stack([_readout_information(bases, *row, confusion) for row in rows])
    # The norm and the phase of u are no parameters: both are held fixed.
    norm = np.concatenate([states.real, states.imag], axis=1)
    phase = np.concatenate([-states.imag, states.real], axis=1)
    total = shots.sum(axis=1)
    fixed = np.stack([norm, phase], axis=1)
    information += (HELD * total[:, None, None] * fixed).transpose(0, 2, 1) @ fixed
    # Few shots leave directions in which nothing is known: very uncertain, but not infinitely so.
    diagonal = np.arange(information.shape[1])
    information[:, diagonal, diagonal] += LEAST * total[:, None]
    return np.asarray(np.linalg.cholesky(information))


def _exact_readout_information(
    bases: ProductBases, states: ComplexArray, shots: FloatArray
) -> FloatArray:
    """Return the Fisher information of each state, where bits are read as they are.

    An outcome's information is 4 (Re e^{-iφ}⟨b|δ⟩)² per shot, φ the phase of its amplitude ⟨b|u⟩.
    With 4 (Re z)² = 2|z|² + 2 Re z² and Σ_b |⟨b|δ⟩|² = |δ|², the information of S shots is
    2S |δ|² + 2 Re δᵀQδ with Q = Σ S_s e^{-2iφ} ⟨b|ᵀ⟨b|.
    """
    n_points, dimension = states.shape
    amplitudes = bases.amplitudes(states)
    size = np.abs(amplitudes)
    unit: ComplexArray = np.where(size > 0, amplitudes.conj() / np.maximum(size, 1e-300), 1.0)
    turned = unit**2 * shots[:, :, None]
    form = bases.quadratic_forms(turned)
    information = np.empty((n_points, 2 * dimension, 2 * dimension))
    information[:, :dimension, :dimension] = form.real
    information[:, dimension:, dimension:] = -form.real
    information[:, :dimension, dimension:] = information[:, dimension:, :dimension] = -form.imag
    diagonal = np.arange(2 * dimension)
    information[:, diagonal, diagonal] += shots.sum(axis=1)[:, None]
    return 2 * information


def _readout_information(
    bases: ProductBases, state: ComplexArray, shots: FloatArray, confusion: FloatArray
) -> FloatArray:
    """Return the Fisher information Σ S_s ∇p' ∇p'ᵀ / p' of one state, p' = Cp what is read.

    The gradient of p_b = |⟨b|u⟩|² has entries 2 Re and 2 Im of ⟨u|b⟩⟨b|x⟩.
    """
    dimension = bases.dimension
    amplitudes = bases.amplitudes(state[None])[0]
    columns = bases.amplitudes(np.eye(dimension, dtype=np.complex128))  # ⟨b|x⟩ for each x
    moved = 2 * amplitudes.conj() * columns
    gradient = confuse(np.concatenate([moved.real, -moved.imag]), confusion)
    p = confuse(np.abs(amplitudes) ** 2, confusion)
    weights = np.where(p > SMALLEST, np.sqrt(shots[:, None] / np.maximum(p, SMALLEST)), 0.0)
    scaled = (gradient * weights).reshape(2 * dimension, -1)
    return np.asarray(scaled @ scaled.T)


def overlap_variances(
    roots: FloatArray, states: ComplexArray, others: ComplexArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the variances of ⟨δ_i|u_j⟩ along and across the overlap, and their covariance."""
    shape = (len(states), len(others))
    along, across, both = np.empty(shape), np.empty(shape), np.empty(shape)
    for i, (u, root) in enumerate(zip(states, roots, strict=True)):
        overlap = others @ u.conj()
        size = np.abs(overlap)
        phase = np.where(size > 0, overlap.conj() / np.where(size > 0, size, 1.0), 1.0)
        w = phase[:, None] * others
        moved_along = np.concatenate([w.real, w.imag], axis=1) @ root
        moved_across = np.concatenate([w.imag, -w.real], axis=1) @ root
        along[i] = np.einsum("jk,jk->j", moved_along, moved_along)
        across[i] = np.einsum("jk,jk->j", moved_across, moved_across)
        both[i] = np.einsum("jk,jk->j", moved_along, moved_across)
    return along, across, both


def kernel_moments(
    kernel: FloatArray, spread: FloatArray, along: FloatArray, across: FloatArray, both: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the bias and the variance of K̂ from E|δ|² and the :func:`overlap_variances`."""
    along, across = along + along.T, across + across.T
    both = both - both.T  # seen from the other side, across changes its sign
    bias = along + across - kernel * (spread[:, None] + spread)
    variance = 4 * kernel * along + 2 * along**2 + 2 * across**2 + 4 * both**2
    return bias, variance
