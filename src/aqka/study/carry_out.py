"""Carries a study out: budget, training kernel, readout, predictions, results."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from aqka._util.files import as_json
from aqka.backends.feature_maps import DEFAULT_REPS
from aqka.errors import InputError
from aqka.planning.device import HERON, DeviceModel, circuit_depth
from aqka.planning.quotes import Quote, quote
from aqka.planning.split import costs_of
from aqka.readouts import FittedHead
from aqka.runs.audit import Audit
from aqka.runs.driver import Run, new_run_id
from aqka.runs.history import History
from aqka.runs.spend import Ceiling, Spend
from aqka.sessions import Training
from aqka.sessions.design import choose_design
from aqka.sessions.point_acquisition import PointAcquisition
from aqka.sessions.point_heads import PointHead
from aqka.sessions.point_prediction import PredictedPoints
from aqka.sessions import Prediction
from aqka.sessions import Values
from aqka.study.backends import StudyBackends, make_backends
from aqka.study.cancel import cancelled_jobs, forget_cancel
from aqka.study.chip import count_tiles
from aqka.study.circuit_facts import circuit_facts
from aqka.study.directory import (
    Prepared,
    hold_run,
    n_qubits_of,
    read_results,
    same_device,
    write_results,
    write_run,
)
from aqka.study.method import (
    new_session,
    problem_of,
    schedule_of,
    with_design,
)
from aqka.study.mitigated import fit_head
from aqka.study.progress import read_begun_history
from aqka.study.results import Predicted, quote_versus_actual, results_of
from aqka.study.seal import PREDICTIONS_NAME, begin_predictions, digest_files, final_digests
from aqka.study.spending import check_ceiling, prediction_shots, study_ceiling, wish_of
from aqka.study.study_run import StudyRun
from aqka.study.tested_points import session_for, tested
from aqka.version import __version__

OnStart = Callable[[Quote, int], None]
OnResults = Callable[[StudyRun], None]
Confirm = Callable[[Quote, str], None]


def study_quote(
    prepared: Prepared,
    depth: int | None = None,
    device: DeviceModel = HERON,
    tiles: int | None = None,
) -> Quote:
    """Return what the study's budget buys; refuse one too small to learn from.

    ``depth`` is that of the transpiled circuit that a shot runs and ``tiles`` how many of it run
    side by side, where they are known.
    """
    study, points, circuit = prepared.study, prepared.points, prepared.circuit
    section = study.feature_map
    is_paper_map = (section.map, section.reps) == ("zz", DEFAULT_REPS)  # whose depth is known
    if depth is None and circuit is not None and not is_paper_map:
        depth = costs_of(study.method.design).map_depth(circuit.decompose(reps=3))
    budget = study.budget
    quoted = quote(
        len(points.train),
        str(budget.total if budget.train is None else budget.train),
        n_qubits=n_qubits_of(prepared),
        depth=depth,
        schedule=schedule_of(study),
        queue=budget.queue,
        rate=budget.rate,
        diagonal=problem_of(study, points).reading.diagonal,
        device=device,
        tiles=count_tiles(prepared) if tiles is None else tiles,
        wish=wish_of(study, points),
    )
    if quoted.shots < quoted.n_points:
        key = "total" if budget.train is None else "train"
        raise InputError(
            f"budget.{key} pays for {quoted.shots} shots, but {quoted.n_points} training "
            f"points have {quoted.n_pairs} pairs: less than a shot per point teaches nothing. Give "
            f"at least {quoted.n_points} shots, better {quoted.n_pairs} or more, or lower "
            "split.train."
        )
    return quoted


def quote_on_device(prepared: Prepared) -> tuple[Quote, StudyBackends]:
    """Return the quote with the depth of the circuit on its device; nothing is submitted."""
    prepared = settle_design(prepared)
    backends = make_backends(
        *(prepared.study.backend, prepared.points, prepared.circuit, prepared.code),
        *(prepared.study.sentinels, prepared.study.method.design),
    )
    return _quote_on(prepared, backends), backends


def carry_out(
    prepared: Prepared,
    directory: Path,
    *,
    new: bool,
    on_start: OnStart | None = None,
    on_round: Callable[[], None] | None = None,
    confirm: Confirm | None = None,
    ceiling: str | None = None,
    on_results: OnResults | None = None,
) -> StudyRun:
    """Run or resume a study in its directory; the run's results are written at the end.

    Parameters
    ----------
    prepared
        From :func:`~aqka.study.directory.prepare` for a new run, else from
        :func:`~aqka.study.directory.read_run`.
    directory
        The run's; of a new run it must not hold anything.
    new
        Whether to make the directory.
    on_start, on_round
        Called with the quote and the shots for predictions before the first shot, and after
        every round.
    confirm
        Called with the quote and the device's name before anything is opened or written, if shots
        cost money; it stops the run by raising.
    ceiling
        Takes the place of the study's own, as when a run that stopped there is resumed.
    on_results
        Called with the run when its results are written, while it is still held.
    """
    stored = None if new else read_results(directory)
    prepared = settle_design(prepared, stored)
    study, points = prepared.study, prepared.points
    section = study.backend if new else same_device(study.backend, directory)
    backends = make_backends(
        *(section, points, prepared.circuit, prepared.code),
        *(study.sentinels, study.method.design),
    )
    quoted = None if stored is None else stored_quote(stored)
    if quoted is None:
        quoted = _quote_on(prepared, backends)
    limit = study_ceiling(study, quoted, ceiling)
    quoted = check_ceiling(quoted, limit, new=new)
    # Made before anything is opened or written, so that what cannot work is refused.
    training = quoted.shots + study.method.calibration_shots
    session = new_session(study, points, training, n_qubits_of(prepared))
    test_shots = prediction_shots(quoted, directory)
    if confirm is not None and backends.train.is_paid:
        confirm(quoted, backends.train.name)
    with ExitStack() as device:
        if new:
            # First of all, so that an account without the mode asked for leaves nothing behind.
            device.enter_context(backends)
            start = _start(prepared, quoted, test_shots, backends) | {"run_id": new_run_id()}
            write_run(prepared, directory, start)
        device.enter_context(hold_run(directory))
        forget_cancel(directory)
        if not new:
            device.enter_context(backends)
            session = _begun_session(prepared, directory) or session
        if on_start is not None:
            on_start(quoted, test_shots)
        spending = Spending(quoted, test_shots, backends, limit)
        done = _spend(prepared, directory, spending, session, on_round)
        if on_results is not None:
            on_results(done)
        return done


@dataclass(frozen=True)
class Spending:
    """What a study may spend, and where: quote, shots for predictions, backends, ceiling."""

    quoted: Quote
    test_shots: int
    backends: StudyBackends
    ceiling: Ceiling | None


def _spend(
    prepared: Prepared,
    directory: Path,
    spending: Spending,
    session: Training | PointAcquisition,
    on_round: Callable[[], None] | None,
) -> StudyRun:
    """Spend both budgets, and write the results down: the seal first, then the file."""
    study, points, backends = prepared.study, prepared.points, spending.backends
    run_id = read_results(directory).get("run_id")
    begin_with = {"files": digest_files(directory)} | ({"run_id": run_id} if run_id else {})
    look = None if on_round is None else lambda _: on_round()
    spend = Spend(
        directory,
        spending.ceiling,
        on_round=look,
        cancel=lambda: cancelled_jobs(directory),
    )
    with Run(session, backends.train, spend, begin_with) as train:
        train.spend()
        history = train.history()
        if history.sealed is None and spending.test_shots:
            train.seal(begin_predictions(directory))
        head, noise = fit_head(study, session, history, n_qubits_of(prepared))
        as_measured = noise is not None and noise.applied
        made = _predict(prepared, head, spending, directory, history, as_measured)
        backends.__exit__(None, None, None)  # billed while open; what is left needs no device
        start = _start(prepared, spending.quoted, spending.test_shots, backends)
        results = start | {"run_id": history.run_id}
        results |= results_of(study, points, session, history, head, made, noise)
        results["quote_versus_actual"] = quote_versus_actual(spending.quoted, results["actual"])
        content = as_json(results)
        train.seal(final_digests(content, None if made is None else made.end))
        write_results(directory, content)
    found = None if made is None else made.prediction
    audits = {"training": Audit.of(history)}
    if made is not None:
        audits["predictions"] = Audit.of(made.history)
    return StudyRun(
        directory=directory,
        study=study,
        text=prepared.text,
        points=points,
        session=session,
        history=history,
        head=head,
        prediction=found if isinstance(found, Prediction | PredictedPoints) else None,
        values=found if isinstance(found, Values) else None,
        audits=audits,
        results=results,
    )


def _predict(
    prepared: Prepared,
    head: FittedHead | PointHead,
    spending: Spending,
    directory: Path,
    history: History,
    as_measured: bool,
) -> Predicted | None:
    """Spend the predictions' shots on pairs of a test and a training point, and predict."""
    study, points = prepared.study, prepared.points
    backend, budget = spending.backends.test, spending.test_shots
    if backend is None or budget == 0:
        return None
    session = session_for(study, head, len(points.test), budget, study.method.seed)
    spend = Spend(
        directory / PREDICTIONS_NAME,
        spending.ceiling,
        cancel=lambda: cancelled_jobs(directory),
    )
    with Run(session, backend, spend, {"parent": history.run_id}) as run:
        run.spend()
        found = tested(session, points, as_measured=as_measured)
        return Predicted(found, run.history(), run.end())


