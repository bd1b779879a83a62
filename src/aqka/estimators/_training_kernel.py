"""The contract of a kernel source, and the training kernel that it gives."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.core.defaults import DEFAULT_READOUT
from aqka.core.pairs import PairTable
from aqka.core.prior import KernelPrior
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.insight.diagnostics import Diagnostics, diagnose
from aqka.planning.quotes import Quote
from aqka.readouts import FittedHead, Readout, make_readout
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.design import DesignChoice
from aqka.sessions.value_prediction import Values

OnRound = Callable[[Acquisition], None]


@dataclass(frozen=True, eq=False)
class TrainingKernel:
    """What a head is trained on.

    Attributes
    ----------
    kernel, variance
        The entries, and the variance that each has from its shots.
    reason
        Why the shots were spent as they were, in a sentence.
    table
        The counts; None of a kernel that was given.
    session
        The session that bought the counts; None if there was nothing to buy.
    ledger_path
        Where that session kept its ledger, if anywhere.
    """

    kernel: FloatArray
    variance: FloatArray
    reason: str
    table: PairTable | None = None
    session: Acquisition | None = None
    ledger_path: Path | None = None

    @classmethod
    def of_counts(
        cls,
        table: PairTable,
        problem: Problem,
        reason: str,
        session: Acquisition | None = None,
        ledger_path: Path | None = None,
    ) -> "TrainingKernel":
        """Read a table of counts, with the variances that the prior gives."""
        prior = KernelPrior.of(table)
        variance = prior.variance(prior.posterior_mean(table), table.shots)
        return cls(
            problem.reading.kernel(table),
            table.square(variance, known_diagonal=0.0),
            reason,
            table,
            session,
            ledger_path,
        )

    @property
    def shots(self) -> int:
        """Shots that were bought for it."""
        return 0 if self.session is None else self.session.table.total

    def fit(self, readout: Readout | None, problem: Problem) -> FittedHead:
        """Train a head; None is the default readout of pairs."""
        readout = readout or make_readout(DEFAULT_READOUT)
        if self.table is None:
            return readout.fit_kernel(self.kernel, problem)
        landmarks = None if self.session is None else self.session.landmarks
        return readout.fit(self.table, problem, landmarks)

    def read(self, head: FittedHead) -> tuple[FloatArray, FloatArray]:
        """Return the kernel and the variances of its entries."""
        return self.kernel, self.variance

    def diagnose(self, problem: Problem, kernel: FloatArray | None = None) -> Diagnostics:
        """Say whether adaptive shots are worth it on this kernel."""
        if self.table is None:
            return diagnose(problem.new_table(), problem, self.kernel)
        return diagnose(self.table, problem)


class KernelSource(ABC):
    """Where the entries of one training set come from, and those of test points with it."""

    takes_shots: bool = False
    """Whether entries of test points can be bought."""
    choice: DesignChoice | None = None
    """What ``design="auto"`` took, and why."""

    @abstractmethod
    def training(self, problem: Problem, on_round: OnRound | None = None) -> Any:
        """Return what a head is trained on, measured now if need be: a :class:`TrainingKernel`, or
        what has its methods.

        ``on_round`` is called after every round that is bought.
        """

    def quote(self, training: Any) -> Quote | None:
        """Return what the budget of a kernel buys that is bought under one."""
        return None

    @abstractmethod
    def decide(self, head: Any, X: NDArray[Any], problem: Problem) -> FloatArray:
        """Return f of new points without spending a shot."""

    def predict(
        self, head: Any, X: NDArray[Any], shots: int, error_rate: float, level: float
    ) -> Any:
        """Measure new points, and return what is known of them."""
        raise InputError(
            "budget: this kernel was given, so there is nothing to measure; call predict(X) "
            "without one."
        )

    def predict_values(self, head: Any, X: NDArray[Any], shots: int, level: float) -> Values:
        """Measure new points of real targets, and return what is known of their values."""
        raise InputError(
            "budget: this kernel was given, so there is nothing to measure; call predict(X) "
            "without one."
        )
