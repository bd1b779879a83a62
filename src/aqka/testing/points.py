"""What a backend that measures points must do: a suite to run over your own."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2, norm

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends import Backend
from aqka.core.calibration import CalibrationPlan
from aqka.core.outcomes import OutcomeCounts, bits_of
from aqka.core.point_plans import PointPlan
from aqka.core.points import MAX_DENSE_QUBITS
from aqka.core.settings import as_settings
from aqka.errors import InputError
from aqka.estimates.readout import confusion_matrices
from aqka.testing.backends import (
    FALSE_ALARM,
    MakeBackend,
    check_determinism,
    check_pickling,
    check_recovery,
    check_refused,
    run_plan,
)

TAGS = 4  # runs that are compared with each other
CALIBRATION_ERRORS = 5.0  # standard errors that an entry of the confusion may be off
RARE = 5.0  # expected counts below this are pooled, for a chi-square needs more


def check_point_backend(
    make_backend: MakeBackend,
    settings: ArrayLike,
    probabilities: ArrayLike,
    *,
    deterministic: bool = True,
    shots: int = 2000,
    confusion: ArrayLike | None = None,
) -> None:
    """Assert that a backend keeps the contract of :class:`aqka.Backend` for plans of points.

    Plans of reference states, which calibrate the readout of the same qubits, belong to it.

    Parameters
    ----------
    make_backend
        Returns a new backend for a seed. A backend without seeds may ignore it.
    settings
        Pauli settings, one row each; see ``aqka.core.settings``.
    probabilities
        Probabilities of all outcomes of every point in every setting: points by settings by 2^n.
    deterministic
        Whether the same seed and tag must give the same outcomes.
    shots
        Shots of each point and setting in the statistical checks.
    confusion
        The readout errors that a calibration must show, a 2 × 2 matrix for each qubit
        (``aqka.estimates.readout``); None asks only that bits are more often read rightly.

    Raises
    ------
    AssertionError
        Naming the first promise that was broken.

    Examples
    --------
    >>> from aqka import StatevectorBackend
    >>> import qiskit
    >>> qubit = qiskit.QuantumCircuit(1)
    >>> qubit.ry(qiskit.circuit.Parameter("x"), 0) and None
    >>> check_point_backend(
    ...     lambda seed: StatevectorBackend([[0.0], [np.pi]], qubit, seed=seed),
    ...     settings=[[2]],
    ...     probabilities=[[[1, 0]], [[0, 1]]],
    ... )
    """
    letters, p = as_settings(settings), np.asarray(probabilities, dtype=np.float64)
    backend = make_backend(0)
    assert backend.n_qubits == letters.shape[1], (
        f"n_qubits is {backend.n_qubits}, the settings name {letters.shape[1]}"
    )
    check_small_plans(backend, letters)
    check_plans_outside(backend, letters)
    check_recovery(make_backend, _every_row(p[:1], letters, 5))
    check_distribution(make_backend, letters, p, shots=shots)
    check_calibration(make_backend(4), confusion, shots=shots)
    if deterministic or backend.replayable:
        points = np.arange(backend.shape[0])
        measured = PointPlan(points, 0 * points, np.full(len(points), 50), letters)
        for plan in (measured, _both_references(50, letters.shape[1])):
            check_determinism(make_backend, plan)
            check_pickling(make_backend, plan)


def check_small_plans(backend: Backend, letters: IntArray) -> None:
    """Assert that no row, a row without shots, and rows of different shots all work."""
    none = np.zeros(0, dtype=np.int64)
    assert len(run_plan(backend, PointPlan(none, none, none, letters), "empty").rows) == 0
    no_shots = np.zeros(1, dtype=np.int64)
    plan = PointPlan(no_shots, no_shots, no_shots, letters)
    assert run_plan(backend, plan, "no shots").counts.sum() == 0
    last, setting = backend.shape[0] - 1, len(letters) - 1
    rows = np.array([[0, 0, 1], [last, setting, 12], [0, 0, 0], [0, setting, 5]])
    run_plan(backend, PointPlan(rows[:, 0], rows[:, 1], rows[:, 2], letters), "uneven")


def check_plans_outside(backend: Backend, letters: IntArray) -> None:
    """Assert that a plan of a point or of qubits that are not there is refused at submission."""
    one = np.zeros(1, dtype=np.int64)
    wider = np.concatenate([letters, letters[:, :1]], axis=1)
    outside = PointPlan(one + backend.shape[0], one, one + 1, letters)
    check_refused(backend, outside, "a point is outside")
    check_refused(backend, PointPlan(one, one, one + 1, wider), "a qubit is outside")


def check_distribution(
    make_backend: MakeBackend, letters: IntArray, p: FloatArray, *, shots: int
) -> None:
    """Assert that outcomes follow their probabilities, in each tag and in all tags together.

    Chi-square tests, each at a share of :data:`~aqka.testing.backends.FALSE_ALARM`: repeated
    randomness would make the sum over tags vary more than one tag does.
    """
    plan = _every_row(p, letters, shots)
    backend = make_backend(2)
    many = letters.shape[1] > MAX_DENSE_QUBITS
    counts = np.stack([_dense(run_plan(backend, plan, f"tag {k}"), p, many) for k in range(TAGS)])
    assert TAGS == 1 or np.any(counts[0] != counts[1]) or np.all(np.isin(p, (0.0, 1.0))), (
        "another tag must give fresh outcomes"
    )
    rows = p.reshape(len(plan), -1)
    if many:
        _check_bits(counts.sum(axis=0), TAGS * shots, rows)
        return
    for seen, expected, what in (
        *((one, shots * rows, "one tag") for one in counts),
        (counts.sum(axis=0), TAGS * shots * rows, "all tags together"),
    ):
        statistic, degrees = _chi_square(seen, expected)
        chance = float(chi2.sf(statistic, degrees)) if degrees else 1.0
        assert chance > FALSE_ALARM / (TAGS + 1), (
            f"outcomes of {what} do not follow their probabilities: chi-square {statistic:.1f} at "
            f"{degrees} degrees of freedom"
        )
        assert np.all(seen[expected < 1e-9 * shots] == 0), "an impossible outcome was seen"


def check_calibration(backend: Backend, confusion: ArrayLike | None, *, shots: int) -> None:
    """Assert that reference states are prepared and read, with the readout errors that are known.

    Every entry of the confusion within :data:`CALIBRATION_ERRORS` standard errors.
    """
    assert backend.n_qubits is not None
    n_qubits = backend.n_qubits
    both = _both_references(3, n_qubits)
    run_plan(backend, both.cut_to([0, 3]), "one reference state")
    run_plan(backend, both.cut_to([0, 0]), "no reference state")
    check_refused(backend, _both_references(5, n_qubits + 1), "a calibrated qubit is outside")
    plan = _both_references(shots, n_qubits)
    assert backend.recover(plan, "never calibrated") is None, "recover found what was not submitted"
    try:
        found = confusion_matrices(run_plan(backend, plan, "calibration"), n_qubits)
    except InputError as error:
        raise AssertionError(f"reference states are not read as they are: {error}") from error
    right = found[:, [0, 1], [0, 1]]
    assert np.all(right > 0.5), f"reference states must be read rightly more often, got {right}"
    if confusion is not None:
        expected = np.asarray(confusion, dtype=np.float64)
        spread = np.sqrt(expected * (1 - expected) / shots)
        off = np.abs(found - expected) - CALIBRATION_ERRORS * spread
        assert np.all(off <= 1e-9), f"readout errors are {found.tolist()}, not {expected.tolist()}"


def _both_references(shots: int, n_qubits: int) -> CalibrationPlan:
    return CalibrationPlan(np.array([0, 1]), np.array([shots, shots]), n_qubits)


def _every_row(p: FloatArray, letters: IntArray, shots: int) -> PointPlan:
    points, settings = np.indices(p.shape[:2]).reshape(2, -1)
    return PointPlan(points, settings, np.full(len(points), shots), letters)


def _dense(answer: OutcomeCounts, p: FloatArray, many_qubits: bool) -> IntArray:
    """Return how often each row saw each outcome, or each qubit as 1 where they are many."""
    counts = np.zeros((p.shape[0] * p.shape[1], p.shape[2]), dtype=np.int64)
    if many_qubits:
        ones = answer.counts[:, None] * bits_of(answer.outcomes, p.shape[2])
        np.add.at(counts, answer.rows, ones)
    else:
        np.add.at(counts, (answer.rows, answer.outcomes), answer.counts)
    return counts


def _check_bits(ones: IntArray, shots: int, p: FloatArray) -> None:
    """Assert that every qubit of every row is 1 as often as it should be."""
    spread = np.sqrt(np.maximum(shots * p * (1 - p), 1e-12))
    z = np.abs(ones - shots * p) / np.maximum(spread, 0.5)
    chance = 2 * float(norm.sf(z.max())) * z.size
    row, qubit = np.unravel_index(int(z.argmax()), z.shape)
    assert chance > FALSE_ALARM, (
        f"qubit {qubit} of row {row} does not follow its probability {p[row, qubit]:.4f}: "
        f"{ones[row, qubit]} ones in {shots} shots"
    )


def _chi_square(seen: IntArray, expected: FloatArray) -> tuple[float, int]:
    """Return the statistic of all rows, the rare outcomes of a row pooled, and its degrees."""
    rare = expected < RARE
    pooled_seen = np.where(rare, 0, seen)
    pooled_expected = np.where(rare, 0.0, expected)
    rest_seen = np.where(rare, seen, 0).sum(axis=1)
    rest_expected = np.where(rare, expected, 0.0).sum(axis=1)
    kept = pooled_expected > 0
    terms = (pooled_seen[kept] - pooled_expected[kept]) ** 2 / pooled_expected[kept]
    use = rest_expected >= RARE
    more = (rest_seen[use] - rest_expected[use]) ** 2 / rest_expected[use]
    cells = kept.sum(axis=1) + use
    # A rest that is too rare is left out, and then the cells of its row are free.
    degrees = int(np.sum(np.maximum(cells - np.where(use | (rest_expected == 0), 1, 0), 0)))
    return float(terms.sum() + more.sum()), degrees
