"""Where an estimator's kernel comes from: the one place that looks at its ``backend``."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray, as_indices, as_kernel, digest, text_digest
from aqka._util.files import as_json, explained, write_atomically
from aqka._util.text import did_you_mean, inert
from aqka.allocators import make_allocator
from aqka.backends.base import Backend, as_backend
from aqka.backends.factory import NAMES, STATEVECTOR, BackendFactory, as_factory
from aqka.core.problem import Problem
from aqka.designs import Design, KernelEstimate, Pairs, Points, Stop, as_design, measured_by
from aqka.designs.prior import FittedPrior, LazyAnswers, PredictionPrior
from aqka.designs.resolve import as_prior, resolve
from aqka.errors import InputError, LedgerError
from aqka.estimates.readout import known_confusion
from aqka.learners import Estimate, FittedHead
from aqka.planning.budget import Shots, as_budget
from aqka.planning.device import HERON, Usage, make_ceiling
from aqka.planning.quotes import MAX_QUBITS, Quote, Wish, quote
from aqka.runs.audit import sound_history
from aqka.runs.driver import drive, fingerprint
from aqka.runs.export import calibration_in, table_in
from aqka.runs.spend import Ceiling, Spend
from aqka.sessions import Predicting, Training
from aqka.sessions.training import new_training

PRECOMPUTED = "precomputed"
OnRound = Callable[[Training], None]


def is_precomputed(backend: Any) -> bool:
    """Return whether X is the kernel itself."""
    return isinstance(backend, str) and backend == PRECOMPUTED


@dataclass(frozen=True)
class Purchase:
    """How a kernel is bought: an estimator's parameters, as they were when it was fitted."""

    feature_map: Any = None
    backend: Any = STATEVECTOR
    budget: Any = None
    allocator: Any = None
    directory: str | Path | None = None
    seed: int = 0
    design: Any = "auto"
    new_points: int | None = None
    prior: Any = "none"
    labels: str = ""  # a digest of them: with others it is another run
    reason: str = ""  # why it is this design, once that is settled
    quote: Quote | None = None  # for which the design was chosen
    usage: Usage | None = None  # of the day on which the run began
    terms: Path | None = None  # the file that is to keep it

    @classmethod
    def of(cls, estimator: Any) -> "Purchase":
        """Return the parameters that an estimator has of these."""
        given = estimator.get_params(deep=False)
        return cls(**{f.name: given[f.name] for f in fields(cls) if f.name in given})

    def settled(self, X: NDArray[Any], factory: Any, design: Design | None) -> Self:
        """Return it with a backend and a design: where None is named the better one, and why."""
        made = replace(self, backend=factory, design=design or Points())
        budget = Pairs().default_shots(len(X), 1) if self.budget is None else as_budget(self.budget)
        if not (self.directory is None or isinstance(budget, Shots | int)):
            made = made._with_terms(X, design, budget)
        if design is not None or made.usage is not None:
            return made
        probe = made.make(X[:2])
        # Both by the circuit of points: that of a pair is transpiled only if it is going to be run.
        both = () if self.budget is None else (Pairs(), Points())
        quotes = {one.name: replace(made, design=one).quoted(X, probe) for one in both}
        choice = resolve(
            allocator=self.allocator,
            n_points=max(2, len(X)),
            n_qubits=probe.n_qubits,
            budget={name: one.total.shots for name, one in quotes.items()} or budget,  # type: ignore[arg-type]
            new_points=self.new_points,
            on_top=self.new_points is None,
            measures_pairs=probe.measures_pairs,
        )
        found = quotes.get(choice.design.name)
        return replace(made, design=choice.design, reason=choice.reason, quote=found)

    def make(self, X: Any, columns: Any = None) -> Backend:
        """Return the backend of points, once it is settled."""
        how = {"columns": columns, "seed": self.seed, "design": self.design.name}
        return as_backend(self.backend(X, self.feature_map, **how))

    def quoted(self, X: NDArray[Any], backend: Backend) -> Quote:
        """Return what the budget, or the default one, buys of the circuit that a backend runs."""
        qubits, design = backend.n_qubits or min(X.shape[1], MAX_QUBITS), self.design
        usage = self.usage or Usage.on(backend, design.name, qubits)
        facts, made = (len(X), usage.execution_seconds, usage.tiles), self.quote
        if made and (made.n_points, made.execution_seconds, made.tiles) == facts:
            return made
        budget = design.default_shots(len(X), qubits) if self.budget is None else self.budget
        calibration = design.calibration_shots
        wish = Wish(self.new_points or 0, calibration_shots=calibration, design=design.name)
        return quote(len(X), budget, n_qubits=qubits, wish=wish, **vars(usage))

    def _with_terms(self, X: NDArray[Any], design: Design | None, budget: Any) -> Self:
        """Return it with the file of this very run's terms, and on those terms if it has begun.

        Time and money buy other shots of a recalibrated device: a run keeps those it promised.
        """
        run = [self.make(X[:2]).fingerprint(), digest(X * 1.0), self.labels, design, int(self.seed)]
        asked = f"{budget} {self.new_points} {make_allocator(self.allocator).describe()}"
        path = Path(self.directory or "") / f"terms-{text_digest(f'{run} {asked}')}.json"
        if not path.exists():
            return replace(self, terms=path)
        try:
            kept = json.loads(path.read_bytes())
            depth, tiles = int(kept["depth"]), int(kept["tiles"])
            usage = Usage(HERON.with_rep_delay(kept["delay"]), depth, tiles)
            design, reason = design or as_design(kept["design"]), str(kept["reason"])
            return replace(self, usage=usage, design=design, reason=reason)
        except (OSError, ValueError, TypeError, KeyError, ArithmeticError) as error:
            raise LedgerError(f"{path} is damaged: {error}; restore it from a copy.") from error

    def keep_terms(self, bought: Quote, backend: Backend) -> None:
        """Write down what time or money buys; a run does so before its first shot."""
        if self.terms is None:
            return
        usage = {"depth": bought.depth, "tiles": bought.tiles, "delay": backend.rep_delay}
        kept = usage | {"design": self.design.name, "reason": self.reason}
        with explained(f"directory {str(self.directory)!r} cannot be made", "; name another"):
            self.terms.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.terms, as_json(kept))


