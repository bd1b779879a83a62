"""All that the report of a run says, from its directory: the rest of the room is given it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Len
from pydantic import FiniteFloat

from aqka._util.arrays import text_digest
from aqka._util.text import inert, percent
from aqka.core.problem import FAIR, PAPER
from aqka.designs import Points as PointDesign
from aqka.errors import InputError
from aqka.estimates.readout import known_confusion
from aqka.insight.diagnostics import Diagnostics, diagnose_sensitivity
from aqka.insight.hindsight import FewerShots, Steering, fewer_shots, steering
from aqka.insight.intervals import with_total_interval
from aqka.learners.ridge import RidgeNoise
from aqka.maths.metrics import balanced_accuracy, normal_quantile
from aqka.planning.quotes import Quote
from aqka.planning.split import settled_design
from aqka.report.measured import Measured, falling_eigenvalues, measured_pairs, measured_points
from aqka.report.tested import ClassResults, Rival, Tested, ValueResults, rivals_beside
from aqka.report.usage import BillRow, bill, circuit_words, draw_map
from aqka.runs.export import calibration_in, empty_table
from aqka.runs.history import History
from aqka.sessions import Prediction
from aqka.study import progress
from aqka.study.directory import is_held
from aqka.study.method import class_labels_of, learner_of, target_interval
from aqka.study.results import (
    Beside,
    ExactKernel,
    ValueScores,
    counted_spectrum,
    models_beside,
    prior_facts,
    quote_versus_actual,
    used_by,
)
from aqka.study.schema import Study, read_stored
from aqka.study.store import RunStore, StudyRun, load_study_run

ASSESSED_ROUNDS = 12  # with a Gini and an accuracy
MAX_ROUNDS_POINTS = 1000  # above it only the last round has a Gini: each takes seconds
MAX_SETTING = 200  # characters
REDRAWN_TRAININGS = 20  # give the width of the total interval to within some 16 %


@dataclass(frozen=True)
class MapTrained:
    """How a feature map was trained, as :meth:`TrainedMap.facts` writes it."""

    history: Annotated[list[FiniteFloat], Len(1, 10_000)]
    kept_initial: bool
    validation: tuple[FiniteFloat, FiniteFloat]
    scale_grid: list[tuple[FiniteFloat, FiniteFloat]]
    shots: int = 0

    @property
    def words(self) -> str:
        """What training bought."""
        before, after = self.validation
        kept = "so the map was left as it was" if self.kept_initial else "so it was kept"
        what, cost = ("the alignment", f", for {self.shots:,} shots") if self.shots else ("R²", "")
        words = (
            f"On held-out training points {what} went from {before:.3f} to {after:.3f}{cost}, "
            f"{kept}."
        )
        if not self.scale_grid:
            return words
        scale, score = max(self.scale_grid, key=lambda each: each[1])
        return (
            f"{words} The best of {len(self.scale_grid)} common scales, {scale:.3g}, scores "
            f"{score:.3f} by leave-one-out: where that is as good, a range does what training does."
        )


@dataclass(frozen=True, eq=False)
class RunReport:
    """A run as its report shows it; what cannot be known is None or empty."""

    name: str  # its directory
    state: str
    backend: str  # what ran the shots
    version: str  # of the aqka that started it
    measured: Measured
    budget: int
    calibration_shots: int  # besides these, for the readout
    rounds: list[progress.RoundSummary]
    ledgers: dict[str, History]  # by name
    bill: list[BillRow]  # what training and predictions cost together
    notes: list[str]  # what was left out, and why
    ids: list[str]  # what the user's file calls the training points
    labels: list[str] = field(default_factory=list)  # of the training points
    data: str = ""  # a digest of the test points: do two runs have the same?
    study_text: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    diagnostics: Diagnostics | None = None
    steering: Steering | None = None
    fewer: list[FewerShots] = field(default_factory=list)
    tested: Tested | None = None  # before the test points are predicted
    rivals: list[Rival] = field(default_factory=list)
    exact: ExactKernel = field(default_factory=ExactKernel)
    usage: list[dict[str, Any]] = field(default_factory=list)  # quoted against used, by figure
    circuit: dict[str, str] = field(default_factory=dict)  # what is known about it, by name
    drawing: str = ""  # of the feature map, in characters
    map_training: MapTrained | None = None  # what training the feature map gave

    @property
    def table(self) -> Any:
        """The counts."""
        return self.measured.table

    @property
    def timed(self) -> bool:
        """Whether the backend reported QPU time; a simulator has none."""
        return {row["figure"]: row["actual"] for row in self.usage}.get("QPU seconds") is not None

    @property
    def exact_rival(self) -> Rival | None:
        """The kernel without noise on the test points."""
        return next((one for one in self.rivals if one.kind == "exact"), None)

    @property
    def guess(self) -> Rival:
        """The majority class, or the mean, on the test points, where these are predicted."""
        return next(one for one in self.rivals if one.kind == "guessing")

    @property
    def best_plain(self) -> Rival | None:
        """The plain model that did best on the test points."""
        plain = [one for one in self.rivals if one.kind == "plain"]
        sign = 1 if self.tested is None else self.tested.sign
        return max(plain, key=lambda one: sign * one.score, default=None)


def run_report(directory: Path) -> RunReport:
    """Read a run's directory, finished or not."""
    store = RunStore(directory)
    held = is_held(directory)  # before the ledger is read: a run may end in between
    history = store.training
    if history is None:
        raise InputError(
            f"{inert(directory, 300)} has not measured anything yet; there is nothing to report."
        )
    if history.predicts:
        raise InputError(
            "reports are about training points, and this run measured none of them: it is a "
            "prediction; see 'aqka ledger show'."
        )
    state = progress.run_state(store, held)
    if state == "reporting":
        state = "finished"  # all that a report shows is there
    if store.has_study:
        return study_report(load_study_run(store), state)
    used = used_by(history)
    table: Any = empty_table(history)
    rounds = progress.summarise_rounds(history, table)
    if settled_design(history.extent.design).counts_entries:
        reading = FAIR if table.diagonal == "known" else PAPER
        measured = measured_pairs(table, falling_eigenvalues(reading.kernel(table)))
    else:
        confusion = known_confusion(calibration_in(history))
        measured = measured_points(table, lambda: PointDesign().read(table, None, None, confusion))
    return RunReport(
        **_common(directory, history, state, None, used),
        measured=measured,
        rounds=rounds,
        ids=[f"point {k}" for k in range(table.n_points)],
        bill=bill(used),
        ledgers={"training": history},
        notes=[
            *_about_design(history),
            "This run was started from Python. Its ledger holds no labels, so sensitivities, "
            "accuracy and test points are not shown.",
        ],
        exact=ExactKernel("the run was started from Python"),
    )


