"""A kernel that is measured under a budget, on a backend made for the points."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, as_count, text_digest
from aqka.allocators import make_allocator
from aqka.backends.base import Backend, as_backend, check_measures_pairs
from aqka.backends.factory import BackendFactory
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.estimators._training_kernel import KernelSource, OnRound, TrainingKernel
from aqka.planning.device import make_ceiling
from aqka.planning.quotes import Quote, Wish, quote
from aqka.planning.split import costs_of
from aqka.readouts import FittedHead
from aqka.runs.driver import drive, fingerprint
from aqka.runs.ledger import LEDGER_NAME
from aqka.runs.spend import Ceiling, Spend
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.design import DesignChoice, choose_design
from aqka.sessions.point_contract import PointKernel
from aqka.sessions.prediction import predict as predict_by_shots
from aqka.sessions.prediction_result import Prediction
from aqka.sessions.value_prediction import Values, predict_values

DEFAULT_SHOTS_PER_PAIR = 16
"""Where the paper sees adaptive shots lose their advantage (its regime map)."""


@dataclass(frozen=True)
class Purchase:
    """How a kernel is bought: an estimator's parameters that no other source looks at.

    ``ceiling`` is what fits and predictions share where one budget is for both; the others are the
    estimators' own.
    """

    feature_map: Any
    budget: int | str | None
    allocator: Any
    directory: str | Path | None
    seed: int
    verbose: bool = False
    design: str = "pairs"
    new_points: int | None = None
    rate: float | None = None
    test_shots: int | None = None
    calibration_shots: int = 0
    point_kernel: str | PointKernel | None = None
    ceiling: Ceiling | None = None

    def quote(self, n_points: int, n_features: int) -> Quote:
        """Return what the budget buys by a settled design, new points' predictions among it."""
        budget = DEFAULT_SHOTS_PER_PAIR * n_points * (n_points - 1) // 2
        given = budget if self.budget is None else self.budget
        per_unit = None
        if self.test_shots is not None:
            of_a_point = costs_of(self.design).new_units(n_points, 1)
            per_unit = -(-as_count(self.test_shots, "test_shots") // of_a_point)
        wish = Wish(
            self.new_points or 0,
            test_shots=per_unit,
            calibration_shots=self.calibration_shots,
            design=self.design,
        )
        qubits = max(n_features, 2)
        return quote(n_points, given, n_qubits=qubits, rate=self.rate, wish=wish)

    def training_shots(self, n_points: int, n_features: int) -> int:
        """Return the budget as a number of shots for training."""
        return self.quote(n_points, n_features).shots

    def choose_design(self, n_points: int, n_features: int, backend: Backend) -> DesignChoice:
        """Return the better design for all that the budget is for.

        Where no new points are told, as many are taken as there are for training, and the same
        shots on top for them.
        """
        quoted = replace(self, design="pairs", test_shots=None).quote(n_points, n_features)
        shots, new_points = quoted.total_shots, self.new_points
        if new_points is None:
            shots, new_points = 2 * quoted.shots, n_points
        return choose_design(
            *(n_points, backend.n_qubits, shots, new_points), measures_pairs=backend.measures_pairs
        )

    def with_ceiling(self, n_features: int) -> "Purchase":
        """Return it with the budget as a ceiling, if that is for predictions too."""
        if self.new_points is None or self.budget is None:
            return self
        limit = make_ceiling(
            self.budget, n_qubits=max(n_features, 2), rate=self.rate, design=self.design
        )
        return replace(self, ceiling=limit)


@dataclass(frozen=True, eq=False)
class BoughtKernel(KernelSource):
    """Shots on a backend that a factory makes for each set of points."""

    factory: BackendFactory
    X: NDArray[Any]
    purchase: Purchase
    choice: DesignChoice | None = None
    takes_shots = True

    @classmethod
    def chosen(cls, factory: BackendFactory, X: NDArray[Any], purchase: Purchase) -> DesignChoice:
        """Return the better design for these points; nothing is measured."""
        backend = cls(factory, X, purchase)._backend(X[:2], columns=None)
        return purchase.choose_design(len(X), X.shape[1], backend)

    def quote(self, training: TrainingKernel) -> Quote | None:
        """Return what the budget buys; None where none was given."""
        if self.purchase.budget is None:
            return None
        return self.purchase.quote(len(self.X), self.X.shape[1])

    def training(self, problem: Problem, on_round: OnRound | None = None) -> TrainingKernel:
        """Spend the budget on the training pairs."""
        purchase, backend = self.purchase, self._backend(self.X, columns=None)
        check_measures_pairs(backend)
        shots = purchase.training_shots(problem.n_points, self.X.shape[1])
        session = Acquisition(
            problem, shots, make_allocator(purchase.allocator), seed=purchase.seed
        )
        identity = repr(fingerprint(session, backend))
        directory = own_directory(purchase.directory, "fit", identity)
        session.design_choice = self.choice
        spend = Spend(directory, purchase.ceiling, on_round=on_round, verbose=purchase.verbose)
        drive(session, backend, spend)
        reason = session.allocator.explain(session.table, problem)
        ledger_path = None if directory is None else directory / LEDGER_NAME
        return TrainingKernel.of_counts(session.table, problem, reason, session, ledger_path)

    def decide(self, head: FittedHead, X: NDArray[Any], problem: Problem) -> FloatArray:
        """Return f of a simulator's exact entries."""
        backend = self._backend(X, columns=self.X)
        if not backend.has_kernel:
            raise InputError(
                f"budget is needed: {type(backend).__name__} has no exact entries; predict(X, "
                "budget=…), or test_shots=… when the estimator is made."
            )
        return head.decision_function(backend.kernel())

    def predict(
        self, head: FittedHead, X: NDArray[Any], shots: int, error_rate: float, level: float
    ) -> Prediction:
        """Spend shots on the test-by-train block."""
        backend = self._backend(X, columns=self.X)
        identity = repr(((backend.fingerprint(), shots), error_rate, head.alpha.tolist()))
        how = self._how("predict", identity)
        return predict_by_shots(head, backend, shots, error_rate=error_rate, level=level, **how)

    def predict_values(self, head: FittedHead, X: NDArray[Any], shots: int, level: float) -> Values:
        """Spend shots on the test-by-train block of points with real targets."""
        backend = self._backend(X, columns=self.X)
        identity = repr((backend.fingerprint(), shots, head.alpha.tolist()))
        how = self._how("values", identity)
        return predict_values(head, backend, shots, level=level, **how)

    def _how(self, what: str, identity: str) -> dict[str, Any]:
        """Return how every prediction is bought, in a folder of its own."""
        purchase = self.purchase
        return {
            "seed": purchase.seed,
            "directory": own_directory(purchase.directory, what, identity),
            "verbose": purchase.verbose,
            "ceiling": purchase.ceiling,
        }

    def _backend(self, X: NDArray[Any], columns: NDArray[Any] | None) -> Backend:
        purchase = self.purchase
        return as_backend(
            self.factory(X, purchase.feature_map, columns=columns, seed=purchase.seed)
        )


def own_directory(directory: str | Path | None, what: str, identity: str) -> Path | None:
    """Return a folder for one fit or prediction, the same for the same data and settings."""
    return None if directory is None else Path(directory) / f"{what}-{text_digest(identity)}"
