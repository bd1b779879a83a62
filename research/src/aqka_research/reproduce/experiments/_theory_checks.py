"""The paper's statements about sensitivities, evaluated on random problems.

Each function returns rows; where a bound is checked, ``ratio`` is the largest quotient of what is
bounded by the bound, so that the bound holds as long as it is at most 1.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import FloatArray
from aqka.core.pairs import PairTable
from aqka.maths.sensitivity import cauchy_schwarz_ratio, krr_gradient, solve_dual
from aqka.maths.spectrum import project_psd
from aqka_research.results import Row
from aqka_research.tasks import Task, planted_sparse
from aqka_research.theory import (
    delta_variance,
    krr_gauss_newton,
    krr_remainder,
    krr_squared_gradient,
    lipschitz_constant,
    optimal_variance,
    planted_ceiling,
    planted_support_size,
    plug_in_bound,
    plug_in_multiplier,
    remainder_bound,
    squared_gradient_bound,
    svm_ceiling,
    svm_variance_weights,
    training_loss,
    variance_weights,
    warmup_concentration,
)

SMALL = 20
"""Points of the problems on which every pair is checked."""
SMALL_RIDGE = 0.1
DRAWS = 2000
STEP = 1e-4  # of finite differences


def lemma_rows(task: Task, rng: Generator) -> list[Row]:
    """Check Lemma 1: gradient and Hessian against finite differences, and its two bounds.

    With random labels, for which no coefficient vanishes.
    """
    kernel, ridge = task.kernel, task.ridge
    y = rng.choice([-1.0, 1.0], len(task.y))
    alpha, beta, inverse = _parts(kernel, y, ridge)
    gradient = krr_gradient(alpha, beta, ridge)
    gauss_newton = krr_gauss_newton(alpha, inverse, ridge)
    remainder = krr_remainder(alpha, beta, inverse, ridge)
    hessian = gauss_newton + remainder
    errors = []
    for i, j in rng.integers(0, len(y), (30, 2)):
        moved = [training_loss(_move_pair(kernel, i, j, s * STEP), y, ridge) for s in (-1, 0, 1)]
        first, second = (moved[2] - moved[0]) / (2 * STEP), moved[2] - 2 * moved[1] + moved[0]
        errors.append((first - gradient[i, j], second / STEP**2 - hessian[i, j]))
    worst = np.abs(errors).max(axis=0) / [np.abs(gradient).max(), np.abs(hessian).max()]
    proxy = krr_squared_gradient(alpha, beta)
    printed = gauss_newton / (alpha @ alpha) / (2 * ridge**2)
    corrected = squared_gradient_bound(gauss_newton, alpha, ridge)
    return [
        {"method": "gradient against finite differences", "error": float(worst[0])},
        {"method": "Hessian against finite differences", "error": float(worst[1])},
        _ratio("bound on R", _largest(np.abs(remainder), remainder_bound(alpha, y, ridge))),
        _ratio("h̃ bound, as printed", _largest(proxy, printed)),
        _ratio("h̃ bound, corrected", _largest(proxy, corrected)),
    ]


def allocation_rows(task: Task, rng: Generator) -> list[Row]:
    """Check Prop. 1 and Eq. 10: no random allocation is better, and simulation agrees."""
    table = PairTable(len(task.y))
    a = _weights(task.kernel, task, table)
    budget = 1e6
    best = optimal_variance(a, budget)
    near = np.sqrt(a) * np.exp(rng.normal(size=(200, a.size)) * rng.uniform(0, 1, (200, 1)))
    others = [delta_variance(a, budget * s / s.sum()) for s in (*near, np.ones(a.size))]
    k, shots = table.condense(task.kernel), 100_000
    hits = rng.binomial(shots, k, size=(DRAWS, k.size)) / shots
    losses = [training_loss(table.square(row), task.y, task.ridge) for row in hits]
    predicted = delta_variance(a, np.full(a.size, float(shots)))
    return [
        _ratio("smallest variance of an allocation over Z²/B", min(others) / best),
        _ratio("simulated variance over the delta method's", float(np.var(losses)) / predicted),
    ]


def warm_up_rows(task: Task, shots: int, rng: Generator) -> list[Row]:
    """Measure the plug-in's cost and distance after a warm-up of so many shots on every pair."""
    table = PairTable(len(task.y), "measured")
    k = table.condense(task.kernel)
    raw = table.square(rng.binomial(shots, k) / shots)
    estimate = project_psd(raw)
    half = 0.5 / (shots + 1)  # keeps K̂(1 - K̂) of a pair from vanishing where it is read as 0 or 1
    a = _weights(task.kernel, task, table, sparse=True)
    a_hat = _weights(np.clip(estimate, half, 1 - half), task, table, solved=estimate)
    raw_distance, distance = (float(np.linalg.norm(x - task.kernel, 2)) for x in (raw, estimate))
    return [
        {
            "method": "warm-up",
            "shots": shots,
            "multiplier": plug_in_multiplier(a, a_hat),
            "distance": distance,
            "doubling": distance / raw_distance,
            "concentration": raw_distance / warmup_concentration(len(task.y), shots),
        }
    ]


