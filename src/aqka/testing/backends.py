"""What every backend must do: a suite to run over your own."""

import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom, chi2, norm

from aqka._util.arrays import FloatArray, IntArray, as_kernel
from aqka._util.optional import require
from aqka.backends import Backend
from aqka.core.plans import Plan, ShotPlan
from aqka.errors import InputError

MakeBackend = Callable[[int], Backend]

FALSE_ALARM = 1e-6  # chance that a correct, freshly random backend fails a statistical check

TAGS = 8  # runs that are compared with each other


def check_backend(
    make_backend: MakeBackend,
    exact_kernel: ArrayLike,
    *,
    deterministic: bool = True,
    shots: int = 2000,
    rows: int = 100_000,
) -> None:
    """Assert that a backend keeps the contract of :class:`aqka.Backend`.

    Parameters
    ----------
    make_backend
        Returns a new backend for a seed. A backend without seeds may ignore it.
    exact_kernel
        The probabilities its hits must follow, rows by columns.
    deterministic
        Whether the same seed and tag must give the same hits; False for hardware. A backend that
        says it is ``replayable`` must in any case.
    shots
        Shots per pair in the statistical checks.
    rows
        Pairs in the largest plan; lower it for a slow backend.

    Raises
    ------
    AssertionError
        Naming the first promise that was broken.

    Examples
    --------
    >>> from aqka import MatrixBackend
    >>> kernel = [[1.0, 0.3], [0.3, 1.0]]
    >>> check_backend(lambda seed: MatrixBackend(kernel, seed=seed), kernel)
    """
    kernel = as_kernel(exact_kernel, "exact_kernel", square=False)
    shape = make_backend(0).shape
    assert shape == kernel.shape, f"shape is {shape}, the kernel's is {kernel.shape}"
    check_small_plans(make_backend)
    check_rows_outside(make_backend)
    check_description(make_backend)
    check_stable_fingerprint(make_backend)
    check_recovery(make_backend, small_plan([0], [0], [5]))
    check_usage(make_backend)
    check_exact_kernel(make_backend, kernel)
    check_mean(make_backend, kernel, shots=shots)
    check_flips(make_backend, kernel, shots=shots)
    check_fresh_randomness(make_backend, kernel, shots=shots)
    if deterministic or make_backend(0).replayable:
        check_determinism(make_backend, every_pair(kernel, shots))
    check_pickling(make_backend, every_pair(kernel, 50), same_hits=deterministic)
    check_many_rows(make_backend, kernel, rows=rows)


def check_small_plans(make_backend: MakeBackend) -> None:
    """Assert that no pair, one pair, and a pair with no shots all work."""
    backend = make_backend(0)
    assert len(run_plan(backend, small_plan([], [], []), "empty")) == 0, "an empty plan has no hits"
    run_plan(backend, small_plan([0], [0], [7]), "one pair")
    assert run_plan(backend, small_plan([0], [0], [0]), "no shots").tolist() == [0]


def check_rows_outside(make_backend: MakeBackend) -> None:
    """Assert that a plan naming a point the backend does not have is refused at submission."""
    backend = make_backend(0)
    for i, j in ((backend.shape[0], 0), (0, backend.shape[1])):
        check_refused(backend, small_plan([i], [j], [1]), f"pair ({i}, {j}) is outside")


def check_refused(backend: Backend, plan: Plan, what: str) -> None:
    """Assert that a plan of what a backend does not have is refused at submission."""
    try:
        backend.submit(plan, "outside")
    except InputError:
        return
    raise AssertionError(f"{what} of {backend.shape}, and its plan must be refused")


def check_mean(make_backend: MakeBackend, kernel: FloatArray, *, shots: int) -> None:
    """Assert that hits follow Binomial(shots, K) in every entry, and in their total.

    Each entry is held against its binomial quantiles at a level that makes
    :data:`FALSE_ALARM` the chance of one false alarm among them all; the total against the
    normal quantile, which catches small biases that no single entry shows.
    """
    plan = every_pair(kernel, shots)
    _check_mean(run_plan(make_backend(1), plan, "mean"), plan, kernel, shots)


def check_flips(make_backend: MakeBackend, kernel: FloatArray, *, shots: int) -> None:
    """Assert that flipped bits are counted in full, if at all: those of none are the hits."""
    backend = make_backend(1)
    bits, plan = backend.flipped_bits, every_pair(kernel, shots)
    if bits is None:
        return
    flips = run_plan(backend, replace(plan, bits=bits), "flips")
    _check_mean(flips[:, 0], plan, kernel, shots)


def _check_mean(hits: IntArray, plan: ShotPlan, kernel: FloatArray, shots: int) -> None:
    values = kernel[plan.rows, plan.cols]
    level = FALSE_ALARM / len(plan) / 2
    low, high = binom.ppf(level, shots, values), binom.isf(level, shots, values)
    wrong = np.flatnonzero((hits < low) | (hits > high))
    if wrong.size:
        k = int(wrong[0])
        raise AssertionError(
            f"pair ({plan.rows[k]}, {plan.cols[k]}): {hits[k]} hits of {shots} do not follow "
            f"K = {values[k]:.6g} ({wrong.size} of {len(plan)} pairs are off)"
        )
    spread = float(np.sqrt(np.sum(shots * values * (1 - values))))
    if spread > 0:
        z = float(np.sum(hits - shots * values)) / spread
        assert abs(z) < norm.isf(FALSE_ALARM / 2), f"the hits are biased: z = {z:.2f}"


