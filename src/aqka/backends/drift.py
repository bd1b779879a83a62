"""Whether a device's noise drifts: the diagonal must be the same in all rounds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends.diagonal_hits import as_hits_and_shots
from aqka.errors import InputError

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
        Probability of an alarm without drift, for one call. Whoever tests after each of m
        rounds passes a false-alarm rate divided by m.
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
    if min(_smallest_expected(c, s) for c, s in columns) >= EXPECTED_COUNT:
        p_value = float(chi2.sf(statistic, degrees))
    else:
        p_value = _simulated_p_value(statistic, columns, false_alarm)
    return Drift(statistic, degrees, p_value, p_value <= false_alarm)


def _chi_square(counts: IntArray, totals: IntArray) -> FloatArray:
    """Return Pearson's statistic of rounds, along the last axis."""
    q = counts.sum(axis=-1, keepdims=True) / totals.sum()
    return np.asarray(((counts - totals * q) ** 2 / (totals * q * (1 - q))).sum(axis=-1))


def _smallest_expected(counts: IntArray, totals: IntArray) -> float:
    q = counts.sum() / totals.sum()
    return float(totals.min() * min(q, 1 - q))


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
