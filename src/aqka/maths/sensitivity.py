"""How strongly each kernel entry moves the head: one function per head, matrix in pair shape.

Every function returns an N-by-N symmetric matrix whose (i, j) entry belongs to the *pair*
(i, j), that is to moving K_ij and K_ji together; the diagonal entry belongs to K_ii alone.
"""

from collections.abc import Iterable

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.maths.spectrum import Spectrum


def krr_gradient(alpha: FloatArray, beta: FloatArray, ridge: float) -> FloatArray:
    """Return g_ij = dL/dK_ij of the ridge training loss L = λ²‖α‖² (Lemma 1, Eq. 6).

    Off the diagonal -2λ²(β_i α_j + β_j α_i); on it half of that, -2λ² β_i α_i.
    """
    gradient = np.outer(beta, (-2 * ridge**2) * alpha)
    gradient += gradient.T
    np.fill_diagonal(gradient, gradient.diagonal() / 2)
    return np.asarray(gradient)


def krr_gauss_newton(alpha: FloatArray, inverse: FloatArray, ridge: float) -> FloatArray:
    """Return H̃_ij = 2λ²‖A E_ij α‖² ≥ 0, the Gauss–Newton diagonal (Lemma 1, Eq. 7).

    E_ij α = α_j e_i + α_i e_j, so the norm needs only entries of A².
    """
    squared = inverse @ inverse
    diagonal = squared.diagonal()
    cross = np.outer(diagonal, alpha**2)
    norm = cross + cross.T + 2 * squared * np.outer(alpha, alpha)
    np.fill_diagonal(norm, diagonal * alpha**2)
    return np.asarray(2 * ridge**2 * norm)


def krr_remainder(
    alpha: FloatArray, beta: FloatArray, inverse: FloatArray, ridge: float
) -> FloatArray:
    """Return the signed remainder R_ij of the Hessian diagonal, H = H̃ + R (Lemma 1, Eq. 8)."""
    weight = beta * alpha
    diagonal = inverse.diagonal()
    cross = np.outer(beta, alpha)
    product = inverse * (cross + cross.T) + np.outer(diagonal, weight) + np.outer(weight, diagonal)
    np.fill_diagonal(product, diagonal * weight)
    return np.asarray(4 * ridge**2 * product)


def krr_squared_gradient(alpha: FloatArray, beta: FloatArray) -> FloatArray:
    """Return the proxy h̃_ij = g_ij² / (4λ⁴) = (β_i α_j + β_j α_i)² (Eq. 9)."""
    return krr_gradient(alpha, beta, ridge=1.0) ** 2 / 4


def svm_gradient(dual: FloatArray, signs: FloatArray) -> FloatArray:
    """Return df*/dK_ij = -y_i y_j η_i η_j, half of it on the diagonal (Lemma 2, Eq. 47)."""
    signed = signs * dual
    gradient = -np.outer(signed, signed)
    np.fill_diagonal(gradient, gradient.diagonal() / 2)
    return np.asarray(gradient)


def prediction_sensitivity(spectrum: Spectrum, alpha: FloatArray, ridge: float) -> FloatArray:
    """Return sqrt(G_ij), G_ij = ‖∂f/∂K_ij‖² / N: how far a pair moves the predictions.

    f = K₀ α are the predictions at the training points, taken as a sample of all points; moving
    K_ij moves α alone, by -(K + λI)^{-1} E_ij α. With M = V diag[(w/(w+λ))²] Vᵀ / N that gives
    G_ij = M_ii α_j² + M_jj α_i² + 2 M_ij α_i α_j, and M_ii α_i² on the diagonal. Outputs, the
    columns of ``alpha``, add up: G is then the sum of their squared movements.
    """
    filtered = (spectrum.values / (spectrum.values + ridge)) ** 2 / len(spectrum.values)
    smoother = (spectrum.vectors * filtered) @ spectrum.vectors.T
    products = alpha @ alpha.T
    cross = np.outer(smoother.diagonal(), products.diagonal())
    squared = cross + cross.T + 2 * smoother * products
    np.fill_diagonal(squared, cross.diagonal())
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def combine_outputs(gradients: Iterable[FloatArray]) -> FloatArray:
    """Return sqrt(Σ_k g_k²) over the outputs k that one kernel serves, such as several classes.

    To first order the noise of a pair adds g_k² K(1-K)/s to the variance of output k's loss, so
    with this as |g| the allocation of Eq. 11 minimises the sum of the outputs' variances. For one
    output it is |g| itself.
    """
    return np.asarray(np.sqrt(sum(gradient**2 for gradient in gradients)))


def leverage_sums(leverage: FloatArray) -> FloatArray:
    """Return ℓ_i + ℓ_j from ridge leverage scores (Eq. 52, second line)."""
    return np.add.outer(leverage, leverage)


def soft_support(dual: FloatArray, margin: float) -> FloatArray:
    """Return the margin-stabilised support softmax(η / τ) at τ = 1/γ (Appendix A.6, mend (i)).

    A thin margin γ flattens it, so that a support set misread from a noisy warm-up does not
    swallow the whole budget. Scaled to a largest weight of 1: only ratios matter.
    """
    exponent = dual * margin
    return np.asarray(np.exp(exponent - exponent.max()))
