"""A study's settings as what they stand for: the problem, its sessions, its head, its answers.

Only this module makes the sessions that spend a study's shots.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.allocators.schedule import Schedule
from aqka.backends import diagonal
from aqka.backends.circuits import lattice_of
from aqka.core.plans import ShotPlan
from aqka.core.problem import Problem, TargetScale
from aqka.designs import Design, KernelEstimate, Never, Pairs, Settle, as_design
from aqka.designs import Points as PointDesign
from aqka.designs.prior import FittedPrior, LazyAnswers, PredictionPrior
from aqka.designs.resolve import Choice, as_prior, resolve
from aqka.learners import FittedHead, Learner
from aqka.maths.metrics import normal_quantile
from aqka.runs.driver import replay
from aqka.runs.history import History
from aqka.sessions import Predicting, Training, Values
from aqka.study.points import Points

if TYPE_CHECKING:
    from aqka.study.directory import Prepared
    from aqka.study.schema import MethodSection, Study

SURE = 2.0  # standard errors that the survival must lie above 0, or dividing by it is no cure


def design_of(method: "MethodSection") -> "str | Design":
    """Return the design of a method with its options; refuse options of another one."""
    for name, section in (("pairs", method.pairs), ("points", method.points)):
        if section.model_fields_set and name != method.design:
            given = ", ".join(sorted(section.model_fields_set))
            raise ValueError(
                f"{name} ({given}) is for design = {name!r}, design is {method.design!r}"
            )
    options: dict[str, Design] = {
        "pairs": Pairs(method.pairs.reading),
        "points": PointDesign(method.points.kernel, method.points.calibration_shots),
    }
    return options.get(method.design, method.design)


def runs_inverse(study: "Study") -> bool:
    """Return whether the inverse of the feature map may be run."""
    design = as_design(study.method.design)
    return design is None or design.runs_inverse


def chosen(method: "MethodSection") -> Choice:
    """Return what the settings of a method come to; refuse those that do not go together."""
    # What a budget buys settles an automatic design later (``aqka.study.quoting``).
    return resolve(
        design_of(method), method.allocator, method.learner, n_points=2, n_qubits=None, budget=2
    )


def problem_of(study: "Study", points: Points) -> Problem:
    """Return the learning problem of a study; numbers are learnt in units of their spread."""
    y = points.train_labels
    if study.data.task == "regression":
        y = TargetScale.of(y).scaled(y)
    return Problem(y, study.method.ridge, study.method.C)


def class_labels_of(study: "Study", points: Points) -> NDArray[Any] | None:
    """Return the classes of the training points; None where the target holds numbers."""
    return None if study.data.task == "regression" else points.train_labels


def schedule_of(study: "Study") -> Schedule:
    """Return the allocator's schedule with what the study changes."""
    schedule = chosen(study.method).allocator.schedule
    rounds = study.method.rounds
    return schedule if rounds is None else replace(schedule, rounds=rounds)


def learner_of(study: "Study") -> Learner:
    """Return the learner of a study: the one it names, or that of its design."""
    return chosen(study.method).learner


def new_session(prepared: "Prepared", budget: int) -> Training:
    """Return the training session of a settled study; ``budget`` includes a calibration."""
    study, n_qubits = prepared.study, prepared.n_qubits
    design = as_design(design_of(study.method))
    assert design is not None, "the design is not settled"
    return Training(
        problem_of(study, prepared.points),
        budget,
        study.method.allocator,
        schedule_of(study),
        study.seed,
        design=design.on(lattice_of(prepared.circuit), n_qubits),
        n_qubits=n_qubits,
    )


def begun_session(prepared: "Prepared", history: History) -> Training:
    """Return the training session of a run that has begun, with all that was measured."""
    assert history.budget is not None
    session = new_session(prepared, history.budget)
    replay(session, history)
    return session


def prediction_session(
    prepared: "Prepared", head: FittedHead, X: FloatArray, budget: int, seed: int | None = None
) -> Predicting:
    """Return a session that predicts points X of a study, before its first shot."""
    stop = Never() if prepared.study.data.task == "regression" else Settle()
    seed, prior = prepared.study.seed if seed is None else seed, prior_of(prepared, head, X)
    return Predicting(head, len(X), budget, stop=stop, seed=seed, prior=prior)


