"""The formulas of the core against something independent of them, as measured numbers.

The tests assert every check below; ``make figures`` prints the same numbers.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import LinearConstraint, minimize

from aqka._util.arrays import FloatArray
from aqka.allocators.targets import kkt_targets
from aqka.core import PairTable, ShotPlan
from aqka.maths.sensitivity import cauchy_schwarz_ratio, krr_gradient, solve_dual, svm_gradient
from aqka.maths.spectrum import Spectrum
from aqka_research.theory import (
    delta_variance,
    krr_gauss_newton,
    krr_remainder,
    optimal_variance,
    svm_dual_objective,
    training_loss,
    variance_weights,
)

RESAMPLINGS = 2000


@dataclass(frozen=True)
class Check:
    """One agreement: what was compared, how far apart, and how far apart is allowed."""

    what: str
    against: str
    error: float
    allowed: float


def small_problem(n_points: int = 8, seed: int = 3) -> tuple[FloatArray, FloatArray, float]:
    """Return a well-conditioned kernel with entries inside (0, 1), labels, and a ridge."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_points, 3))
    kernel = 0.95 * np.exp(-0.3 * np.sum((x[:, None] - x) ** 2, axis=2))
    y = np.where(np.arange(n_points) % 2, 1.0, -1.0)
    return kernel, y, 0.3


