"""What the diagonal says about the noise: its rate, whether it drifts, and how to take it out.

Under global depolarising noise that keeps the state with probability p, the fidelity test of n
qubits measures K_noisy = p K + (1 - p) / 2^n, and on the diagonal p + (1 - p) / 2^n.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from aqka._util.arrays import FloatArray, IntArray, as_count, as_counts
from aqka.core.plans import ShotPlan
from aqka.errors import InputError


def as_hits_and_shots(
    hits: ArrayLike, shots: ArrayLike, dimensions: int
) -> tuple[IntArray, IntArray]:
    """Return hits and shots as counts of one shape that fit each other."""
    counts, totals = np.asarray(hits), np.asarray(shots)
    if counts.ndim != dimensions or counts.shape != totals.shape:
        raise InputError(
            f"hits and shots must have one shape of {dimensions} dimensions, got "
            f"{counts.shape} and {totals.shape}."
        )
    flat_hits, flat_shots = as_counts(counts.ravel(), "hits"), as_counts(totals.ravel(), "shots")
    if np.any(flat_hits < 0) or np.any(flat_hits > flat_shots):
        raise InputError("hits must lie between 0 and shots; check the order of the arguments.")
    return flat_hits.reshape(counts.shape), flat_shots.reshape(totals.shape)


@dataclass(frozen=True)
class Depolarising:
    """An estimated survival probability.

    Attributes
    ----------
    survival
        p, the probability that the state is kept; unclipped, so that it is unbiased.
    standard_error
        Its standard error by shot noise.
    n_qubits
        Qubits of the circuit.
    """

    survival: float
    standard_error: float
    n_qubits: int

    @property
    def rate(self) -> float:
        """Return the depolarising rate 1 - p."""
        return 1.0 - self.survival


def estimate_depolarising(hits: ArrayLike, shots: ArrayLike, n_qubits: int) -> Depolarising:
    """Return the survival probability from hits of diagonal entries, all pooled.

    The standard error takes half a hit and half a miss more than counted, so it is never zero.

    Examples
    --------
    >>> estimate_depolarising([90, 88], [100, 100], n_qubits=3).survival
    0.8742857142857143
    """
    counts, totals = as_hits_and_shots(hits, shots, dimensions=1)
    floor = 0.5 ** as_count(n_qubits, "n_qubits")
    total = int(totals.sum())
    if total == 0:
        raise InputError("shots must not all be 0; run sentinels first.")
    hit = int(counts.sum())
    smooth = (hit + 0.5) / (total + 1)
    return Depolarising(
        survival=(hit / total - floor) / (1 - floor),
        standard_error=float(np.sqrt(smooth * (1 - smooth) / total) / (1 - floor)),
        n_qubits=n_qubits,
    )


def mitigate_depolarising(
    kernel: ArrayLike, survival: ArrayLike, n_qubits: int, *, clip: bool = True
) -> FloatArray:
    """Take depolarising noise out of a kernel estimate: K = (K_noisy - (1 - p) / 2^n) / p.

    An explicit step, because it has a price: it removes the bias that the model describes and
    multiplies the shot noise of every entry by 1 / p.

    Parameters
    ----------
    kernel
        Noisy estimate, a matrix.
    survival
        One p for all; or one for each point: the pair (i, j) then has sqrt(p_i p_j); or a matrix
        with one for each pair, as a test-by-train block needs.
    n_qubits
        Qubits of the circuit.
    clip
        Whether to clip to [0, 1]. Unclipped values are unbiased.

    Examples
    --------
    >>> noisy = 0.8 * np.array([[1.0, 0.3], [0.3, 1.0]]) + 0.2 / 4
    >>> mitigate_depolarising(noisy, 0.8, n_qubits=2)
    array([[1. , 0.3],
           [0.3, 1. ]])
    """
    noisy = np.asarray(kernel, dtype=np.float64)
    if noisy.ndim != 2:
        raise InputError(f"kernel must be a matrix, got shape {noisy.shape}.")
    p = np.asarray(survival, dtype=np.float64)
    if not np.all(np.isfinite(p)) or np.any(p <= 0):
        raise InputError(
            f"survival must be finite and above 0, got {survival!r}; where nothing survives there "
            "is no kernel to recover: use fewer gates or more sentinel shots."
        )
    p = p if p.ndim == 2 else np.sqrt(np.multiply.outer(p, p))
    if p.shape not in ((), noisy.shape):
        raise InputError(
            f"survival must be one number, one per point of a square kernel, or one for each entry "
            f"of the {noisy.shape} kernel, got shape {np.shape(survival)}."
        )
    floor = 0.5 ** as_count(n_qubits, "n_qubits")
    kernel_estimate = (noisy - (1 - p) * floor) / p
    return np.asarray(np.clip(kernel_estimate, 0.0, 1.0) if clip else kernel_estimate)


def survival_of_pairs(
    rounds: Iterable[tuple[ShotPlan, Mapping[str, Any]]], mean: float, n_points: int, n_qubits: int
) -> FloatArray:
    """Return the survival of each pair, by the sentinels on the tiles that ran its shots.

    A round is what was measured, and what a :class:`~aqka.backends.sentinel.SentinelBackend`
    remarks on it. Where no tiles are known the survival is the mean, of which every pair keeps at
    least half: what a few sentinels say of one tile is rough.
    """
    floor = 0.5**n_qubits
    kept, total = np.zeros((n_points, n_points)), np.zeros((n_points, n_points))
    for plan, remarks in rounds:
        rates = remarks.get("sentinels", {}).get("rates", ())
        if len(rates) == len(plan.shots):  # else there are no tiles, or some rows had no answer
            survival = (np.clip(rates, 0.0, 1.0) - floor) / (1 - floor)
            np.add.at(kept, (plan.rows, plan.cols), plan.shots * survival)
            np.add.at(total, (plan.rows, plan.cols), plan.shots)
    kept, total = kept + kept.T, total + total.T
    found = np.where(total > 0, kept / np.maximum(total, 1), mean)
    return np.asarray(np.maximum(found, mean / 2))


EXPECTED_COUNT = 5.0  # below this the chi-square law is too rough, and the test is simulated
SIMULATIONS = 9999  # at least; more where the false-alarm rate asks for smaller p-values


class DriftWarning(UserWarning):
    """The device's noise changed between rounds."""


