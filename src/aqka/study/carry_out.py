"""Carries a study out: budget, training kernel, readout, predictions, results."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from aqka._util.files import as_json
from aqka.backends.built_in_maps import DEFAULT_REPS
from aqka.backends.circuits import fidelity_circuit
from aqka.errors import InputError
from aqka.planning.device import HERON, DeviceModel
from aqka.planning.quotes import Quote, quote
from aqka.readouts import FittedHead
from aqka.runs.audit import Audit
from aqka.runs.driver import Run, new_run_id
from aqka.runs.history import History
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.prediction_result import Prediction
from aqka.sessions.value_prediction import ValuePrediction
from aqka.study.backends import StudyBackends, make_backends
from aqka.study.chip import count_tiles
from aqka.study.circuit_facts import circuit_facts
from aqka.study.directory import Prepared, hold_run, read_results, write_results, write_run
from aqka.study.method import (
    new_session,
    problem_of,
    readout_of,
    reads_as_measured,
    schedule_of,
)
from aqka.study.progress import read_begun_history
from aqka.study.results import quote_versus_actual, results_of
from aqka.study.schema import BackendSection
from aqka.study.seal import PREDICTIONS_NAME, begin_predictions, digest_files, final_digests
from aqka.study.study_run import StudyRun
from aqka.study.tested_points import Tested, session_for, tested
from aqka.version import __version__

OnStart = Callable[[Quote, int], None]
OnResults = Callable[[StudyRun], None]


def study_quote(
    prepared: Prepared,
    depth: int | None = None,
    device: DeviceModel = HERON,
    tiles: int | None = None,
) -> Quote:
    """Return what the study's budget buys; refuse one too small to learn from.

    ``depth`` is that of the transpiled fidelity circuit and ``tiles`` how many of it run side by
    side, where they are known.
    """
    study, points, circuit = prepared.study, prepared.points, prepared.circuit
    section = study.feature_map
    is_paper_map = (section.map, section.reps) == ("zz", DEFAULT_REPS)  # whose depth is known
    if depth is None and circuit is not None and not is_paper_map:
        depth = max(1, int(fidelity_circuit(circuit.decompose(reps=3)).depth()))
    quoted = quote(
        len(points.train),
        str(study.budget.train),
        n_qubits=points.train.shape[1] if circuit is None else circuit.num_qubits,
        depth=depth,
        schedule=schedule_of(study),
        queue=study.budget.queue,
        rate=study.budget.rate,
        diagonal=problem_of(study, points).reading.diagonal,
        device=device,
        tiles=count_tiles(prepared) if tiles is None else tiles,
    )
    if quoted.shots < quoted.n_points:
        raise InputError(
            f"budget.train pays for {quoted.shots} shots, but {quoted.n_points} training points "
            f"have {quoted.n_pairs} pairs: less than a shot per point teaches nothing. Give at "
            f"least {quoted.n_points} shots, better {quoted.n_pairs} or more, or lower split.train."
        )
    return quoted


def carry_out(
    prepared: Prepared,
    directory: Path,
    *,
    new: bool,
    on_start: OnStart | None = None,
    on_round: Callable[[], None] | None = None,
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
    on_results
        Called with the run when its results are written, while it is still held.
    """
    study, points = prepared.study, prepared.points
    section = study.backend if new else same_device(study.backend, directory)
    backends = make_backends(section, points, prepared.circuit)
    quoted = None if new else stored_quote(read_results(directory))
    if quoted is None:
        quoted = study_quote(prepared, _depth(backends), tiles=backends.n_tiles)
    # Made before anything is opened or written, so that what cannot work is refused.
    session = new_session(study, points, quoted.shots)
    test_shots = len(points.test) * len(points.train) * study.budget.test_shots
    if new:
        start = _start(quoted, test_shots, backends) | {"run_id": new_run_id()}
        write_run(prepared, directory, start)
    with hold_run(directory):
        if not new:
            session = _begun_session(prepared, directory) or session
        if on_start is not None:
            on_start(quoted, test_shots)
        done = _spend(prepared, directory, quoted, test_shots, session, backends, on_round)
        if on_results is not None:
            on_results(done)
        return done