def check_fresh_randomness(make_backend: MakeBackend, kernel: FloatArray, *, shots: int) -> None:
    """Assert that shots are independent, within a tag and between tags.

    Deviations from the exact mean have the binomial variance, and their sums over tags as many
    times that variance as there are tags: correlated shots show in the first, repeated randomness
    in the second. Both are chi-square tests at half of :data:`FALSE_ALARM`.
    """
    plan = every_pair(kernel, shots)
    values = kernel[plan.rows, plan.cols]
    variance = shots * values * (1 - values)
    noisy = variance >= 10  # elsewhere a binomial is not normal, and equal hits prove nothing
    if not noisy.any():
        return
    backend = make_backend(2)
    hits = np.stack([run_plan(backend, plan, f"tag {k}") for k in range(TAGS)])[:, noisy]
    assert any(not np.array_equal(hits[0], other) for other in hits[1:]), (
        f"another tag must give fresh hits; {TAGS} tags gave the same"
    )
    scores = (hits - shots * values[noisy]) / np.sqrt(variance[noisy])
    within, between = float(np.sum(scores**2)), float(np.sum(scores.sum(axis=0) ** 2) / TAGS)
    for what, statistic, degrees in (
        ("shots must be independent", within, scores.size),
        ("another tag must give fresh hits", between, scores.shape[1]),
    ):
        chance = min(chi2.cdf(statistic, degrees), chi2.sf(statistic, degrees))
        assert chance > FALSE_ALARM / 4, (
            f"{what}: the hits have {statistic / degrees:.3g} times the binomial variance"
        )


def check_determinism(make_backend: MakeBackend, plan: Plan) -> None:
    """Assert that seed and tag fix what is seen, whatever else the backend has run."""
    other = make_backend(3)
    run_plan(other, plan, "something else")
    assert same_answers(plan, run_plan(make_backend(3), plan, "again"), other, "again"), (
        "the same seed and tag must give the same counts"
    )


def check_pickling(make_backend: MakeBackend, plan: Plan, *, same_hits: bool = True) -> None:
    """Assert that a backend survives pickling, before and after it has run something."""
    backend = make_backend(4)
    fresh = pickle.loads(pickle.dumps(backend))
    seen = run_plan(backend, plan, "pickled")
    for copy in (fresh, pickle.loads(pickle.dumps(backend))):
        assert same_answers(plan, seen, copy, "pickled") or not same_hits, (
            "a pickled backend must give the same counts"
        )


def same_answers(plan: Plan, seen: Any, backend: Backend, tag: str) -> bool:
    """Return whether a backend gives the answer that was seen."""
    first, again = (plan.answer_to_ledger(a) for a in (seen, run_plan(backend, plan, tag)))
    return all(np.array_equal(first[name], again[name]) for name in first)


def check_many_rows(make_backend: MakeBackend, kernel: FloatArray, *, rows: int) -> None:
    """Assert that a plan of many pairs, each with its own shots, is served in full."""
    rng = np.random.default_rng(5)
    i, j = rng.integers(kernel.shape[0], size=rows), rng.integers(kernel.shape[1], size=rows)
    run_plan(make_backend(5), ShotPlan(i, j, 1 + np.arange(rows) % 3), "many rows")


def small_plan(rows: list[int], cols: list[int], shots: list[int]) -> ShotPlan:
    """Return a plan of a few pairs, or of none."""
    i, j, counts = (np.array(part, dtype=np.int64) for part in (rows, cols, shots))
    return ShotPlan(i, j, counts)


def every_pair(kernel: FloatArray, shots: int) -> ShotPlan:
    """Return a plan of all pairs with the same shots."""
    i, j = np.indices(kernel.shape)
    return ShotPlan(i.ravel(), j.ravel(), np.full(kernel.size, shots))


def run_plan(backend: Backend, plan: Plan, tag: str) -> Any:
    """Return what comes back for a plan, checked."""
    return checked_answer(plan, backend.collect(backend.submit(plan, tag)))


def checked_answer(plan: Plan, answer: Any) -> Any:
    """Return an answer; assert that it fits its plan, and that hits are an array of counts."""
    if isinstance(plan, ShotPlan):
        assert isinstance(answer, np.ndarray), f"hits must be an array, got {type(answer).__name__}"
        assert answer.dtype.kind in "iu", f"hits must be whole numbers, got dtype {answer.dtype}"
    try:
        return plan.checked(answer)
    except InputError as error:
        raise AssertionError(f"the answer does not fit its plan: {error}") from error


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


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


def check_recovery(make_backend: MakeBackend, plan: Plan) -> None:
    """Assert that recovery finds nothing that was not submitted, and a ticket that is good."""
    backend = make_backend(7)
    unknown = backend.recover(plan, "never submitted")
    assert unknown is None, f"recover must give None for a plan never submitted, got {unknown!r}"
    backend.submit(plan, "recovered")
    ticket = backend.recover(plan, "recovered")
    if ticket is not None:
        assert isinstance(ticket, str), (
            f"recover must give None or a ticket, got {type(ticket).__name__}"
        )
        checked_answer(plan, backend.collect(ticket))


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
    try:
        found = backend.kernel()
    except InputError:
        assert not backend.has_kernel, "has_kernel is True but kernel() refuses; write both"
        return
    assert backend.has_kernel, "has_kernel is False but kernel() gives one; write both"
    assert np.shape(found) == kernel.shape, (
        f"kernel() has shape {np.shape(found)}, the backend's is {kernel.shape}"
    )
    assert np.allclose(found, kernel, rtol=0.0, atol=1e-9), "kernel() is not what hits follow"
