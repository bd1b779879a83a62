"""The depolarising rate as the diagonal tells it, and how to take its effect out again.

Under global depolarising noise that keeps the state with probability p, the fidelity test of n
qubits measures K_noisy = p K + (1 - p) / 2^n, and on the diagonal p + (1 - p) / 2^n.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, as_count
from aqka.backends.diagonal_hits import as_hits_and_shots
from aqka.errors import InputError


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
        One p for all; or one for each point: the pair (i, j) then has sqrt(p_i p_j); or a matrix
        with one for each pair.
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
    p = _pair_survival(survival, columns, noisy.shape)
    floor = 0.5 ** as_count(n_qubits, "n_qubits")
    kernel_estimate = (noisy - (1 - p) * floor) / p
    return np.asarray(np.clip(kernel_estimate, 0.0, 1.0) if clip else kernel_estimate)


def _pair_survival(
    survival: ArrayLike, columns: ArrayLike | None, shape: tuple[int, ...]
) -> FloatArray:
    """Return the survival probability of each entry of a kernel."""
    if np.shape(survival) == shape and columns is None:
        return _as_survival(survival, "survival", shape[0], dimensions=2)
    rows = _as_survival(survival, "survival", shape[0])
    cols = rows if columns is None else _as_survival(columns, "columns", shape[1])
    if len(rows) != shape[0] or len(cols) != shape[1]:
        raise InputError(
            f"survival must have one entry per row of the {shape} kernel and columns one per "
            f"column, got {len(rows)} and {len(cols)}."
        )
    return np.asarray(np.sqrt(np.outer(rows, cols)))


def _as_survival(values: ArrayLike, name: str, length: int, dimensions: int = 1) -> FloatArray:
    """Return survival probabilities above 0 as a vector or matrix; a single one is repeated."""
    p = np.asarray(values, dtype=np.float64)
    if p.ndim == 0:
        p = np.full(length, p)
    if p.ndim != dimensions or not np.all(np.isfinite(p)) or np.any(p <= 0):
        raise InputError(
            f"{name} must be finite and above 0, got {values!r}; where nothing survives there is "
            "no kernel to recover: use fewer gates or more sentinel shots."
        )
    return p
