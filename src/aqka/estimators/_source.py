"""Where an estimator's kernel comes from: the one place that looks at its ``backend``."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray, as_count, as_kernel, text_digest
from aqka._util.text import did_you_mean, inert
from aqka.backends.base import Backend, as_backend
from aqka.backends.factory import NAMES, BackendFactory, as_factory
from aqka.core.problem import Problem
from aqka.designs import Design, KernelEstimate, Pairs, Stop, as_design, measured_by
from aqka.designs.prior import FittedPrior, LazyAnswers, PredictionPrior
from aqka.designs.resolve import Choice, as_prior, resolve
from aqka.errors import InputError
from aqka.estimates.readout import known_confusion
from aqka.learners import Estimate, FittedHead
from aqka.planning.device import make_ceiling
from aqka.planning.quotes import Quote, Wish, quote
from aqka.planning.split import costs_of
from aqka.runs.audit import sound_history
from aqka.runs.driver import drive, fingerprint
from aqka.runs.export import calibration_in, table_in
from aqka.runs.spend import Ceiling, Spend
from aqka.sessions import Predicting, Training
from aqka.sessions.acquire import new_training

PRECOMPUTED = "precomputed"

OnRound = Callable[[Training], None]


def is_precomputed(backend: Any) -> bool:
    """Return whether X is the kernel itself."""
    return isinstance(backend, str) and backend == PRECOMPUTED


def training_shots(
    budget: int | str | None, n_points: int, n_qubits: int | None, design: Design
) -> int:
    """Return the shots that a budget for training alone buys; None is the default budget."""
    if isinstance(budget, str):
        wish = Wish(design=design.name)
        return quote(n_points, budget, n_qubits=max(n_qubits or 2, 2), wish=wish).shots
    if budget is not None:
        return as_count(budget, "budget")
    return design.default_shots(n_points, n_qubits or 1)


def choose(
    factory: BackendFactory, X: NDArray[Any], purchase: Any, shots: int, new_points: int | None
) -> Choice:
    """Return the better design for what is to be labelled with some shots; nothing is measured."""
    probe = as_backend(
        factory(X[:2], purchase.feature_map, columns=None, seed=purchase.seed, design="points")
    )
    return resolve(
        allocator=purchase.allocator,
        n_points=max(2, len(X)),
        n_qubits=probe.n_qubits,
        budget=shots,
        new_points=new_points,
        measures_pairs=probe.measures_pairs,
    )


class KernelSource(ABC):
    """Where the kernel of one training set comes from, and what new points are with it.

    Attributes
    ----------
    takes_shots
        Whether new points can be bought.
    reason
        Why the shots were spent as they were, in a sentence.
    session
        The session that bought the counts; None if there was nothing to buy.
    directory
        Where that session kept its ledger, if anywhere.
    quote
        What the budget buys; None where none was given.
    """

    takes_shots: bool = False
    reason: str = ""
    session: Training | None = None
    directory: Path | None = None
    quote: Quote | None = None

    @abstractmethod
    def estimate(self, problem: Problem, on_round: OnRound | None = None) -> Estimate:
        """Return what a head is fitted to, measured now if need be."""

    @abstractmethod
    def decide(self, head: FittedHead, X: NDArray[Any]) -> FloatArray:
        """Return f of new points without spending a shot."""

    def among(self, head: FittedHead, X: NDArray[Any]) -> FloatArray:
        """Return the kernel of new points with themselves without spending a shot."""
        raise InputError(
            "return_cov needs the kernel of the test points with themselves, which is not known "
            "here: take a simulator of the fidelity kernel, or predict(X, budget=…) with "
            "design='points'."
        )

    def predict(
        self, head: FittedHead, X: NDArray[Any], shots: int, stop: Stop, level: float
    ) -> Any:
        """Measure new points, and return what is known of them."""
        raise InputError(
            "budget: this kernel was given, so there is nothing to measure; call predict(X) "
            "without one."
        )


class GivenKernel(KernelSource):
    """Exact entries, as scikit-learn's ``"precomputed"`` has them; no shots."""

    reason = "No shots: the kernel was given."

    def __init__(self, X: NDArray[Any]) -> None:
        self.X = X

    def estimate(self, problem: Problem, on_round: OnRound | None = None) -> Estimate:
        """Return X, which must be a kernel."""
        return KernelEstimate(as_kernel(self.X, "X"))

    def decide(self, head: FittedHead, X: NDArray[Any]) -> FloatArray:
        """Return f of X, which must be a test-by-train block."""
        return head.decision_function(as_kernel(X, "X", square=False))


