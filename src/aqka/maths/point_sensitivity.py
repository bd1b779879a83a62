"""How much of a head's variance each measured point is to blame for (docs/explanation/points.md).

Shot noise moves the state u_i of a point by δ, with the inverse Fisher information of one shot as
its covariance; a function of the kernel moves with it by Tr G_i dρ_i = 2 Re⟨δ|G_i|u_i⟩, where
G_i = ∂L/∂ρ_i. With s_i shots a point the variance is Σ v_i / s_i, v_i the variance of that at one
shot, and it is smallest at s_i ∝ sqrt(v_i).
"""

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.maths.product_bases import ComplexArray
from aqka.maths.spectrum import Spectrum


def loss_variances(
    states: ComplexArray, roots: FloatArray, alpha: FloatArray, beta: FloatArray
) -> FloatArray:
    """Return v_i of the ridge training loss L = λ²‖α‖², divided by λ⁴, one column per output.

    With the pair sensitivities g_ij = -2λ²(β_i α_j + β_j α_i) of Lemma 1 (Eq. 6) the operator is
    G_i = Σ_j g_ij ρ_j = -2λ²(β_i A + α_i B) with A = Σ_j α_j ρ_j and B = Σ_j β_j ρ_j: two operators
    serve all points. A point with itself has K_ii = 1 whatever its state, and drops out because
    δ ⊥ u_i.

    Parameters
    ----------
    states
        Pure states, one per row.
    roots
        B_i with δ = B_i z, z standard normal, at one shot
        (:func:`~aqka.maths.state_errors.tangent_roots`).
    alpha, beta
        α = (K + λI)⁻¹ y and β = (K + λI)⁻¹ α, one column per output.
    """
    variances = np.empty(alpha.shape)
    for k, (a, b) in enumerate(zip(alpha.T, beta.T, strict=True)):
        moved_a, moved_b = (_weighted_sum_applied(weights, states) for weights in (a, b))
        vectors = -2 * (b[:, None] * moved_a + a[:, None] * moved_b)  # G_i u_i
        variances[:, k] = np.sum(_along(vectors[:, None], roots) ** 2, axis=(1, 2))
    return variances


def _weighted_sum_applied(weights: FloatArray, states: ComplexArray) -> ComplexArray:
    """Return (Σ_j w_j |u_j⟩⟨u_j|) u_i for each i."""
    operator = (states.T * weights) @ states.conj()
    return np.asarray(states @ operator.T)


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
