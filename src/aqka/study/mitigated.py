"""The head of a study, with the noise that its sentinels saw taken out where it asks for it."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from aqka.backends.diagonal import (
    Depolarising,
    check_drift,
    estimate_depolarising,
    mitigate_depolarising,
)
from aqka.errors import InputError
from aqka.estimates.pairs import estimate_kernel
from aqka.readouts import FittedHead
from aqka.runs.history import History
from aqka.sessions import Training
from aqka.sessions.point_acquisition import PointAcquisition
from aqka.sessions.point_heads import PointHead
from aqka.study.method import readout_of
from aqka.study.schema import Study

SURE = 2.0  # standard errors that the survival must lie above 0, or dividing by it is no cure


@dataclass(frozen=True)
class Mitigation:
    """What the sentinels of a run say, and what was done about it.

    Attributes
    ----------
    shots
        Sentinel shots in all.
    survival, standard_error
        Probability that the state is kept, and its error; see
        :class:`~aqka.backends.diagonal.Depolarising`.
    drift
        P-value of the test that all rounds saw the same noise; small if it drifts.
    applied
        Whether the noise was taken out of the kernel and of the predictions.
    """

    shots: int
    survival: float
    standard_error: float
    drift: float
    applied: bool

    def facts(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


def read_sentinels(history: History, n_qubits: int, *, mitigate: bool) -> Mitigation | None:
    """Return what the ledger keeps of the sentinels; None where there are none.

    The counts come from a file, so they are checked like any others.
    """
    noted = [round.remarks.get("sentinels") for round in history.rounds]
    rounds = [found for found in noted if isinstance(found, dict)]
    if not rounds:
        return None
    try:
        hits = np.array([found["hits"] for found in rounds])
        shots = np.array([found["shots"] for found in rounds])
        found = estimate_depolarising(hits.ravel(), shots.ravel(), n_qubits)
        drift = check_drift(hits, shots).p_value
    except (KeyError, ValueError, TypeError, InputError) as error:
        raise InputError(
            "the ledger's sentinels are not counts of hits and shots; restore it from a copy."
        ) from error
    applied = mitigate and found.survival > SURE * found.standard_error
    return Mitigation(int(shots.sum()), found.survival, found.standard_error, drift, applied)


def sentinel_shots(history: History) -> int:
    """Return the sentinel shots that a ledger keeps."""
    found = read_sentinels(history, 1, mitigate=False)
    return 0 if found is None else found.shots


def fit_head(
    study: Study, session: Training | PointAcquisition, history: History, n_qubits: int
) -> tuple[FittedHead | PointHead, Mitigation | None]:
    """Train the study's head on what was measured, and say what the sentinels saw."""
    readout = readout_of(study)
    if isinstance(session, PointAcquisition):
        named = study.method.readout is not None or study.method.head == "svm"
        return session.fit(readout if named else None), None
    found = read_sentinels(history, n_qubits, mitigate=study.sentinels.mitigate)
    if found is None or not found.applied:
        return session.fit(readout), found
    measured = estimate_kernel(session.table, session.problem, session.landmarks)
    kernel = mitigate_depolarising(measured, found.survival, n_qubits, clip=False)
    # Without noise the diagonal is 1, which is what a known one reads already.
    np.fill_diagonal(kernel, 1.0)
    head = readout.fit(KernelEstimate(kernel), session.problem)
    noise = Depolarising(found.survival, found.standard_error, n_qubits)
    return for_noisy_rows(head, noise), found


def for_noisy_rows(head: FittedHead, noise: Depolarising) -> FittedHead:
    """Return the head that gives, on noisy rows, what the given one gives on rows without noise.

    With k = (k_noisy - (1 - p) / 2^n) / p it is α / p, and an intercept that takes the floor off:
    shots are then spent and labels settled on what the device measures.

    Examples
    --------
    >>> head = FittedHead(np.array([1.0, -2.0]), np.array(0.5), np.eye(2), 0.1, np.array([0, 1]))
    >>> clean = np.array([[0.3, 0.8]])
    >>> noisy = 0.8 * clean + 0.2 / 4
    >>> same = for_noisy_rows(head, Depolarising(0.8, 0.01, n_qubits=2))
    >>> bool(np.allclose(same.decision_function(noisy), head.decision_function(clean)))
    True
    """
    p, floor = noise.survival, 0.5**noise.n_qubits
    alpha = np.asarray(head.alpha) / p
    intercept = np.asarray(head.intercept) - (1 - p) * floor * alpha.sum(axis=0)
    return replace(head, alpha=alpha, intercept=intercept)
