"""Diagonal sentinels: a few shots on K_ii, which is 1 without noise, tell the noise as it is.

Under global depolarising noise that keeps the state with probability p, the fidelity test of n
qubits measures K_noisy = p K + (1 - p) / 2^n, and on the diagonal p + (1 - p) / 2^n. From the
diagonal follow p, whether it drifts between rounds, and how to take its effect out again.
"""

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from aqka._util.arrays import FloatArray, IntArray, as_count, as_counts
from aqka.backends.base import Backend
from aqka.core.plans import ShotPlan
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

EXPECTED_COUNT = 5.0  # below this the chi-square law is too rough, and the test is simulated
SIMULATIONS = 9999  # at least; more where the false-alarm rate asks for smaller p-values


class DriftWarning(UserWarning):
    """The device's noise changed between rounds."""


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

    The standard error takes half a hit and half a miss more than counted, so that it is not
    zero where every shot hit.

    Examples
    --------
    >>> estimate_depolarising([90, 88], [100, 100], n_qubits=3).survival
    0.8742857142857143
    """
    counts, totals = _checked(hits, shots)
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
    counts, totals = _checked(hits, shots, dimensions=2)
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


def mitigate_depolarising(
    kernel: ArrayLike,
    survival: ArrayLike,
    n_qubits: int,
    *,
    columns: ArrayLike | None = None,
    clip: bool = True,
) -> FloatArray:
    """Take depolarising noise out of a kernel estimate: K = (K_noisy - (1 - p) / 2^n) / p.

    An explicit step, because it has a price: it removes the bias that the model describes and
    multiplies the shot noise of every entry by 1 / p.

    Parameters
    ----------
    kernel
        Noisy estimate, a matrix.
    survival
        One p for all, or one for each point: the pair (i, j) then has sqrt(p_i p_j).
    n_qubits
        Qubits of the circuit.
    columns
        Survival of the columns' points, for a test-by-train block; None takes ``survival``.
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
    rows = _as_survival(survival, "survival", noisy.shape[0])
    cols = rows if columns is None else _as_survival(columns, "columns", noisy.shape[1])
    if len(rows) != noisy.shape[0] or len(cols) != noisy.shape[1]:
        raise InputError(
            f"survival must have one entry per row of the {noisy.shape} kernel and columns one "
            f"per column, got {len(rows)} and {len(cols)}."
        )
    p = np.sqrt(np.outer(rows, cols))
    floor = 0.5 ** as_count(n_qubits, "n_qubits")
    kernel_estimate = (noisy - (1 - p) * floor) / p
    return np.asarray(np.clip(kernel_estimate, 0.0, 1.0) if clip else kernel_estimate)


