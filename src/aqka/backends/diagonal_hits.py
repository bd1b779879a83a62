"""Hits of diagonal entries, as the estimates of noise and drift take them."""

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import IntArray, as_counts
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
