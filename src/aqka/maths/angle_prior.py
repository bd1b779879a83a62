"""A Gaussian process on gate angles: what the trained decision function says of new points.

f(x) = Tr ρ(x)A is a combination of the Pauli expectations of x's state, and these vary smoothly
with the angles φ_g(x) of the circuit's gates. So f is taken for a Gaussian process with

    k(x, x') = exp(-½ Σ_g D_g / (c_g ℓ_g²)),   D_g = 4 sin²((φ_g - φ'_g)/2),

c_g half the mean of D_g over the training points. Its widths ℓ are those of the measured kernel,
not of the labels: K̂ = 2⁻ⁿ Σ_P ⟨P⟩⟨P⟩ᵀ is the second moment of all Pauli expectations, so that

    ½ 2ⁿ [tr(C⁻¹K̂) + log|C|],   C = a k + 11ᵀ + σ²I,

is minus the log evidence of a Gaussian process with 2ⁿ outputs. docs/explanation/prediction.md
says more.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize, minimize_scalar

from aqka._util.arrays import FloatArray, IntArray

WIDTH_SPREAD = 1.2  # standard deviation of log ℓ around ½ log G, G being the number of angles
WIDTH_POINTS = 300  # widths are learnt on at most so many training points, spread evenly over them
INDUCING_POINTS = 1500  # beyond it, f is regressed on so many of the points, spread evenly over all
JITTER = 1e-8
STARTS = (0.0, -1.0)  # where log ℓ starts, from ½ log G
WIDTH_BOUNDS, AMPLITUDE_BOUNDS, NOISE_BOUNDS = (-3.0, 5.0), (-7.0, 4.0), (-9.0, 2.0)
NOISE_RATIOS = (-12.0, 6.0)  # ends of the logarithm of noise over amplitude


def slowest(angles: FloatArray) -> IntArray:
    """Return the columns to keep: those that vary, and of parallel ones that which varies least."""
    centred = angles - angles.mean(axis=0)
    size = np.sqrt(np.sum(centred**2, axis=0))
    kept: list[int] = []
    for g in np.argsort(size, kind="stable"):
        along = np.abs(centred[:, kept].T @ centred[:, g]) if kept else np.zeros(0)
        if size[g] > 1e-9 and np.all(along < (1 - 1e-9) * size[kept] * size[g]):
            kept.append(int(g))
    return np.array(sorted(kept) or [0], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class AngleKernel:
    """k of points by their angles, with widths ℓ_g and scales c_g.

    Where it is not ``periodic`` the columns are features, and D_g is the squared difference.
    """

    widths: FloatArray
    scales: FloatArray
    periodic: bool = True

    def __call__(self, rows: FloatArray, cols: FloatArray | None = None) -> FloatArray:
        """Return the kernel of each row point with each column point."""
        units = np.tile(np.sqrt(self.scales) * self.widths, 1 + self.periodic)
        left = coordinates(rows, self.periodic) / units
        return _gaussian(left, left if cols is None else coordinates(cols, self.periodic) / units)


def coordinates(angles: FloatArray, periodic: bool) -> FloatArray:
    """Return coordinates whose squared distance is Σ_g D_g: cosines and sines, or features."""
    return np.hstack([np.cos(angles), np.sin(angles)]) if periodic else angles


def _gaussian(left: FloatArray, right: FloatArray) -> FloatArray:
    away = np.sum(left**2, axis=1)[:, None] + np.sum(right**2, axis=1) - 2 * left @ right.T
    return np.asarray(np.exp(-0.5 * np.maximum(away, 0.0)))


class WidthObjective:
    """Minus the log evidence of widths, amplitude and noise on a measured kernel.

    ``outputs`` is how many outputs the kernel is the mean second moment of: 2ⁿ of a fidelity, and
    the number of expectations of a projected kernel.
    """

    def __init__(
        self, angles: FloatArray, kernel: FloatArray, outputs: float, periodic: bool = True
    ) -> None:
        self.kernel, self.outputs, self.periodic = as_correlation(kernel), outputs, periodic
        self._places, count = coordinates(angles, periodic), angles.shape[1]
        # Half the mean squared distance of two points is their variance, summed over coordinates.
        variances = self._places.var(axis=0).reshape(-1, count).sum(axis=0)
        self.scales = np.maximum(variances, 1e-12)
        self.centre = 0.5 * np.log(count)

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient at (log ℓ_g, …, log a, log σ²), over ½ outputs · N."""
        n, log_widths, (a, noise) = len(self.kernel), theta[:-2], np.exp(theta[-2:])
        flat = self._places / np.tile(np.sqrt(self.scales) * np.exp(log_widths), 1 + self.periodic)
        k = _gaussian(flat, flat)
        covariance = a * k + 1.0
        covariance[np.diag_indices(n)] += noise
        factor = cholesky(covariance, lower=True, overwrite_a=True, check_finite=False)
        half, _ = dpotri(factor, lower=True)
        inverse = half + np.tril(half, -1).T
        fitted = inverse @ self.kernel
        unit = 0.5 * self.outputs * n
        away = (log_widths - self.centre) / WIDTH_SPREAD
        log_determinant = 2 * np.sum(np.log(np.diag(factor)))
        value = (np.trace(fitted) + log_determinant) / n + 0.5 * np.sum(away**2) / unit
        slope = (inverse - fitted @ inverse) / n  # by C
        pull = slope * k * a
        # Σ_ij pull_ij D_g,ij of each angle, without the D_g themselves.
        moved = 2 * np.sum(flat * (flat * pull.sum(axis=1)[:, None] - pull @ flat), axis=0)
        by_widths = moved.reshape(-1, len(away)).sum(axis=0) + away / (WIDTH_SPREAD * unit)
        return float(value), np.append(by_widths, [pull.sum(), np.trace(slope) * noise])

    def minimise(self) -> AngleKernel:
        """Return the kernel with the best widths from all starts."""
        count = len(self.scales)
        widths = self.centre + WIDTH_BOUNDS[0], self.centre + WIDTH_BOUNDS[1]
        bounds = [widths] * count + [AMPLITUDE_BOUNDS, NOISE_BOUNDS]
        begin = [np.append(np.full(count, self.centre + s), [-0.7, -2.3]) for s in STARTS]
        how: dict[str, Any] = {"method": "L-BFGS-B", "jac": True, "options": {"ftol": 1e-7}}
        found = [minimize(self, theta, bounds=bounds, **how) for theta in begin]
        best = min(found, key=lambda one: float(one.fun))
        return AngleKernel(np.exp(best.x[:-2]), self.scales, self.periodic)