@dataclass
class SentinelBackend(Backend):
    """Wraps a backend: every plan also measures some diagonal entries, and warns of a drift.

    The sentinels' shots come on top of the budget and are left out of the hits.

    Attributes
    ----------
    backend
        Who runs the shots; rows and columns must be the same points.
    points
        Points whose K_ii is measured.
    shots
        Shots of each, in every plan.
    false_alarm
        Probability that a :class:`~aqka.backends.sentinel.DriftWarning` comes without drift, in
        all rounds together: the r-th look spends false_alarm / (r (r + 1)) of it, which sums up to
        false_alarm.
    hits
        The sentinels' hits so far, one array per round.

    Examples
    --------
    >>> from aqka import MatrixBackend
    >>> backend = SentinelBackend(MatrixBackend([[0.9, 0.2], [0.2, 0.9]]), points=[0, 1], shots=50)
    >>> len(backend.collect(backend.submit(ShotPlan([0], [1], [10]), "first")))
    1
    >>> len(backend.hits), backend.hits[0].shape
    (1, (2,))
    """

    backend: Backend
    points: ArrayLike
    shots: int
    false_alarm: float = 0.01
    hits: list[IntArray] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Check the points against the backend."""
        self._points = as_counts(self.points, "points")
        as_count(self.shots, "shots")
        size = min(self.backend.shape)
        if not self._points.size or self._points.min() < 0 or self._points.max() >= size:
            raise InputError(
                f"points must name at least one of {size} points, got {self.points!r}."
            )
        self._collected: set[str] = set()

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the wrapped backend."""
        return self.backend.shape

    @property
    def replayable(self) -> bool:
        """Whether the wrapped backend gives a tag's hits again at no cost."""
        return self.backend.replayable

    @property
    def usage(self) -> dict[str, float]:
        """QPU seconds of the wrapped backend's tickets."""
        count = len(self._points)
        return {f"{count}|{ticket}": used for ticket, used in self.backend.usage.items()}

    @property
    def name(self) -> str:
        """Name of the wrapped backend."""
        return self.backend.name

    @property
    def calibrated_at(self) -> str | None:
        """When the wrapped backend was calibrated."""
        return self.backend.calibrated_at

    @property
    def circuit(self) -> "QuantumCircuit | None":
        """The wrapped backend's circuit."""
        return self.backend.circuit

    def fingerprint(self) -> str:
        """Return what tells this backend from one of other data or other sentinels."""
        return (
            f"SentinelBackend({self.backend.fingerprint()}, {self._points.tolist()}, {self.shots})"
        )

    def recover(self, plan: ShotPlan, tag: str) -> str | None:
        """Return the ticket of a plan that was submitted by a process that died, if there is."""
        count, extended = self._extended(plan)
        ticket = self.backend.recover(extended, tag)
        return None if ticket is None else f"{count}|{ticket}"

    def submit(self, plan: ShotPlan, tag: str) -> str:
        """Submit the plan with the sentinels behind it; a plan without shots goes without."""
        count, extended = self._extended(plan)
        return f"{count}|{self.backend.submit(extended, tag)}"

    def _extended(self, plan: ShotPlan) -> tuple[int, ShotPlan]:
        if plan.total == 0:
            return 0, plan
        count = len(self._points)
        rows, cols = (np.append(side, self._points) for side in (plan.rows, plan.cols))
        return count, ShotPlan(rows, cols, np.append(plan.shots, np.full(count, self.shots)))

    def collect(self, ticket: str) -> IntArray:
        """Return the plan's hits; keep the sentinels' and warn where they disagree."""
        count, bar, inner = ticket.partition("|")
        if not bar or not count.isdecimal():
            raise InputError(f"ticket {ticket!r} is none of submit()'s; pass it as returned.")
        hits = self.backend.collect(inner)
        cut = len(hits) - int(count)
        if int(count) and ticket not in self._collected:
            self._collected.add(ticket)
            self.hits.append(hits[cut:])
            self._warn()
        return hits[:cut]

    def estimate(self, n_qubits: int) -> Depolarising:
        """Return the survival probability from all rounds so far."""
        return estimate_depolarising(
            np.ravel(self.hits), np.full(len(self.hits) * len(self._points), self.shots), n_qubits
        )

    def drift(self, false_alarm: float | None = None) -> Drift:
        """Test whether the rounds so far agree."""
        hits = np.reshape(self.hits, (len(self.hits), len(self._points)))
        level = self.false_alarm if false_alarm is None else false_alarm
        return check_drift(hits, np.full(hits.shape, self.shots), false_alarm=level)

    def _warn(self) -> None:
        look = len(self.hits) - 1  # the first round has nothing to disagree with
        if look == 0:
            return
        result = self.drift(self.false_alarm / (look * (look + 1)))
        if result.drifted:
            warnings.warn(
                f"the diagonal changed between rounds (p = {result.p_value:.2g} after "
                f"{look + 1} rounds): the noise drifts, so rounds are not of one kernel. "
                "Recalibrate, or estimate and mitigate each round by itself.",
                DriftWarning,
                stacklevel=3,
            )


def _as_survival(values: ArrayLike, name: str, length: int) -> FloatArray:
    """Return survival probabilities above 0 as a vector; a single one is repeated."""
    p = np.asarray(values, dtype=np.float64)
    if p.ndim == 0:
        p = np.full(length, p)
    if p.ndim != 1 or not np.all(np.isfinite(p)) or np.any(p <= 0):
        raise InputError(
            f"{name} must be finite and above 0, got {values!r}; where nothing survives there is "
            "no kernel to recover: use fewer gates or more sentinel shots."
        )
    return p


def _checked(hits: ArrayLike, shots: ArrayLike, dimensions: int = 1) -> tuple[IntArray, IntArray]:
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