def _spend(
    prepared: Prepared,
    directory: Path,
    quoted: Quote,
    test_shots: int,
    session: Acquisition,
    backends: StudyBackends,
    on_round: Callable[[], None] | None,
) -> StudyRun:
    """Spend both budgets, and write the results down: the seal first, then the file."""
    study, points = prepared.study, prepared.points
    run_id = read_results(directory).get("run_id")
    begin_with = {"files": digest_files(directory)} | ({"run_id": run_id} if run_id else {})
    look = None if on_round is None else lambda _: on_round()
    train = Run(session, backends.train, directory, on_round=look, begin_with=begin_with)
    with ExitStack() as device, train:
        device.enter_context(backends)
        train.spend()
        history = train.history()
        if history.sealed is None:
            train.seal(begin_predictions(directory))
        head = session.fit(readout_of(study))
        prediction, predictions, predictions_end = _predict(
            prepared, head, backends, test_shots, directory, history
        )
        start = _start(quoted, test_shots, backends) | {"run_id": history.run_id}
        device.close()  # a session is billed while it is open; what is left needs no device
        results = start | results_of(study, points, session, history, head, prediction, predictions)
        results["quote_versus_actual"] = quote_versus_actual(quoted, results["actual"])
        content = as_json(results)
        train.seal(final_digests(content, predictions_end))
        write_results(directory, content)
    return StudyRun(
        directory=directory,
        study=study,
        text=prepared.text,
        points=points,
        session=session,
        history=history,
        head=head,
        prediction=prediction if isinstance(prediction, Prediction) else None,
        values=prediction if isinstance(prediction, ValuePrediction) else None,
        audits={"training": Audit.of(history), "predictions": Audit.of(predictions)},
        results=results,
    )


def _predict(
    prepared: Prepared,
    head: FittedHead,
    backends: StudyBackends,
    budget: int,
    directory: Path,
    history: History,
) -> tuple[Tested, History, str]:
    """Spend at most ``budget`` shots on pairs of a test and a training point, and predict.

    Returns the prediction, what its ledger says, and the ledger's end.
    """
    study, points = prepared.study, prepared.points
    session = session_for(study, head, len(points.test), budget, study.method.seed)
    place, parent = directory / PREDICTIONS_NAME, {"parent": history.run_id}
    with Run(session, backends.test, place, begin_with=parent) as run:
        run.spend()
        found = tested(session, points, as_measured=reads_as_measured(history))
        return found, run.history(), run.end()


def _start(quoted: Quote, test_shots: int, backends: StudyBackends) -> dict[str, Any]:
    """Return what the results hold before the first shot."""
    return {
        "version": __version__,
        "backend": backends.train.name,
        "quote": asdict(quoted),
        "test_shots": test_shots,
        **circuit_facts(backends.train.circuit),
    }


def same_device(section: BackendSection, directory: Path) -> BackendSection:
    """Return the backend of a begun run: the least busy device may be another one by now."""
    name = read_results(directory).get("backend")
    if section.name != "ibm" or section.device is not None or not isinstance(name, str):
        return section
    return section.model_copy(update={"device": name})


def _depth(backends: StudyBackends) -> int | None:
    """Return the depth of the transpiled circuit, of a backend that transpiles."""
    circuit = backends.train.circuit
    return None if circuit is None else max(1, int(circuit.depth()))


def stored_quote(results: dict[str, Any]) -> Quote | None:
    """Return the quote a run began with; None where its results hold none that is one."""
    try:
        return TypeAdapter(Quote).validate_json(json.dumps(results.get("quote")))
    except ValidationError:
        return None


def _begun_session(prepared: Prepared, directory: Path) -> Acquisition | None:
    """Return a session with the shots that a begun run has promised its ledger.

    A budget of QPU time buys another number of shots when a device was recalibrated meanwhile,
    and the quote that says how many it bought may be lost.
    """
    history = read_begun_history(directory, write=True)
    if history is None or history.budget is None:
        return None
    return new_session(prepared.study, prepared.points, history.budget)