def as_correlation(kernel: FloatArray) -> FloatArray:
    """Return the nearest positive semi-definite kernel, scaled to a unit diagonal.

    A negative eigenvalue would let the evidence grow without end.
    """
    values, vectors = eigh((kernel + kernel.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    root /= np.maximum(np.sqrt(np.sum(root**2, axis=1)), 1e-12)[:, None]
    return np.asarray(root @ root.T)


@dataclass(frozen=True, eq=False)
class AnglePrior:
    """The Gaussian process of a decision function; answers new points without a shot."""

    kernel: AngleKernel
    columns: IntArray  # the angles it looks at
    angles: FloatArray  # these of the training points
    values: FloatArray  # what is regressed on them, one column per output
    amplitudes: FloatArray  # variance of f, one per output
    ratios: FloatArray  # that of the noise over it

    @classmethod
    def fit(
        cls,
        angles: FloatArray,
        kernel: FloatArray,
        values: FloatArray,
        outputs: float,
        *,
        periodic: bool = True,
    ) -> "AnglePrior":
        """Learn widths from a measured kernel, then amplitude and noise from ``values``.

        ``kernel`` is K̂ of the training points that ``spread_evenly`` gives, at most
        ``WIDTH_POINTS``; for ``outputs`` and ``periodic`` see :class:`WidthObjective`.
        """
        columns = slowest(angles)
        used, values = angles[:, columns], values.reshape(len(values), -1)
        some = spread_evenly(len(used), WIDTH_POINTS)
        objective = WidthObjective(used[some], kernel, outputs, periodic)
        return cls.regress(objective.minimise(), columns, used, values)

    @classmethod
    def regress(
        cls, kernel: AngleKernel, columns: IntArray, angles: FloatArray, values: FloatArray
    ) -> "AnglePrior":
        """Learn amplitude and noise of each output, with the widths as they are."""
        basis = Basis(kernel, angles)
        found = np.array([basis.evidence(column) for column in values.T])
        return cls(kernel, columns, angles, values, found[:, 0], found[:, 1])

    @cached_property
    def basis(self) -> "Basis":
        """What k spans on the training points."""
        return Basis(self.kernel, self.angles)

    @property
    def noise(self) -> FloatArray:
        """Deviation of what the angles do not explain, one per output."""
        return np.sqrt(self.amplitudes * self.ratios)

    def predict(self, angles: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of f at new points, one column per output."""
        basis = self.basis
        placed = basis.place(angles[:, self.columns])
        shrunk = basis.powers[:, None] + self.ratios
        mean = placed @ (basis.roots.T @ self.values / shrunk)
        square = placed**2
        left = 1 - square.sum(axis=1)[:, None] + square @ (self.ratios / shrunk)
        return mean, np.sqrt(self.amplitudes * np.maximum(left, 0.0))


class Basis:
    """k as features of the training points, orthogonal over them.

    With all points as inducing points this is the Gaussian process itself; with some of them its
    deterministic training conditional (Quiñonero-Candela and Rasmussen 2005).
    """

    def __init__(self, kernel: AngleKernel, angles: FloatArray) -> None:
        self.kernel = kernel
        self._inducing = angles[spread_evenly(len(angles), INDUCING_POINTS)]
        among = kernel(self._inducing)
        among[np.diag_indices(len(among))] += JITTER
        self._root = cholesky(among, lower=True)
        features = self._features(angles)
        powers, self._turn = eigh(features.T @ features)
        self.powers = np.maximum(powers, 0.0)
        self.roots = features @ self._turn

    def _features(self, angles: FloatArray) -> FloatArray:
        block = self.kernel(self._inducing, angles)
        return np.asarray(solve_triangular(self._root, block, lower=True).T)

    def place(self, angles: FloatArray) -> FloatArray:
        """Return the features of any points."""
        return np.asarray(self._features(angles) @ self._turn)

    def evidence(self, values: FloatArray) -> tuple[float, float]:
        """Return amplitude and ratio of noise to it where the evidence of values is largest."""
        along, n = (self.roots.T @ values) ** 2, len(values)
        seen = self.powers > JITTER
        along, powers = along[seen] / self.powers[seen], self.powers[seen]
        rest = max(float(values @ values - along.sum()), 0.0)

        def amplitude(ratio: float) -> float:
            return float(np.sum(along / (powers + ratio)) + rest / ratio) / n

        def loss(log_ratio: float) -> float:
            ratio = np.exp(log_ratio)
            determinant = np.sum(np.log(powers + ratio)) + (n - len(powers)) * log_ratio
            return float(n * np.log(max(amplitude(ratio), 1e-300)) + determinant)

        # Coarsely first: the evidence may have two maxima, all signal and all noise.
        grid = np.linspace(*NOISE_RATIOS, 37)
        best = grid[int(np.argmin([loss(one) for one in grid]))]
        step = grid[1] - grid[0]
        ends = max(best - step, grid[0]), min(best + step, grid[-1])
        ratio = float(np.exp(minimize_scalar(loss, bounds=ends, method="bounded").x))
        return amplitude(ratio), ratio


def spread_evenly(count: int, most: int) -> IntArray:
    """Return at most so many of the first ``count`` numbers, spread evenly over them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def lead(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return by how many deviations the first class leads over each of the others at least.

    For one column |m|/sd. For several, errors of two classes may go against each other, so that
    the deviation of their difference is at most the sum of theirs.
    """
    floor = np.finfo(np.float64).tiny
    if mean.shape[1] == 1:
        return np.asarray(np.abs(mean[:, 0]) / np.maximum(deviation[:, 0], floor))
    rows, first = np.arange(len(mean)), mean.argmax(axis=1)
    gap = mean[rows, first][:, None] - mean
    ratio = gap / np.maximum(deviation[rows, first][:, None] + deviation, floor)
    ratio[rows, first] = np.inf
    return np.asarray(ratio.min(axis=1))