def unknown_backend(backend: Any, *names: str, or_else: str = "") -> InputError:
    """Return the error of a backend that is none of those that an estimator takes."""
    known = [*NAMES, *names]
    near = did_you_mean(backend, known) if isinstance(backend, str) else ""
    return InputError(
        f"backend must be {', '.join(map(repr, known))}, a device of Qiskit's{or_else} or a "
        "BackendFactory, for example BackendFactory(SamplerBackend, sampler=make); got "
        f"{inert(repr(backend), 100)}.{near}"
    )


class KernelSource(ABC):
    """Where the kernel of one training set comes from, and what new points are with it."""

    takes_shots: bool = False  # whether new points can be bought
    reason: str = ""  # why the shots were spent as they were, in a sentence
    session: Training | None = None  # that bought the counts, if any
    directory: Path | None = None  # where that session kept its ledger, if anywhere
    quote: Quote | None = None  # what the budget buys, if one was given

    @abstractmethod
    def estimate(self, problem: Problem, on_round: OnRound | None = None) -> Estimate:
        """Return what a head is fitted to, measured now if need be."""

    @abstractmethod
    def decide(self, head: FittedHead, X: NDArray[Any]) -> FloatArray:
        """Return f of new points without spending a shot."""

    def among(self, head: FittedHead, X: NDArray[Any]) -> FloatArray:
        """Return the kernel of new points with themselves without spending a shot."""
        raise InputError(
            "return_cov needs the kernel among the test points, which is not known here: "
            "take a simulator of the fidelity kernel, or predict(X, budget=…) with "
            "design='points'."
        )

    def predict(
        self, head: FittedHead, X: NDArray[Any], shots: int, stop: Stop, level: float
    ) -> Any:
        """Measure new points, and return what is known of them."""
        raise InputError("budget: the kernel was given, so there is nothing to measure; omit it.")


class GivenKernel(KernelSource):
    """Exact entries, as scikit-learn's ``"precomputed"`` has them: X, or a test-by-train block."""

    reason = "No shots: the kernel was given."

    def __init__(self, X: NDArray[Any]) -> None:
        self.X = X

    def estimate(self, problem: Problem, on_round: OnRound | None = None) -> Estimate:
        return KernelEstimate(as_kernel(self.X, "X"))

    def decide(self, head: FittedHead, X: NDArray[Any]) -> FloatArray:
        return head.decision_function(as_kernel(X, "X", square=False))


class FinishedRun(KernelSource):
    """The counts of a run, where X is one column of its point numbers; no new shots."""

    reason = "No shots: this was measured before."

    def __init__(
        self, table: Any, design: Design, confusion: FloatArray | None, X: NDArray[Any]
    ) -> None:
        self.table, self.design, self.confusion, self.X = table, design, confusion, X

    def estimate(self, problem: Problem, on_round: OnRound | None = None) -> Estimate:
        part = self.table.subset(self._numbers(self.X))
        return self.design.read(part, problem, None, self.confusion)

    def decide(self, head: FittedHead, X: NDArray[Any]) -> FloatArray:
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
        return as_indices(points[:, 0], "X, the numbers of points of the run,", count)


