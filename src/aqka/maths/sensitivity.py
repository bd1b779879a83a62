"""How strongly each kernel entry, or each measured state, moves the head.

Functions of pairs return an N-by-N symmetric matrix whose (i, j) entry belongs to the *pair*
(i, j), that is to moving K_ij and K_ji together; the diagonal entry belongs to K_ii alone.

Functions of points (docs/explanation/points.md): shot noise moves the state u_i of a point by δ,
with the inverse Fisher information of one shot as its covariance; a function of the kernel moves
with it by Tr G_i dρ_i = 2 Re⟨δ|G_i|u_i⟩, where G_i = ∂L/∂ρ_i. With s_i shots a point the variance
is Σ v_i / s_i, v_i its variance at one shot, and it is smallest at s_i ∝ sqrt(v_i).
"""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray
from aqka.maths.spectrum import Spectrum

SATURATED_SHOTS_PER_PAIR = 16  # above it every pair is resolved: the edge of the paper's regime map


def krr_gradient(alpha: FloatArray, beta: FloatArray, ridge: float) -> FloatArray:
    """Return g_ij = dL/dK_ij of the ridge training loss L = λ²‖α‖² (Lemma 1, Eq. 6).

    Off the diagonal -2λ²(β_i α_j + β_j α_i); on it half of that, -2λ² β_i α_i.
    """
    gradient = np.outer(beta, (-2 * ridge**2) * alpha)
    gradient += gradient.T
    np.fill_diagonal(gradient, gradient.diagonal() / 2)
    return np.asarray(gradient)


def svm_gradient(dual: FloatArray, signs: FloatArray) -> FloatArray:
    """Return df*/dK_ij = -y_i y_j η_i η_j, half of it on the diagonal (Lemma 2, Eq. 47)."""
    gradient = -np.outer(signs * dual, signs * dual)
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


def cauchy_schwarz_ratio(a: FloatArray) -> float:
    """Return ρ = Var* / Var_unif = Z² / (M Σ a_p) ≤ 1 (Thm 1, Eq. 12); 1 where all a_p are 0."""
    if not a.any():
        return 1.0
    relative = a / a.max()  # scale-free, and safe for the smallest weights
    return float(np.sum(np.sqrt(relative)) ** 2 / (a.size * relative.sum()))


def soft_support(dual: FloatArray, margin: float) -> FloatArray:
    """Return the margin-stabilised support softmax(η / τ) at τ = 1/γ (Appendix A.6, remedy (i)).

    A thin margin γ flattens it, so that a support set misread from a noisy warm-up does not
    swallow the whole budget. Scaled to a largest weight of 1: only ratios matter.
    """
    exponent = dual * margin
    return np.asarray(np.exp(exponent - exponent.max()))


def loss_variances(
    states: ComplexArray, roots: FloatArray, alpha: FloatArray, beta: FloatArray
) -> FloatArray:
    """Return v_i of the ridge training loss L = λ²‖α‖², divided by λ⁴, one column per output.

    With the pair sensitivities g_ij = -2λ²(β_i α_j + β_j α_i) of Lemma 1 (Eq. 6) the operator is
    G_i = Σ_j g_ij ρ_j = -2λ²(β_i A + α_i B) with A = Σ_j α_j ρ_j and B = Σ_j β_j ρ_j: two operators
    serve all points. A point with itself has K_ii = 1 whatever its state, and drops out because
    δ ⊥ u_i. ``roots`` are those of ``aqka.maths.state_errors.tangent_roots`` at one shot.
    """
    variances = np.empty(alpha.shape)
    for k, (a, b) in enumerate(zip(alpha.T, beta.T, strict=True)):
        moved_a, moved_b = (
            states @ ((states.T * weights) @ states.conj()).T for weights in (a, b)
        )  # A u_i and B u_i
        vectors = -2 * (b[:, None] * moved_a + a[:, None] * moved_b)  # G_i u_i
        variances[:, k] = np.sum(_along(vectors[:, None], roots) ** 2, axis=(1, 2))
    return variances


def _along(vectors: ComplexArray, roots: FloatArray) -> FloatArray:
    """Return 2 Re⟨δ|v⟩ of each of a point's vectors, in the coordinates z of δ = Bz."""
    return np.asarray(2 * np.concatenate([vectors.real, vectors.imag], axis=-1) @ roots)


def prediction_variances(
    states: ComplexArray, roots: FloatArray, spectrum: Spectrum, alpha: FloatArray, ridge: float
) -> FloatArray:
    """Return v_i of the predictions f = Kα, mean over the points, one column per output.

    A state enters twice: it is compared with the point that is predicted, and it moves α.
    With k = dK_{·i} the row of the kernel moves f at all points by
    (K + λI)⁻¹ [λ α_i k - K_{·i} (αᵀk)].
    """
    shrunk = 1.0 / (spectrum.values + ridge)
    weights = (spectrum.vectors * shrunk).T  # up to a rotation, (K + λI)⁻¹
    own = weights @ spectrum.kernel()
    variances = np.empty(alpha.shape)
    for i, (u, root) in enumerate(zip(states, roots, strict=True)):
        moved = _along((states.conj() @ u)[:, None] * states, root)  # dK_{·i} in z
        solved = weights @ moved
        for k, a in enumerate(alpha.T):
            change = ridge * a[i] * solved - np.outer(own[:, i], a @ moved)
            variances[i, k] = np.sum(change**2) / len(states)
    return variances


MOST_STEPS = 10**5
"""Steps of the SVM solver. A kernel of few shots may have a rank far below the number of points,
on which the last digits would take hours."""


@dataclass(frozen=True, eq=False)
class SvmSolution:
    """Solution of the dual (Eq. 46): coefficients η, intercept, and geometric margin γ = 1/‖w‖."""

    dual: FloatArray
    intercept: float
    margin: float


def solve_dual(
    kernel: FloatArray, signs: FloatArray, C: float, weights: FloatArray | None = None
) -> SvmSolution:
    """Maximise 1ᵀη - ½ ηᵀ(Y K Y)η on 0 ≤ η ≤ C, yᵀη = 0 (Eq. 46); weights multiply C."""
    from sklearn.exceptions import ConvergenceWarning  # imported here: it takes longer than
    from sklearn.svm import SVC  # all the rest of aqka

    # SVC orders its classes, so +1 is the positive class and dual_coef_ holds y η.
    machine = SVC(kernel="precomputed", C=C, tol=1e-6, max_iter=max(MOST_STEPS, 100 * len(signs)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(kernel, signs, sample_weight=weights)
    signed = np.zeros(len(signs))
    signed[machine.support_] = machine.dual_coef_[0]
    norm = math.sqrt(max(float(signed @ kernel @ signed), np.finfo(float).tiny))
    return SvmSolution(signed * signs, float(machine.intercept_[0]), 1.0 / norm)