class FinishedRun(KernelSource):
    """The counts of a run, where X is one column of its point numbers; no new shots."""

    reason = "No shots: this was measured before."

    def __init__(
        self, table: Any, design: Design, confusion: FloatArray | None, X: NDArray[Any]
    ) -> None:
        self.table, self.design, self.confusion, self.X = table, design, confusion, X

    def estimate(self, problem: Problem, on_round: OnRound | None = None) -> Estimate:
        """Return what was measured of the training points."""
        part = self.table.subset(self._numbers(self.X))
        return self.design.read(part, problem, None, self.confusion)

    def decide(self, head: FittedHead, X: NDArray[Any]) -> FloatArray:
        """Return f of other points of the run."""
        rows, columns = self._numbers(X), self._numbers(self.X)
        return self.design.decide_known(head, self.table, rows, columns)

    def _numbers(self, X: NDArray[Any]) -> IntArray:
        """Return the point numbers that X stands for."""
        points, count = np.asarray(X), self.table.n_points
        if points.ndim != 2 or points.shape[1] != 1 or np.any(points != np.rint(points)):
            raise InputError(
                "X must be one column of point numbers where backend is a finished run, such as "
                f"numpy.arange({count}).reshape(-1, 1); got shape {points.shape}."
            )
        if points.size and (points.min() < 0 or points.max() >= count):
            raise InputError(
                f"X must name points 0 to {count - 1} of the run, got {points.min()} to "
                f"{points.max()}."
            )
        return points[:, 0].astype(np.int64)


@dataclass(frozen=True)
class Purchase:
    """How a kernel is bought: an estimator's parameters that no other source looks at."""

    feature_map: Any
    budget: int | str | None
    allocator: Any
    directory: str | Path | None
    seed: int
    design: str | Design
    new_points: int | None
    prior: Any