def _start(
    prepared: Prepared, quoted: Quote, test_shots: int, backends: StudyBackends
) -> dict[str, Any]:
    """Return what the results hold before the first shot."""
    why = prepared.design_reason
    return {
        "version": __version__,
        "backend": backends.train.name,
        "quote": asdict(quoted),
        "test_shots": test_shots,
        "design": quoted.design,
        **({} if why is None else {"design_reason": why}),
        **circuit_facts(backends.train.circuit),
    }


def _quote_on(prepared: Prepared, backends: StudyBackends) -> Quote:
    """Return the quote for the circuit, the tiles and the delays of the device."""
    device = HERON.with_rep_delay(backends.train.rep_delay)
    return study_quote(prepared, circuit_depth(backends.train), device, backends.n_tiles)


def stored_quote(results: dict[str, Any]) -> Quote | None:
    """Return the quote a run began with; None where its results hold none that is one."""
    try:
        return TypeAdapter(Quote).validate_json(json.dumps(results.get("quote")))
    except ValidationError:
        return None


def settle_design(prepared: Prepared, stored: dict[str, Any] | None = None) -> Prepared:
    """Return a study that says pairs or points: what a begun run measures, or what is better."""
    study = prepared.study
    if study.method.design != "auto":
        return prepared
    if stored is not None and stored.get("design") in ("pairs", "points"):
        why = stored.get("design_reason")
        return replace(
            prepared,
            study=with_design(study, str(stored["design"])),
            design_reason=why if isinstance(why, str) else None,
        )
    pairs = replace(prepared, study=with_design(study, "pairs"))
    quoted = study_quote(pairs)
    chosen = choose_design(
        *(len(prepared.points.train), n_qubits_of(prepared)),
        *(quoted.total_shots, len(prepared.points.test)),
    )
    settled = with_design(study, chosen.design)
    return replace(prepared, study=settled, design_reason=chosen.reason)


def _begun_session(prepared: Prepared, directory: Path) -> Training | PointAcquisition | None:
    """Return a session with the shots that a begun run has promised its ledger.

    A budget of QPU time buys another number of shots when a device was recalibrated meanwhile,
    and the quote that says how many it bought may be lost.
    """
    history = read_begun_history(directory, write=True)
    if history is None or history.budget is None:
        return None
    return new_session(prepared.study, prepared.points, history.budget, n_qubits_of(prepared))
