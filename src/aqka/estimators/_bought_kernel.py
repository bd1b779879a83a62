"""A kernel that is measured under a budget, on a backend made for the points."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, as_count, text_digest
from aqka.backends.base import Backend, as_backend
from aqka.backends.factory import BackendFactory
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.estimators._training_kernel import KernelSource, OnRound, TrainingKernel
from aqka.planning.quotes import quote
from aqka.runs.driver import drive, fingerprint
from aqka.runs.ledger import LEDGER_NAME
from aqka.runs.show_rounds import show_rounds
from aqka.sessions.acquisition import Acquisition

DEFAULT_SHOTS_PER_PAIR = 16
"""Where the paper sees adaptive shots lose their advantage (its regime map)."""


@dataclass(frozen=True)
class Purchase:
    """How a kernel is bought: an estimator's parameters that no other source looks at.

    ``feature_map``, ``budget``, ``allocator``, ``directory``, ``seed`` and ``verbose`` are the
    estimators' own.
    """

    feature_map: Any
    budget: int | str | None
    allocator: Any
    directory: str | Path | None
    seed: int
    verbose: bool = False

    def training_shots(self, problem: Problem, n_features: int) -> int:
        """Return the budget as a number of shots."""
        if self.budget is None:
            return DEFAULT_SHOTS_PER_PAIR * problem.new_table().n_pairs
        if isinstance(self.budget, str):
            return quote(problem.n_points, self.budget, n_qubits=max(n_features, 2)).shots
        return as_count(self.budget, "budget")


@dataclass(frozen=True, eq=False)
class BoughtKernel(KernelSource):
    """Shots on a backend that a factory makes for each set of points."""

    factory: BackendFactory
    X: NDArray[Any]
    purchase: Purchase
    takes_shots = True

    def training_kernel(self, problem: Problem, on_round: OnRound | None = None) -> TrainingKernel:
        """Spend the budget on the training pairs."""
        purchase, backend = self.purchase, self._backend(self.X, columns=None)
        shots = purchase.training_shots(problem, self.X.shape[1])
        session = Acquisition(problem, shots, purchase.allocator, seed=purchase.seed)
        directory = own_directory(purchase.directory, "fit", repr(fingerprint(session, backend)))
        with show_rounds(session, purchase.verbose, on_round) as told:
            drive(session, backend, directory, on_round=told)
        reason = session.allocator.explain(session.table, problem)
        ledger_path = None if directory is None else directory / LEDGER_NAME
        return TrainingKernel.of_counts(session.table, problem, reason, session, ledger_path)

    def test_entries(self, X: NDArray[Any], problem: Problem) -> FloatArray:
        """Return the exact entries of a simulator."""
        backend = self.test_backend(X)
        if not backend.has_kernel:
            raise InputError(
                f"budget is needed: {type(backend).__name__} has no exact entries; predict(X, "
                "budget=…), or test_shots=… when the estimator is made."
            )
        return np.asarray(backend.kernel())

    def test_backend(self, X: NDArray[Any]) -> Backend:
        """Return the backend of the test-by-train block."""
        return self._backend(X, columns=self.X)

    def _backend(self, X: NDArray[Any], columns: NDArray[Any] | None) -> Backend:
        purchase = self.purchase
        return as_backend(
            self.factory(X, purchase.feature_map, columns=columns, seed=purchase.seed)
        )


def own_directory(directory: str | Path | None, what: str, identity: str) -> Path | None:
    """Return a folder for one fit or prediction, the same for the same data and settings."""
    return None if directory is None else Path(directory) / f"{what}-{text_digest(identity)}"