def prior_of(prepared: "Prepared", head: FittedHead, X: FloatArray) -> LazyAnswers | None:
    """Return what answers points X of a study without a shot; None where every one is measured.

    A head for noisy rows is another function than that of the training kernel, which has lost its
    noise.
    """
    settings = as_prior(prepared.study.method.prior)
    is_real = prepared.study.data.task == "regression"
    if settings is None or is_real or not head.estimate.rows_are_alike:
        return None
    return LazyAnswers(settings, lambda: fitted_prior(prepared, head, settings), X)


def fitted_prior(prepared: "Prepared", head: FittedHead, settings: PredictionPrior) -> FittedPrior:
    """Return what a study's training points say about others."""
    outputs = problem_of(prepared.study, prepared.points).outputs
    train, n_qubits = prepared.points.train, prepared.n_qubits
    return settings.fit(head, outputs, train, prepared.feature_map, n_qubits)


def answers_of(session: Predicting, points: Points) -> Values:
    """Return what a session found; values are in the units of the study's target."""
    found: Values = session.result()
    if isinstance(session.stop, Settle):
        return found
    scale = TargetScale.of(points.train_labels)
    return found.in_units(scale.spread, scale.centre)


def target_interval(found: Values, points: Points) -> FloatArray | None:
    """Return where targets of new points lie, low and high, at the level of the shots' intervals.

    None where the kernel was mitigated, and rows of it were not.
    """
    head, scale = found.head, TargetScale.of(points.train_labels)
    if head.spectrum is None or not head.estimate.rows_are_alike:
        return None
    block = head.entries().values(found.table)
    amplitude = float(np.mean(scale.scaled(points.train_labels) * head.alpha))
    variance = head.target_variance(block, amplitude, found.decided.deviation)
    reach = normal_quantile(found.level) * np.sqrt(variance) * scale.spread
    return np.stack([found.f - reach, found.f + reach])


def fit_head(
    prepared: "Prepared", session: Training, history: History
) -> "tuple[FittedHead, Mitigation | None]":
    """Train the study's head on what was measured, and say what the sentinels saw."""
    study, n_qubits = prepared.study, prepared.n_qubits
    learner, estimate = learner_of(study), session.estimate()
    found = read_sentinels(history, n_qubits, mitigate=study.sentinels.mitigate)
    if found is None or not found.applied:
        return learner.fit(estimate, session.problem), found
    rounds = ((cast(ShotPlan, round.measured), round.remarks) for round in history.rounds)
    n_points = len(estimate.kernel)
    survival = diagonal.survival_of_pairs(rounds, found.survival, n_points, n_qubits)
    kernel = diagonal.mitigate_depolarising(estimate.kernel, survival, n_qubits, clip=False)
    # Without noise the diagonal is 1, which is what a known one reads already.
    np.fill_diagonal(kernel, 1.0)
    # Rows of new points have the noise that the training kernel has lost.
    cleaned = KernelEstimate(kernel, f"mitigated {estimate.identity}", rows_are_alike=False)
    head = learner.fit(cleaned, session.problem)
    return for_noisy_rows(head, found.survival, n_qubits), found


@dataclass(frozen=True)
class Mitigation:
    """What the sentinels of a run say, and what was done about it."""

    shots: int  # of sentinels, in all
    survival: float  # probability that the state is kept, as in Depolarising
    standard_error: float
    drift: float  # p-value of the test that all rounds saw the same noise
    applied: bool  # whether the noise was taken out of the kernel and of the predictions


def read_sentinels(history: History, n_qubits: int, *, mitigate: bool) -> Mitigation | None:
    """Return what the ledger keeps of the sentinels; None where there are none."""
    rounds = [r.remarks["sentinels"] for r in history.rounds if "sentinels" in r.remarks]
    if not rounds:
        return None
    hits, shots = (np.array([noted[name] for noted in rounds]) for name in ("hits", "shots"))
    found = diagonal.estimate_depolarising(hits.ravel(), shots.ravel(), n_qubits)
    drift = diagonal.check_drift(hits, shots).p_value
    applied = mitigate and found.survival > SURE * found.standard_error
    return Mitigation(int(shots.sum()), found.survival, found.standard_error, drift, applied)


def for_noisy_rows(head: FittedHead, survival: float, n_qubits: int) -> FittedHead:
    """Return the head that gives, on noisy rows, what the given one gives on rows without noise.

    With k = (k_noisy - (1 - p) / 2^n) / p it is α / p, and an intercept that takes the floor off:
    shots are then spent and labels settled on what the device measures.
    """
    alpha = np.asarray(head.alpha) / survival
    floor = (1 - survival) * 0.5**n_qubits
    return replace(head, alpha=alpha, intercept=head.intercept - floor * alpha.sum(axis=0))