class BoughtKernel(KernelSource):
    """Shots on a backend that a factory makes for each set of points."""

    takes_shots = True

    def __init__(self, factory: BackendFactory, X: NDArray[Any], purchase: Purchase) -> None:
        self.factory, self.X = factory, X
        self._chosen = ""
        named = as_design(purchase.design)
        if named is None:  # settled first: the backend, the quote and the split are of a design
            choice = self._choose(purchase)
            named, self._chosen = choice.design, choice.reason
        self.design = named
        self.purchase = purchase
        if purchase.budget is not None:
            self.quote = self._quote(named.name)
        self._ceiling = self._shared_ceiling()

    def _choose(self, purchase: Purchase) -> Choice:
        """Return the better design for all that the budget is for; nothing is measured."""
        self.purchase, self.design = purchase, Pairs()
        new = purchase.new_points
        quoted = self._quote("pairs")
        # Where no new points are named, as many are taken as there are for training, and the same
        # shots on top for them.
        shots = quoted.total.shots if new is not None else 2 * quoted.shots
        return choose(self.factory, self.X, purchase, shots, new)

    def _quote(self, design: str) -> Quote:
        """Return what the budget buys by a design, new points' predictions among it."""
        purchase, n_points = self.purchase, len(self.X)
        given = purchase.budget
        if given is None:
            given = Pairs().default_shots(n_points, 1)
        wish = Wish(
            purchase.new_points or 0,
            calibration_shots=self.design.calibration_shots,
            design=design,
        )
        return quote(n_points, given, n_qubits=self._qubits, wish=wish)

    @property
    def _qubits(self) -> int:
        return max(int(self.X.shape[1]), 2)

    def _shared_ceiling(self) -> Ceiling | None:
        """Return the budget as a ceiling, if it is for predictions too."""
        purchase = self.purchase
        if purchase.new_points is None or purchase.budget is None:
            return None
        return make_ceiling(purchase.budget, n_qubits=self._qubits, design=self.design.name)

    def estimate(self, problem: Problem, on_round: OnRound | None = None) -> Estimate:
        """Spend the budget on the training points."""
        backend = self._backend(self.X, None, self.design.name)
        session = new_training(
            backend,
            problem,
            self._shots(problem.n_points, backend) + self.design.calibration_shots,
            self.purchase.allocator,
            design=self.design,
            seed=self.purchase.seed,
        )
        session.reason = self._chosen
        spend = self._spend("fit", session, backend)
        drive(session, backend, replace(spend, on_round=on_round))
        self.session, self.directory = session, spend.directory  # type: ignore[assignment]
        explained = session.allocator.explain(session.table, problem)
        self.reason = " ".join(filter(None, [self._chosen, explained]))
        return session.estimate()

    def _shots(self, n_points: int, backend: Backend) -> int:
        """Return the shots of the training units, without those of a calibration."""
        if self.quote is not None:
            return self.quote.shots
        return self.design.default_shots(n_points, backend.n_qubits or 1)

    def decide(self, head: FittedHead, X: NDArray[Any]) -> FloatArray:
        """Return f of a simulator's exact entries or states."""
        backend = self._backend(X, self.X, self.design.name)
        return head.estimate.decide_exactly(head, backend)

    def among(self, head: FittedHead, X: NDArray[Any]) -> FloatArray:
        """Return a simulator's exact fidelities."""
        backend = self._backend(X, None, self.design.name)
        if not (head.estimate.is_fidelity and backend.has_kernel):
            return super().among(head, X)
        return backend.kernel()

    def predict(
        self, head: FittedHead, X: NDArray[Any], shots: int, stop: Stop, level: float
    ) -> Any:
        """Spend shots on new points."""
        backend = self._backend(X, self.X, self.design.name)
        settings = as_prior(self.purchase.prior)
        prior = None if settings is None else LazyAnswers(settings, lambda: self.prior(head), X)
        session = Predicting(head, len(X), shots, stop=stop, prior=prior)
        drive(session, backend, self._spend("predict", session, backend))
        return session.result(level)

    def prior(self, head: FittedHead) -> FittedPrior:
        """Return what the training points say about new ones without a shot."""
        assert self.session is not None
        settings = as_prior(self.purchase.prior) or PredictionPrior()
        qubits = self._backend(self.X, None, self.design.name).n_qubits or self._qubits
        outputs = self.session.problem.outputs
        return settings.fit(head, outputs, self.X, self.purchase.feature_map, qubits)

    def _spend(self, what: str, session: Any, backend: Backend) -> Spend:
        """Return how to spend; each fit and prediction has a folder, named by its inputs."""
        directory = self.purchase.directory
        if directory is not None:
            directory = (
                Path(directory) / f"{what}-{text_digest(repr(fingerprint(session, backend)))}"
            )
        return Spend(directory, self._ceiling)

    def _backend(self, X: NDArray[Any], columns: NDArray[Any] | None, design: str) -> Backend:
        purchase = self.purchase
        columns = columns if costs_of(design).design.counts_entries else None
        return as_backend(
            self.factory(
                X, purchase.feature_map, columns=columns, seed=purchase.seed, design=design
            )
        )


def kernel_source(backend: Any, X: NDArray[Any], purchase: Purchase) -> KernelSource:
    """Return what ``backend`` stands for, with X as the training points.

    Parameters
    ----------
    backend
        The parameter of an estimator.
    X
        Training points; their kernel if that is precomputed; or their numbers in a finished run.
    purchase
        How to buy the kernel if it has to be.
    """
    if is_precomputed(backend):
        return GivenKernel(X)
    factory = as_factory(backend)
    if factory is not None:
        return BoughtKernel(factory, X, purchase)
    found = _finished(backend, as_design(purchase.design))
    if found is not None:
        return FinishedRun(*found, X)
    names = [*NAMES, PRECOMPUTED]
    near = did_you_mean(backend, names) if isinstance(backend, str) else ""
    raise InputError(
        f"backend must be {', '.join(map(repr, names))}, a BackendFactory, a device of "
        f"Qiskit's, or a finished run (its directory, session or table of counts); got "
        f"{inert(repr(backend), 100)}.{near}"
    )


def _finished(run: Any, named: Design | None) -> tuple[Any, Design, FloatArray | None] | None:
    """Return table, design and readout errors of a run: its table, session or directory."""
    table, own, confusion = run, None, None
    if isinstance(run, Training):
        table, own, confusion = run.table, run.design, run.confusion
    elif isinstance(run, str | Path) and Path(run).exists():
        history = sound_history(run)
        table, confusion = table_in(history, run), known_confusion(calibration_in(history))
    measured = measured_by(table)
    if measured is None:
        return None
    if named is not None and named.name != measured.name:
        raise InputError(
            f"design {named.name!r} does not fit the finished run, which measured "
            f"{measured.name}; leave it out."
        )
    return table, named or own or measured, confusion