def study_report(run: StudyRun, state: str = "finished") -> RunReport:
    """Return the report of a study's run, carried out just now or read from its directory."""
    study, points, feature_map = run.study, run.points, run.feature_map
    tested, trained, results = _tested(run), _trained(run), run.results
    quoted = read_stored(Quote, results.get("quote"))
    stored = read_stored(Beside, results.get("beside"))
    beside = stored or models_beside(study, points, feature_map)
    used = used_by(run.history, run.ledgers.get("predictions"), study.budget.rate, run.map_training)
    # The test points by their names in the user's file; what circuits get differs with the map.
    test_points = f"{study.data.source} {points.test_ids} {points.test_labels.tolist()!r}"
    return RunReport(
        **_common(run.directory, run.history, state, study, used),
        **trained,
        tested=tested,
        rivals=[]
        if tested is None
        else rivals_beside(tested, points.test_labels, points.train_labels, beside),
        exact=beside.exact,
        ids=_names(points.train_ids),
        labels=_names(points.train_labels),
        data=text_digest(test_points),
        study_text=run.text,
        settings={
            f"{section}.{key}": "default" if value is None else inert(value, MAX_SETTING)
            for section, values in study.model_dump().items()
            if isinstance(values, dict)
            for key, value in values.items()
        },
        usage=[] if quoted is None else quote_versus_actual(quoted, used),
        bill=bill(used, quoted),
        circuit=circuit_words(study, points, run.results.get("circuit"), run.history.calibrations),
        drawing=draw_map(feature_map, points.train.shape[1], study.feature_map.reps),
        ledgers=run.ledgers,
        map_training=read_stored(MapTrained, results.get("map_training")),
        notes=_notes(run, trained, beside.exact),
    )


