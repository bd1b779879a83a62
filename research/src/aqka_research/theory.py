"""The paper's lemmas, bounds and ratios as functions, each with its number in the paper.

Where the paper's statement does not hold as printed, the function computes what does, and
docs/explanation/errata.md says what was changed and which check shows it. Gradients and Hessians
(Lemmas 1 and 2) are in :mod:`aqka.maths.sensitivity`, the KKT targets (Prop. 1) in
:mod:`aqka.allocators.targets`, and the Nyström formula in :mod:`aqka.maths.spectrum`.
"""

import math

import numpy as np
from scipy.linalg import eigvalsh

from aqka._util.arrays import FloatArray, IntArray
from aqka.maths.sensitivity import krr_gradient, svm_gradient
from aqka.maths.spectrum import Spectrum


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


def training_loss(kernel: FloatArray, y: FloatArray, ridge: float) -> float:
    """Return L = ‖y - Kα‖² = λ²‖α‖² of kernel ridge regression (Eq. 5)."""
    alpha = np.linalg.solve(kernel + ridge * np.eye(len(y)), y)
    return float(ridge**2 * alpha @ alpha)


def variance_weights(gradient: FloatArray, k: FloatArray) -> FloatArray:
    """Return a_p = g_p² K_p (1 - K_p) (Prop. 1)."""
    return np.asarray(gradient**2 * k * (1 - k))


def delta_variance(a: FloatArray, shots: FloatArray | IntArray) -> float:
    """Return the delta-method variance Σ a_p / s_p (Eq. 10); pairs with a_p = 0 cost nothing."""
    needed = a > 0
    with np.errstate(divide="ignore"):
        return float(np.sum(a[needed] / shots[needed]))


def optimal_variance(a: FloatArray, budget: float) -> float:
    """Return the smallest delta-method variance Z²/B, Z = Σ sqrt(a_p) (Prop. 1)."""
    return float(np.sum(np.sqrt(a)) ** 2 / budget)


def planted_support_size(n_points: int, anchors: int) -> int:
    """Return |P_S| = m(2N - m + 1)/2, the pairs that touch one of m anchors (Thm 1)."""
    return anchors * (2 * n_points - anchors + 1) // 2


def planted_ceiling(n_points: int, anchors: int) -> float:
    """Return |P_S| / M, the ceiling on ρ for α supported on m points; at most 2m/(N+1) (Eq. 13)."""
    return planted_support_size(n_points, anchors) / (n_points * (n_points + 1) / 2)


def svm_ceiling(n_points: int, support_vectors: int) -> float:
    """Return m_sv(m_sv + 1) / (N(N + 1)), the ceiling on ρ of the SVM (Thm 3, Eq. 50).

    The shorthand m_sv²/N² lies *below* it; it is valid only when the diagonal is noise-free.
    """
    return support_vectors * (support_vectors + 1) / (n_points * (n_points + 1))


def svm_variance_weights(dual: FloatArray, kernel: FloatArray) -> FloatArray:
    """Return a_p of the SVM for all upper-triangle pairs (Prop. 4), diagonal at ¼ η_i⁴ K(1-K)."""
    upper = np.triu_indices(len(dual))
    gradient = svm_gradient(dual, np.ones_like(dual))
    return variance_weights(gradient[upper], kernel[upper])


def svm_dual_objective(kernel: FloatArray, signs: FloatArray, dual: FloatArray) -> float:
    """Return f = 1ᵀη - ½ ηᵀ(Y K Y)η (Eq. 46)."""
    signed = signs * dual
    return float(dual.sum() - 0.5 * signed @ kernel @ signed)


def remainder_bound(alpha: FloatArray, y: FloatArray, ridge: float) -> FloatArray:
    """Return the bound 8‖y‖ λ^{-1} (|α_i| + |α_j|) on |R_ij| (Lemma 1)."""
    size = np.abs(alpha)
    return np.asarray(8 * np.linalg.norm(y) / ridge * np.add.outer(size, size))