class BoughtKernel(KernelSource):
    """Shots on a backend that a factory makes for each set of points."""

    takes_shots = True
    _ceiling: Ceiling | None = None  # of fit and predictions together

    def __init__(self, factory: BackendFactory, X: NDArray[Any], purchase: Purchase) -> None:
        # Settled first: the backend, the quote and the split are of a design.
        self.X, self.purchase = X, purchase.settled(X, factory, as_design(purchase.design))
        self.design: Design = self.purchase.design

    def estimate(self, problem: Problem, on_round: OnRound | None = None) -> Estimate:
        backend, design, purchase = self._backend(self.X), self.design, self.purchase
        bought = purchase.quoted(self.X, backend)
        shots, each = bought.shots + design.calibration_shots, bought.execution_seconds
        if purchase.budget is not None:
            self.quote = bought
            if purchase.new_points is not None:  # then it is for predictions too
                self._ceiling = make_ceiling(purchase.budget, design.name, execution_seconds=each)
        session = new_training(
            backend, problem, shots, purchase.allocator, design=design, seed=purchase.seed
        )
        session.reason = purchase.reason
        spend = self._spend("fit", session, backend)
        purchase.keep_terms(bought, backend)
        drive(session, backend, replace(spend, on_round=on_round))
        self.session, self.directory = session, spend.directory  # type: ignore[assignment]
        explained = session.allocator.explain(session.table, problem)
        self.reason = " ".join(filter(None, [session.reason, explained]))
        return session.estimate()

    def decide(self, head: FittedHead, X: NDArray[Any]) -> FloatArray:
        return head.estimate.decide_exactly(head, self._backend(X, self.X))

    def among(self, head: FittedHead, X: NDArray[Any]) -> FloatArray:
        backend = self._backend(X)
        known = head.estimate.is_fidelity and backend.has_kernel
        return backend.kernel() if known else super().among(head, X)

    def predict(
        self, head: FittedHead, X: NDArray[Any], shots: int, stop: Stop, level: float
    ) -> Any:
        backend = self._backend(X, self.X)
        settings = as_prior(self.purchase.prior)
        prior = None
        if settings is not None:
            prior = LazyAnswers(settings, lambda: self._fit_prior(settings, head), X)
        session = Predicting(head, len(X), shots, stop=stop, prior=prior)
        backend.settle_on(self.design.name)
        drive(session, backend, self._spend("predict", session, backend))
        return session.result(level)

    def _fit_prior(self, settings: PredictionPrior, head: FittedHead) -> FittedPrior:
        assert self.session is not None
        qubits = self._backend(self.X).n_qubits or self.X.shape[1]
        outputs = self.session.problem.outputs
        return settings.fit(head, outputs, self.X, self.purchase.feature_map, qubits)

    def _spend(self, what: str, session: Any, backend: Backend) -> Spend:
        """Return how to spend; each fit and prediction has a folder, named by its inputs."""
        directory = self.purchase.directory
        if directory is not None:
            name = text_digest(repr(fingerprint(session, backend)))
            directory = Path(directory) / f"{what}-{name}"
        return Spend(directory, self._ceiling)

    def _backend(self, X: NDArray[Any], columns: NDArray[Any] | None = None) -> Backend:
        # Without the inverse of the map, new points are measured alone.
        return self.purchase.make(X, columns if self.design.runs_inverse else None)


def kernel_source(X: NDArray[Any], purchase: Purchase) -> KernelSource:
    """Return what the backend of a purchase stands for.

    X are the training points, their precomputed kernel, or their numbers in a finished run.
    """
    backend = purchase.backend
    if is_precomputed(backend):
        return GivenKernel(X)
    factory = as_factory(backend)
    if factory is not None:
        return BoughtKernel(factory, X, purchase)
    found = _finished(backend, as_design(purchase.design))
    if found is not None:
        return FinishedRun(*found, X)
    run = ", a finished run (its directory, session or table of counts)"
    raise unknown_backend(backend, PRECOMPUTED, or_else=run)


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
    if named is not None and not named.reads(measured):
        raise InputError(
            f"design {named!r} does not fit the finished run, which measured {measured!r}; "
            "leave it out."
        )
    return table, named or own or measured, confusion