@dataclass(frozen=True)
class Drift:
    """Outcome of the test that the diagonal is the same in all rounds.

    Attributes
    ----------
    statistic, degrees
        Pearson's chi-square and its degrees of freedom.
    p_value
        Probability of at least this statistic without drift.
    drifted
        Whether the p-value is at most the false-alarm rate.
    """

    statistic: float
    degrees: int
    p_value: float
    drifted: bool


def check_drift(hits: ArrayLike, shots: ArrayLike, *, false_alarm: float = 0.01) -> Drift:
    """Test whether rounds agree: chi-square homogeneity, summed over the sentinels.

    Points may differ from each other; only a change of one point between rounds counts. Where
    expected counts are below 5, which is common with little noise, the null distribution is
    simulated given the totals (multivariate hypergeometric), so the false-alarm rate holds.

    Parameters
    ----------
    hits, shots
        One row per round, one column per sentinel.
    false_alarm
        Probability of an alarm without drift, for one call. A test after each of m rounds
        needs a false-alarm rate divided by m.
    """
    counts, totals = as_hits_and_shots(hits, shots, dimensions=2)
    if not 0 < false_alarm < 1:
        raise InputError(f"false_alarm must lie between 0 and 1, got {false_alarm!r}.")
    columns = [(c[s > 0], s[s > 0]) for c, s in zip(counts.T, totals.T, strict=True)]
    columns = [(c, s) for c, s in columns if len(s) > 1 and 0 < c.sum() < s.sum()]
    degrees = sum(len(s) - 1 for _, s in columns)
    if degrees == 0:
        return Drift(0.0, 0, 1.0, False)
    statistic = float(sum(_chi_square(c, s) for c, s in columns))
    rates = [(s.min(), c.sum() / s.sum()) for c, s in columns]
    if min(fewest * min(q, 1 - q) for fewest, q in rates) >= EXPECTED_COUNT:
        p_value = float(chdtrc(degrees, statistic))
    else:
        p_value = _simulated_p_value(statistic, columns, false_alarm)
    return Drift(statistic, degrees, p_value, p_value <= false_alarm)


def _chi_square(counts: IntArray, totals: IntArray) -> FloatArray:
    """Return Pearson's statistic of rounds, along the last axis."""
    q = counts.sum(axis=-1, keepdims=True) / totals.sum()
    return np.asarray(((counts - totals * q) ** 2 / (totals * q * (1 - q))).sum(axis=-1))


def _simulated_p_value(
    statistic: float, columns: list[tuple[IntArray, IntArray]], false_alarm: float
) -> float:
    size = min(max(SIMULATIONS, int(20 / false_alarm)), 1_000_000)
    rng = np.random.default_rng(0)  # fixed: equal counts give equal p-values
    simulated = np.zeros(size)
    for counts, totals in columns:
        draws = rng.multivariate_hypergeometric(totals, int(counts.sum()), size=size)
        simulated += _chi_square(draws, totals)
    above = int(np.sum(simulated >= statistic * (1 - 1e-12)))
    return (1 + above) / (1 + size)


@dataclass(frozen=True, eq=False)
class TileHits:
    """Sentinels of one round.

    Attributes
    ----------
    names
        The tiles, named by their qubits.
    hits, shots
        Hits and shots of the diagonal entries, tiles by points.
    """

    names: tuple[str, ...]
    hits: IntArray
    shots: IntArray


@dataclass
class TileWatch:
    """All rounds' sentinels, tile by tile.

    Parameters
    ----------
    rounds : list of TileHits, default=[]
        What was seen so far.

    Examples
    --------
    >>> watch = TileWatch()
    >>> hits, shots = np.array([[90], [70]]), np.array([[100], [100]])
    >>> watch.rounds.append(TileHits(("q0_1", "q3_4"), hits, shots))
    >>> {name: round(found.survival, 2) for name, found in watch.survival(n_qubits=2).items()}
    {'q0_1': 0.87, 'q3_4': 0.6}
    """

    rounds: list[TileHits] = field(default_factory=list)

    def of_tile(self, name: str) -> tuple[IntArray, IntArray]:
        """Return hits and shots of one tile, rounds by points; rounds without it are left out."""
        seen = [(one, one.names.index(name)) for one in self.rounds if name in one.names]
        hits = np.array([one.hits[k] for one, k in seen])
        return hits, np.array([one.shots[k] for one, k in seen])

    def survival(self, n_qubits: int) -> dict[str, Depolarising]:
        """Return the survival probability of each tile that was seen, in the order of names."""
        names = sorted({name for seen in self.rounds for name in seen.names})
        counts = {name: self.of_tile(name) for name in names}
        return {
            name: estimate_depolarising(hits.ravel(), shots.ravel(), n_qubits)
            for name, (hits, shots) in counts.items()
        }

    def drifting(self, false_alarm: float) -> list[str]:
        """Return the tiles of the last round whose sentinels changed between rounds.

        ``false_alarm`` is the probability that any tile is named without a drift, in this look.
        """
        now = self.rounds[-1].names if self.rounds else ()
        level = false_alarm / max(len(now), 1)
        return [n for n in now if check_drift(*self.of_tile(n), false_alarm=level).drifted]