def squared_gradient_bound(gauss_newton: FloatArray, alpha: FloatArray, ridge: float) -> FloatArray:
    """Return the bound ‖α‖² H̃_ij / (2λ²) on h̃_ij (end of the proof of Lemma 1, corrected)."""
    return np.asarray(float(alpha @ alpha) * gauss_newton / (2 * ridge**2))


def derivative_bound(order: int, y: FloatArray, ridge: float) -> float:
    """Return (k+1)! ‖y‖² λ^{-k}, a bound on every k-th derivative of L (Eq. 41, corrected).

    L = λ² yᵀA²y, and the k-th derivative of A² has (k+1)! terms with k+2 factors A each.
    """
    return math.factorial(order + 1) * float(y @ y) / ridge**order


def lipschitz_constant(y: FloatArray, ridge: float) -> float:
    """Return L_a with |â_p - a_p| ≤ L_a ‖K̂ - K‖_op for every pair (Thm 2, corrected).

    In steps 1 and 3 of its proof |g_p| ≤ 2‖y‖²/λ and |dg_p| ≤ 6‖y‖²/λ² per unit of operator norm:
    L_a = ‖y‖⁴ (6 + 4λ) / λ³, for kernels that are positive semi-definite with entries in [0, 1].
    """
    return float(y @ y) ** 2 * (6 + 4 * ridge) / ridge**3


def plug_in_multiplier(a: FloatArray, a_hat: FloatArray) -> float:
    """Return Var(s_plug) / Var*, the exact cost of allocating by â instead of a (Eq. 30)."""
    shots = np.sqrt(a_hat) / np.sum(np.sqrt(a_hat))
    return delta_variance(a, shots) / optimal_variance(a, 1.0)


def plug_in_bound(a: FloatArray, lipschitz: float, distance: float) -> float:
    """Return a bound on the plug-in multiplier for ‖K̂ - K‖_op = ``distance`` (Thm 2, corrected).

    With x = L_a Δ / a_min ≤ ½ the paper's 1 + 3x holds when every a_p is positive. Pairs with
    a_p = 0 can still attract shots, at most sqrt(L_a Δ) each in the normaliser, and that part
    has to be added. Infinite outside the local neighbourhood x ≤ ½.
    """
    support = a > 0
    x = lipschitz * distance / float(a[support].min())
    if x > 0.5:
        return math.inf
    z = float(np.sum(np.sqrt(a)))
    wasted = np.count_nonzero(~support) * math.sqrt(lipschitz * distance) / z
    return (1 + x) * (1 + x + wasted)


def warmup_concentration(n_points: int, shots_per_pair: int) -> float:
    """Return a bound on E‖K̂_w - K‖_op after equal warm-up shots on every pair (Eq. 16).

    Matrix Bernstein for independent symmetric summands (Tropp 2015, Thm 6.6.1): with matrix
    variance v ≤ N / (4 s_w) and summands of norm at most 1/s_w (one shot each),
    sqrt(2 v log 2N) + log(2N) / (3 s_w). Projection at most doubles the distance.
    """
    log = math.log(2 * n_points)
    variance = n_points / (4 * shots_per_pair)
    return math.sqrt(2 * variance * log) + log / (3 * shots_per_pair)


def expected_unseen(n_pairs: int, shots: int) -> float:
    """Return M (1 - 1/M)^B, the pairs left unseen by B uniform draws (Appendix C.5)."""
    return n_pairs * (1 - 1 / n_pairs) ** shots


def geometric_difference(quantum: FloatArray, classical: FloatArray, ridge: float = 0.0) -> float:
    """Return g_CQ = sqrt(‖√K_Q K_C^{-1} √K_Q‖) of Huang et al. 2021 (extended discussion).

    The paper prints a maximum over sign vectors and no square root; its value is at most the
    square of this one. ``ridge`` regularises K_C where it is singular.
    """
    spectrum = Spectrum.of(quantum)
    root = (spectrum.vectors * np.sqrt(spectrum.values)) @ spectrum.vectors.T
    middle = np.linalg.solve(classical + ridge * np.eye(len(classical)), root)
    product = root @ middle
    return math.sqrt(float(eigvalsh((product + product.T) / 2)[-1]))