def plug_in_rows(task: Task, rng: Generator) -> list[Row]:
    """Check Theorem 2 where it applies: inside the neighbourhood L_a Δ ≤ a_min / 2."""
    table = PairTable(len(task.y))
    y = task.y / np.abs(task.y).max()
    unit = replace(task, y=y)  # the theorem's scale of labels
    a = _weights(task.kernel, unit, table, sparse=True)
    smallest = float(a[a > 0].min())
    kappa = float(np.linalg.norm(task.kernel, 2))
    printed = 16 * (kappa + task.ridge) * float(y @ y) / task.ridge**3
    noise = rng.normal(size=task.kernel.shape)
    noise = (noise + noise.T) / np.linalg.norm(noise + noise.T, 2)
    rows: list[Row] = []
    corrected = lipschitz_constant(y, task.ridge)
    for name, constant in (("as printed", printed), ("corrected", corrected)):
        distance = smallest / (2 * constant)
        a_hat = _weights(task.kernel + distance * noise, unit, table)
        excess = plug_in_multiplier(a, a_hat) - 1
        allowed = 1.5 if name == "as printed" else plug_in_bound(a, constant, distance) - 1
        # Eq. 16 solved for the shots a pair that bring the mean distance there.
        shots = (warmup_concentration(len(y), 10**12) / distance) ** 2 * 1e12
        needed = {"log10_shots_needed": math.log10(shots)}
        rows.append(_ratio(f"plug-in bound, {name}", excess / allowed) | needed)
    return rows


def ceiling_rows(points: int, anchors: int, seed: int) -> list[Row]:
    """Measure ρ of a planted problem beside its ceilings (Theorem 1)."""
    task = planted_sparse(points, 2, anchors, seed=seed)
    table = PairTable(points, "measured")
    a = _weights(task.kernel, task, table, sparse=True)
    rho = cauchy_schwarz_ratio(a)
    touched = np.zeros(points, dtype=bool)
    touched[task.anchors] = True
    strip = int(np.count_nonzero(table.condense(np.logical_or.outer(touched, touched))))
    return [
        {
            "method": "planted",
            "points": points,
            "anchors": anchors,
            "rho": rho,
            "over_ceiling": rho / planted_ceiling(points, anchors),
            "over_shorthand": rho / (2 * anchors / (points + 1)),
            "over_naive": rho / (anchors / points) ** 2,
            "strip": strip / planted_support_size(points, anchors),
        }
    ]


def svm_rows(task: Task) -> list[Row]:
    """Measure the SVM's ρ beside its ceilings (Theorem 3), on the kernel and on a noisy one.

    Depolarising noise lowers the diagonal, which then costs shots as every pair does.
    """
    signs = np.where(task.y >= np.median(task.y), 1.0, -1.0)
    rows: list[Row] = []
    for kernel in (task.kernel, 0.5 * task.kernel + 0.5 / 16):
        dual = solve_dual(kernel, signs, 5.0).dual
        support, points = int(np.count_nonzero(dual > 0)), len(dual)
        rho = cauchy_schwarz_ratio(svm_variance_weights(dual, kernel))
        rows.append(
            {
                "method": "SVM",
                "rho": rho,
                "over_ceiling": rho / svm_ceiling(points, support),
                "over_shorthand": rho / (support / points) ** 2,
            }
        )
    return rows