def _common(
    directory: Path, history: History, state: str, study: Study | None, used: dict[str, Any]
) -> dict[str, Any]:
    return {
        "name": inert("/".join(directory.resolve().parts[-2:]), 100),
        "state": state,
        "backend": progress.backend_name(study, history),
        "version": history.version,
        # A calibration is no part of what the figures of points add up to.
        "budget": (history.budget or 0) - (history.extent.calibration or 0),
        "calibration_shots": used.get("calibration_shots", 0),
    }


def _trained(run: StudyRun) -> dict[str, Any]:
    """Return what a study's counts say, looking back on those of pairs with its labels."""
    session, head, history = run.session, run.head, run.history
    table, problem, landmarks = session.table, session.problem, session.landmarks
    sensitivity = session.design.sensitivity(table, problem, counted_spectrum(session, head))
    if sensitivity is None:
        measured = measured_points(
            table, lambda: session.estimate() if head is None else head.estimate
        )
        rounds = progress.summarise_rounds(history, empty_table(history))
        return {"measured": measured, "rounds": rounds}
    labels, learner = class_labels_of(run.study, run.points), learner_of(run.study)
    is_small, fewer, steered = table.n_points <= progress.MAX_ASSESSED_POINTS, [], None
    if table.total and landmarks is None:
        if head is None or type(learner) is not RidgeNoise:
            head = session.fit(RidgeNoise())  # to all rows
        redraws = max(5, min(10, 1000 // table.n_points)) if is_small else 0
        steered = steering(table, problem, repetitions=redraws, head=head)
    if table.total and labels is not None and is_small:
        fewer = fewer_shots(table, problem, labels, learner, landmarks)
    spectrum = counted_spectrum(session, head)
    if spectrum is not None:
        values = spectrum.measured[::-1]
    else:
        values = falling_eigenvalues(session.estimate().kernel)
    diagnostics = diagnose_sensitivity(table, problem, sensitivity)
    assess = progress.make_assess(run.study, run.points, diagnostics)
    assessed = ASSESSED_ROUNDS if table.n_points <= MAX_ROUNDS_POINTS else 1
    return {
        "measured": measured_pairs(table, values, sensitivity),
        "rounds": progress.summarise_rounds(history, empty_table(history), assess, assessed),
        "diagnostics": diagnostics,
        "steering": steered,
        "fewer": fewer,
    }


def _about_design(history: History) -> list[str]:
    """Return what a run of this design does not show, and how its readout was calibrated."""
    notes = list(settled_design(history.extent.design).not_shown)
    calibration = calibration_in(history)
    confusion = known_confusion(calibration)
    if calibration is not None and confusion is not None:
        notes.append(
            f"{calibration.total:,} more shots, on reference states, calibrated the readout: on "
            f"average over the qubits a 0 is read as 1 in "
            f"{percent(confusion[:, 1, 0].mean(), 2)} of cases and a 1 as 0 in "
            f"{percent(confusion[:, 0, 1].mean(), 2)}. These errors are corrected."
        )
    return notes


def _no_wide(run: StudyRun) -> str:
    """Return why intervals do not count the training shots; empty where they do."""
    if run.session.design.no_total_interval:
        return run.session.design.no_total_interval
    if run.session.table.n_points > progress.MAX_ASSESSED_POINTS:
        return f"above {progress.MAX_ASSESSED_POINTS} training points they take minutes"
    if isinstance(run.found, Prediction) and run.found.by_prior is not None:
        return "they are not available for points answered by the prior"
    if run.study.sentinels.mitigate:
        return "they are available only for an unmitigated kernel, and this one is mitigated"
    return ""


def _tested(run: StudyRun) -> Tested | None:
    found, points, no_wide = run.found, run.points, _no_wide(run)
    if found is None:
        return None
    if not no_wide:
        learner = learner_of(run.study)
        found = with_total_interval(found, run.session, learner, repetitions=REDRAWN_TRAININGS)
    several = found.f.ndim > 1
    common: dict[str, Any] = {
        "ids": _names(points.test_ids),
        "wide": None
        if several or found.total_low is None
        else np.array([found.total_low, found.total_high]),
        "no_wide": no_wide or ("there are more than two classes" if several else ""),
        "shots": found.shots,
    }
    if not isinstance(found, Prediction):
        scores = ValueScores.of(points.test_labels, found.f, float(points.train_labels.mean()))
        common |= {"value": found.f, "narrow": np.array([found.low, found.high])}
        target = target_interval(found, points)
        return ValueResults(**common, truth=points.test_labels, scores=scores, target=target)
    value, deviation = found.decided.lead()
    prior = prior_facts(found, points, points.test, points.test_labels.tolist())
    reach = normal_quantile(found.level) * deviation
    truth = np.array([str(label) for label in points.test_labels])
    labels = np.array([str(label) for label in found.labels])
    return ClassResults(
        **common,
        value=value,
        narrow=np.array([value - reach, value + reach]),
        truth=_names(truth),
        predicted=_names(labels),
        classes=_names(found.head.classes),
        right=truth == labels,
        settled=found.settled,
        could_flip=found.could_flip,
        balanced_accuracy=balanced_accuracy(truth, labels),
        on_prior="" if prior is None else " ".join(prior["sentences"]),
    )


def _notes(run: StudyRun, trained: dict[str, Any], exact: ExactKernel) -> list[str]:
    """Return why pairs or points were measured, what was filled in, and what is left out."""
    why, predictions = run.results.get("design_reason"), run.ledgers.get("predictions")
    measured, most = trained["measured"], progress.MAX_ASSESSED_POINTS
    n_points = run.session.table.n_points if "diagnostics" in trained else 0
    unsound = run.session.done and predictions is not None and not predictions.sound
    left_out = {
        f"Above {most} training points the report leaves out what takes minutes: "
        "cross-validated accuracy, the curve of fewer shots, the error of the comparison with "
        "even shots, and intervals that count the training shots.": n_points > most,
        f"Above {MAX_ROUNDS_POINTS} training points only the last round has a Gini, for the same "
        "reason.": n_points > MAX_ROUNDS_POINTS,
        "The allocator completes rows from landmarks; the comparison with even shots is not "
        "computed for it.": run.session.landmarks is not None and measured.seen > 0,
        "Missing values of features were filled with the median of the training points "
        '(data.missing = "median").': run.study.data.missing == "median",
        f"The exact kernel is not simulated: {exact.unknown}.": exact.unknown,
        "The exact kernel shown is the fidelity kernel, not the one measured.": (
            not exact.unknown and not measured.is_fidelity
        ),
        "The run does not keep the user's columns: plain models see the features.": (
            run.points.train_columns is None
        ),
        "The test points are left out: the ledger of the predictions is not sound.": unsound,
    }
    given = [inert(why, 300)] if isinstance(why, str) else []
    return given + _about_design(run.history) + [note for note, so in left_out.items() if so]


def _names(ids: Iterable[Any]) -> list[str]:
    return [inert(name) for name in ids]
