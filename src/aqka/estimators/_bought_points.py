"""Points that are measured under a budget, once each, and the kernel that follows from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, digest
from aqka.backends import Backend
from aqka.core.defaults import DEFAULT_ALLOCATOR
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.estimators._bought_kernel import BoughtKernel, own_directory
from aqka.estimators._training_kernel import OnRound
from aqka.estimators._training_points import TrainingPoints
from aqka.planning.quotes import Quote
from aqka.runs.driver import drive, fingerprint
from aqka.runs.ledger import LEDGER_NAME
from aqka.runs.spend import Spend
from aqka.sessions.point_acquisition import DEFAULT_POINT_ALLOCATOR, PointAcquisition
from aqka.sessions.point_heads import PointHead, StateHead
from aqka.sessions.point_prediction import PredictedPoints, predict_points
from aqka.sessions.point_values import NEVER_SETTLED, predict_point_values
from aqka.sessions.value_prediction import Values

SHOTS_PER_AMPLITUDE = 16
"""Shots a point of the default budget, for each of the 2^n amplitudes of its state."""


@dataclass(frozen=True, eq=False)
class BoughtPoints(BoughtKernel):
    """Shots on points, by a backend that a factory makes for each set of them."""

    def training(self, problem: Problem, on_round: OnRound | None = None) -> Any:
        """Spend the budget on the training points."""
        purchase, backend = self.purchase, self._backend(self.X, columns=None)
        if backend.n_qubits is None:
            raise InputError(
                f"design='points' needs a backend that prepares states; {type(backend).__name__} "
                "measures pairs."
            )
        shots = self._shots(problem.n_points, backend.n_qubits)
        given = purchase.allocator
        allocator = DEFAULT_POINT_ALLOCATOR if given in (None, DEFAULT_ALLOCATOR) else given
        calibration = purchase.calibration_shots
        session = PointAcquisition(
            *(problem, backend.n_qubits, shots + calibration, allocator),
            seed=purchase.seed,
            calibration_shots=calibration,
            kernel=purchase.point_kernel,
        )
        session.design_choice = self.choice
        directory = own_directory(purchase.directory, "fit", repr(fingerprint(session, backend)))
        spend = Spend(directory, purchase.ceiling, on_round=on_round, verbose=purchase.verbose)
        drive(session, backend, spend)
        reason = (
            f"Points: {shots // problem.n_points} shots for each, in {session.table.n_settings} "
            "Pauli settings."
        )
        ledger_path = None if directory is None else directory / LEDGER_NAME
        return TrainingPoints(session.table, problem, reason, session, ledger_path)

    def quote(self, training: TrainingPoints) -> Quote | None:  # type: ignore[override]
        """Return what the budget buys; None where none was given."""
        if self.purchase.budget is None:
            return None
        return self.purchase.quote(len(self.X), training.table.n_qubits)

    def _shots(self, n_points: int, n_qubits: int) -> int:
        """Return the shots of the points, without those of a calibration."""
        if self.purchase.budget is None:
            return n_points * SHOTS_PER_AMPLITUDE << min(n_qubits, 10)
        return self.purchase.training_shots(n_points, n_qubits)

    def decide(self, head: PointHead, X: NDArray[Any], problem: Problem) -> FloatArray:  # type: ignore[override]
        """Return f of the exact states of a simulator."""
        backend = self._backend(X, columns=None)
        states = getattr(backend, "states", None)
        if states is None or not isinstance(head, StateHead):
            raise InputError(
                f"budget is needed: {type(backend).__name__} has no exact states for this head; "
                "predict(X, budget=…), or test_shots=… when the estimator is made."
            )
        return head.decide_exactly(states())

    def predict(  # type: ignore[override]
        self, head: PointHead, X: NDArray[Any], shots: int, error_rate: float, level: float
    ) -> PredictedPoints:
        """Measure new points and predict them."""
        backend = self._backend(X, columns=None)
        how = self._how("predict", _identity(backend, shots, error_rate, head))
        return predict_points(head, backend, shots, error_rate=error_rate, level=level, **how)

    def predict_values(  # type: ignore[override]
        self, head: PointHead, X: NDArray[Any], shots: int, level: float
    ) -> Values:
        """Measure new points evenly: no class is there to be settled."""
        backend = self._backend(X, columns=None)
        how = self._how("predict", _identity(backend, shots, NEVER_SETTLED, head))
        return predict_point_values(head, backend, shots, level=level, **how)


def _identity(backend: Backend, shots: int, error_rate: float, head: PointHead) -> str:
    """Return what a prediction depends on, as a text."""
    numbers = head.operators if isinstance(head, StateHead) else head.alpha  # type: ignore[attr-defined]
    head_digest = digest(np.asarray(numbers, dtype=np.complex128).view(np.float64))
    return repr((backend.fingerprint(), shots, error_rate, head_digest))
