"""Plans that check a backend, and the checks of what it says of itself beside its hits."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.optional import require
from aqka.backends import Backend
from aqka.core.plans import ShotPlan
from aqka.errors import InputError

MakeBackend = Callable[[int], Backend]


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


def check_description(make_backend: MakeBackend) -> None:
    """Assert that what a backend says of itself is of the right kind."""
    backend = make_backend(0)
    name, calibrated_at = backend.name, backend.calibrated_at
    assert isinstance(backend.replayable, bool), (
        f"replayable must be True or False, got {backend.replayable!r}"
    )
    assert _is_text(name), f"name must be a text, got {name!r}"
    assert calibrated_at is None or isinstance(calibrated_at, str), (
        f"calibrated_at must be None or a text, got {type(calibrated_at).__name__}"
    )
    circuit = backend.circuit
    if circuit is not None:
        qiskit = require("qiskit", "qiskit")
        assert isinstance(circuit, qiskit.QuantumCircuit), (
            f"circuit must be None or a QuantumCircuit, got {type(circuit).__name__}"
        )


def check_stable_fingerprint(make_backend: MakeBackend) -> None:
    """Assert that the fingerprint stays, whatever was run, and comes again with the backend."""
    backend = make_backend(6)
    before = backend.fingerprint()
    assert _is_text(before), f"fingerprint must be a text, got {before!r}"
    run_plan(backend, small_plan([0], [0], [3]), "fingerprint")
    assert backend.fingerprint() == before, "a run must not change the fingerprint"
    assert make_backend(6).fingerprint() == before, (
        "a backend made again must have the same fingerprint, or no run could be resumed"
    )


def check_recovery(make_backend: MakeBackend) -> None:
    """Assert that recovery finds nothing that was not submitted, and a ticket that is good."""
    backend = make_backend(7)
    plan = small_plan([0], [0], [5])
    unknown = backend.recover(plan, "never submitted")
    assert unknown is None, f"recover must give None for a plan never submitted, got {unknown!r}"
    backend.submit(plan, "recovered")
    ticket = backend.recover(plan, "recovered")
    if ticket is not None:
        assert isinstance(ticket, str), (
            f"recover must give None or a ticket, got {type(ticket).__name__}"
        )
        check_hits(backend.collect(ticket), plan)


def check_usage(make_backend: MakeBackend) -> None:
    """Assert that usage holds seconds of tickets that were collected, of no others."""
    backend = make_backend(8)
    ticket = backend.submit(small_plan([0], [0], [5]), "usage")
    backend.collect(ticket)
    usage = backend.usage
    assert isinstance(usage, Mapping), f"usage must be a mapping, got {type(usage).__name__}"
    assert set(usage) <= {ticket}, f"usage names {sorted(usage)}, collected was {ticket!r}"
    for seconds in usage.values():
        known = isinstance(seconds, (int, float)) and np.isfinite(seconds) and seconds >= 0
        assert seconds is None or known, f"usage must be seconds or None, got {seconds!r}"


def check_exact_kernel(make_backend: MakeBackend, kernel: FloatArray) -> None:
    """Assert that has_kernel tells whether kernel() gives the probabilities of the hits."""
    backend = make_backend(9)
    assert isinstance(backend.has_kernel, bool), (
        f"has_kernel must be True or False, got {backend.has_kernel!r}"
    )
    found = _kernel_or_none(backend)
    if not backend.has_kernel:
        assert found is None, "has_kernel is False but kernel() gives one; write both"
        return
    assert found is not None, "has_kernel is True but kernel() refuses; write both"
    assert np.shape(found) == kernel.shape, (
        f"kernel() has shape {np.shape(found)}, the backend's is {kernel.shape}"
    )
    assert np.allclose(found, kernel, rtol=0.0, atol=1e-9), "kernel() is not what hits follow"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _kernel_or_none(backend: Backend) -> FloatArray | None:
    try:
        return backend.kernel()
    except InputError:
        return None