def derivative_rows() -> list[Row]:
    """Check the derivative bound (Eq. 41) on one point at K = 0, where all is explicit."""
    ridge, y = 0.5, np.array([1.0])
    alpha, beta, inverse = _parts(np.zeros((1, 1)), y, ridge)
    first = abs(float(krr_gradient(alpha, beta, ridge)[0, 0]))
    parts = krr_gauss_newton(alpha, inverse, ridge) + krr_remainder(alpha, beta, inverse, ridge)
    return [
        _ratio("L′ bound, as printed", first / (math.sqrt(2) / ridge)),
        _ratio("L″ bound, as printed", float(parts[0, 0]) / (4 / ridge**2)),
    ]


def remainder_rows(shots: int, rng: Generator) -> list[Row]:
    """Compute the bias beyond second order of three points exactly, over all outcomes (Prop. 3)."""
    from scipy.stats import binom

    ridge, y, table = 1.0, np.array([1.0, -1.0, 1.0]), PairTable(3)
    k = rng.uniform(0.1, 0.5, 3)
    kernel = table.square(k)
    alpha, beta, inverse = _parts(kernel, y, ridge)
    hessian = krr_gauss_newton(alpha, inverse, ridge) + krr_remainder(alpha, beta, inverse, ridge)
    leading = 0.5 * np.sum(table.condense(hessian) * k * (1 - k) / shots)
    counts = np.arange(shots + 1)
    values = np.meshgrid(*(counts / shots,) * 3, indexing="ij")
    matrices = np.zeros((*values[0].shape, 3, 3)) + (1 + ridge) * np.eye(3)
    for i, j, entry in zip(*table.pairs(np.arange(3)), values, strict=True):
        matrices[..., i, j] = matrices[..., j, i] = entry
    alphas = np.linalg.solve(matrices, np.broadcast_to(y[:, None], (*matrices.shape[:-1], 1)))
    losses = ridge**2 * np.sum(alphas[..., 0] ** 2, axis=-1)
    mass = [binom.pmf(counts, shots, p) for p in k]
    bias = float(np.einsum("i,j,k,ijk->", *mass, losses) - training_loss(kernel, y, ridge))
    return [
        {
            "method": "remainder",
            "shots": shots,
            "leading": abs(float(leading)),
            "remainder": abs(bias - float(leading)),
        }
    ]


def _ratio(name: str, ratio: float) -> Row:
    return {"method": name, "ratio": float(ratio)}


def _largest(values: FloatArray, bound: FloatArray) -> float:
    return float(np.max(values / bound))


def _parts(
    kernel: FloatArray, y: FloatArray, ridge: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return α, β and A by a plain inverse: independent of the package's spectrum."""
    inverse = np.asarray(np.linalg.inv(kernel + ridge * np.eye(len(y))), dtype=np.float64)
    alpha = inverse @ y
    return alpha, inverse @ alpha, inverse


def _weights(
    kernel: FloatArray,
    task: Task,
    table: PairTable,
    *,
    solved: FloatArray | None = None,
    sparse: bool = False,
) -> FloatArray:
    """Return a_p of a kernel; ``sparse`` rids planted coefficients of rounding errors."""
    alpha, beta, _ = _parts(kernel if solved is None else solved, task.y, task.ridge)
    if sparse:
        alpha = np.where(np.isin(np.arange(len(alpha)), task.anchors), alpha, 0.0)
    gradient = table.condense(krr_gradient(alpha, beta, task.ridge))
    return variance_weights(gradient, np.clip(table.condense(kernel), 0, 1))


def _move_pair(kernel: FloatArray, i: int, j: int, step: float) -> FloatArray:
    moved = kernel.copy()
    moved[i, j] += step
    moved[j, i] = moved[i, j]
    return moved
