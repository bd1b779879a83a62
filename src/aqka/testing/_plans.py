"""Plans that the checks of backends run, and what must hold for any hits."""

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends import Backend
from aqka.core.plans import ShotPlan


def small_plan(rows: list[int], cols: list[int], shots: list[int]) -> ShotPlan:
    """Return a plan of a few pairs, or of none."""
    return ShotPlan(
        np.array(rows, dtype=np.int64),
        np.array(cols, dtype=np.int64),
        np.array(shots, dtype=np.int64),
    )


def every_pair(kernel: FloatArray, shots: int) -> ShotPlan:
    """Return a plan of all pairs with the same shots."""
    i, j = np.indices(kernel.shape)
    return ShotPlan(i.ravel(), j.ravel(), np.full(kernel.size, shots))


def run_plan(backend: Backend, plan: ShotPlan, tag: str) -> IntArray:
    """Return the hits of a plan, checked."""
    hits: IntArray = backend.collect(backend.submit(plan, tag))
    check_hits(hits, plan)
    return hits


def check_hits(hits: IntArray, plan: ShotPlan) -> None:
    """Assert that hits are counts that fit their plan."""
    assert isinstance(hits, np.ndarray), f"hits must be an array, got {type(hits).__name__}"
    assert hits.dtype.kind in "iu", f"hits must be whole numbers, got dtype {hits.dtype}"
    assert hits.shape == (len(plan),), f"expected {len(plan)} hits, got shape {hits.shape}"
    assert np.all((hits >= 0) & (hits <= plan.shots)), "hits must lie within [0, shots]"