def ridge_parts(
    kernel: FloatArray, y: FloatArray, ridge: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return α, β and A = (K + λI)^{-1} as the package computes them."""
    spectrum = Spectrum.of(kernel)
    alpha = spectrum.solve(y, ridge)
    return alpha, spectrum.solve(alpha, ridge), spectrum.inverse(ridge)


def move_pair(kernel: FloatArray, i: int, j: int, step: float) -> FloatArray:
    """Return the kernel with the pair (i, j) moved by ``step``."""
    shifted = kernel.copy()
    shifted[i, j] += step
    if i != j:
        shifted[j, i] += step
    return shifted


def relative(measured: FloatArray, reference: FloatArray) -> float:
    """Return the largest error relative to the largest reference value."""
    return float(np.abs(measured - reference).max() / np.abs(reference).max())


def first_differences(function: object, kernel: FloatArray, step: float) -> FloatArray:
    """Return central differences of a function of the kernel for every pair."""
    n = len(kernel)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            up, down = (function(move_pair(kernel, i, j, s)) for s in (step, -step))  # type: ignore[operator]
            out[i, j] = out[j, i] = (up - down) / (2 * step)
    return out


def krr_gradient_check() -> Check:
    """Lemma 1, gradient on and off the diagonal."""
    kernel, y, ridge = small_problem()
    alpha, beta, _ = ridge_parts(kernel, y, ridge)
    reference = first_differences(lambda k: training_loss(k, y, ridge), kernel, 1e-5)
    error = relative(krr_gradient(alpha, beta, ridge), reference)
    return Check("KRR gradient (Lemma 1)", "central differences of the loss", error, 1e-7)


def krr_hessian_check() -> Check:
    """Lemma 1, Hessian diagonal H = H̃ + R on and off the diagonal."""
    kernel, y, ridge = small_problem()
    alpha, beta, inverse = ridge_parts(kernel, y, ridge)
    n, step = len(y), 1e-3
    middle = training_loss(kernel, y, ridge)
    reference = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            steps = (-2, -1, 1, 2)
            values = [training_loss(move_pair(kernel, i, j, s * step), y, ridge) for s in steps]
            second = -values[0] + 16 * values[1] - 30 * middle + 16 * values[2] - values[3]
            reference[i, j] = reference[j, i] = second / (12 * step**2)
    hessian = krr_gauss_newton(alpha, inverse, ridge) + krr_remainder(alpha, beta, inverse, ridge)
    error = relative(hessian, reference)
    return Check("KRR Hessian H̃ + R (Lemma 1)", "fourth-order differences", error, 1e-6)


def independent_svm_dual(kernel: FloatArray, y: FloatArray, C: float) -> FloatArray:
    """Solve the SVM dual with a general-purpose optimiser that shares nothing with SVC."""
    gram = np.outer(y, y) * kernel
    result = minimize(
        lambda eta: 0.5 * eta @ gram @ eta - eta.sum(),
        np.full(len(y), C / 4),
        jac=lambda eta: gram @ eta - 1,
        bounds=[(0, C)] * len(y),
        constraints=[{"type": "eq", "fun": lambda eta: y @ eta, "jac": lambda _: y}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return np.asarray(result.x)


def svm_gradient_check() -> Check:
    """Lemma 2, the envelope gradient, the dual solved independently."""
    kernel, y, _ = small_problem()
    C = 2.0

    def optimum(k: FloatArray) -> float:
        return svm_dual_objective(k, y, independent_svm_dual(k, y, C))

    reference = first_differences(optimum, kernel, 1e-4)
    error = relative(svm_gradient(solve_dual(kernel, y, C).dual, y), reference)
    return Check("SVM gradient (Lemma 2)", "differences of an SLSQP optimum", error, 1e-4)


def kkt_check() -> Check:
    """Prop. 1, the KKT targets against a numerical optimiser."""
    a = np.random.default_rng(0).uniform(0.05, 2.0, size=12)
    budget = 100.0
    result = minimize(
        lambda s: np.sum(a / s),
        np.full(a.size, budget / a.size),
        jac=lambda s: -a / s**2,
        hess=lambda s: np.diag(2 * a / s**3),
        bounds=[(1e-3, None)] * a.size,
        constraints=[LinearConstraint(np.ones((1, a.size)), budget, budget)],
        method="trust-constr",
        options={"gtol": 1e-12, "xtol": 1e-14, "maxiter": 5000},
    )
    error = relative(kkt_targets(np.sqrt(a), budget), result.x)
    return Check("KKT targets (Prop. 1)", "a trust-region optimiser", error, 1e-5)


def rho_check() -> Check:
    """Thm 1, ρ against the two variances themselves."""
    a = np.random.default_rng(1).exponential(size=50)
    budget = 1000.0
    best = delta_variance(a, kkt_targets(np.sqrt(a), budget))
    uniform = delta_variance(a, np.full(a.size, budget / a.size))
    closed = optimal_variance(a, budget)
    error = max(abs(cauchy_schwarz_ratio(a) / (best / uniform) - 1), abs(closed / best - 1))
    return Check("ρ and Z²/B (Prop. 1, Thm 1)", "directly summed variances", error, 1e-12)


def monte_carlo_check() -> Check:
    """Eq. 10: the variance of L(K-hat) over resamplings against the delta method."""
    kernel, y, ridge = small_problem()
    table = PairTable(len(y), diagonal="measured")
    k = table.condense(kernel)
    alpha, beta, _ = ridge_parts(kernel, y, ridge)
    a = variance_weights(table.condense(krr_gradient(alpha, beta, ridge)), k)
    shots = np.full(table.n_pairs, 200_000)
    plan = ShotPlan(*table.pairs(), shots)
    rng = np.random.default_rng(2)
    losses = np.empty(RESAMPLINGS)
    for r in range(RESAMPLINGS):
        sampled = PairTable(len(y), diagonal="measured")
        sampled.add(plan, rng.binomial(shots, k))
        losses[r] = training_loss(sampled.square(sampled.estimate()), y, ridge)
    error = abs(float(losses.var(ddof=1)) / delta_variance(a, shots) - 1)
    # A sample variance of R normal values has relative standard error sqrt(2 / (R - 1)).
    allowed = 3 * float(np.sqrt(2 / (RESAMPLINGS - 1)))
    what = f"variance of L(K̂), {RESAMPLINGS} resamplings"
    return Check(what, "delta method (Eq. 10); allowed: 3 SE", error, allowed)


CHECKS = (
    krr_gradient_check,
    krr_hessian_check,
    svm_gradient_check,
    kkt_check,
    rho_check,
    monte_carlo_check,
)
