"""Carries a study out: budget, training kernel, readout, predictions, results."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aqka.backends import Backend
from aqka.backends.circuits import fidelity_circuit
from aqka.errors import InputError
from aqka.planning.device import HERON, DeviceModel
from aqka.planning.quotes import Quote, quote
from aqka.readouts import FittedHead
from aqka.runs.audit import verify
from aqka.sessions.acquisition import Acquisition, acquire
from aqka.sessions.prediction import predict
from aqka.study.backends import Backends, opened
from aqka.study.directory import (
    PREDICTIONS_NAME,
    Prepared,
    locked,
    read_results,
    write_results,
    write_run,
)
from aqka.study.method import problem_of, readout_of, schedule_of
from aqka.study.progress import read_entries
from aqka.study.results import Predictions, quote_versus_actual, results_of
from aqka.study.schema import BackendSection
from aqka.version import __version__


def study_quote(prepared: Prepared, depth: int | None = None, device: DeviceModel = HERON) -> Quote:
    """Return what the study's budget buys; refuse one too small to learn from.

    ``depth`` is that of the transpiled fidelity circuit, where it is known.
    """
    study, points, circuit = prepared.study, prepared.points, prepared.circuit
    if depth is None and circuit is not None and study.feature_map.map != "zz":
        depth = max(1, int(fidelity_circuit(circuit.decompose(reps=3)).depth()))
    offer = quote(
        len(points.train),
        str(study.budget.train),
        n_qubits=points.train.shape[1] if circuit is None else circuit.num_qubits,
        depth=depth,
        schedule=schedule_of(study),
        queue=study.budget.queue,
        rate=study.budget.rate,
        diagonal=problem_of(study, points).reading.diagonal,
        device=device,
    )
    if offer.shots < offer.n_points:
        raise InputError(
            f"budget.train pays for {offer.shots} shots, but {offer.n_points} training points have "
            f"{offer.n_pairs} pairs: less than a shot per point teaches nothing. Give at least "
            f"{offer.n_points} shots, better {offer.n_pairs} or more, or lower split.train."
        )
    return offer


def carry_out(
    prepared: Prepared,
    directory: Path,
    *,
    new: bool,
    on_start: Callable[[Quote, int], None] | None = None,
    on_round: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Run or resume a study in its directory and return its results.

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
    """
    study, points, method = prepared.study, prepared.points, prepared.study.method
    schedule = schedule_of(study)
    # Made once before anything is opened or written, so that what cannot work is refused.
    shots = study_quote(prepared).shots
    Acquisition(problem_of(study, points), shots, method.allocator, schedule, method.seed)
    section = study.backend if new else same_device(study.backend, directory)
    with ExitStack() as held:
        with opened(section, points, prepared.circuit) as backends:
            offer = study_quote(prepared, _depth(backends))
            n_test, n_train = backends.test.shape
            test_shots = n_test * n_train * study.budget.test_shots
            if new:
                write_run(prepared, directory, _start(offer, test_shots, backends))
            else:
                offer = stored_quote(directory) or offer
            held.enter_context(locked(directory))
            if on_start is not None:
                on_start(offer, test_shots)
            session = acquire(
                backends.train,
                points.train_labels,
                _begun_budget(directory) or offer.shots,
                method.allocator,
                ridge=method.ridge,
                C=method.C,
                schedule=schedule,
                seed=method.seed,
                directory=directory,
                on_round=None if on_round is None else lambda _: on_round(),
            )
            head = session.fit(readout_of(study))
            predictions = predict_test_points(
                head, backends.test, test_shots, method.seed, directory
            )
            start = _start(offer, test_shots, backends)
        # From here on a session of IBM's is closed: what is left needs no device.
        results = start | results_of(prepared, session, head, predictions, directory)
        results["quote_versus_actual"] = quote_versus_actual(offer, results["actual"])
        write_results(directory, results)
    return results


def predict_test_points(
    head: FittedHead, backend: Backend, budget: int, seed: int, directory: Path
) -> Predictions:
    """Spend at most ``budget`` shots on pairs of a test and a training point, and predict."""
    place = directory / PREDICTIONS_NAME
    found = predict(head, backend, budget, seed=seed, directory=place)
    return Predictions(
        found.labels, found.settled, int(found.shots.sum()), verify(place).qpu_seconds
    )


def _start(offer: Quote, test_shots: int, backends: Backends) -> dict[str, Any]:
    """Return what the results hold before the first shot."""
    return {
        "version": __version__,
        "backend": backends.train.name,
        "quote": asdict(offer),
        "test_shots": test_shots,
    }


def same_device(section: BackendSection, directory: Path) -> BackendSection:
    """Return the backend of a begun run: the least busy device may be another one by now."""
    name = read_results(directory).get("backend")
    if section.name != "ibm" or section.device is not None or not isinstance(name, str):
        return section
    return section.model_copy(update={"device": name})


def _depth(backends: Backends) -> int | None:
    """Return the depth of the transpiled circuit, of a backend that transpiles."""
    circuit = backends.train.circuit
    return None if circuit is None else max(1, int(circuit.depth()))


def stored_quote(directory: Path) -> Quote | None:
    """Return the quote a run began with; None where its results hold none that is one."""
    from pydantic import TypeAdapter, ValidationError

    stored = json.dumps(read_results(directory).get("quote"))
    try:
        return TypeAdapter(Quote).validate_json(stored)
    except ValidationError:
        return None


def _begun_budget(directory: Path) -> int | None:
    """Return the shots that a begun run has promised its ledger.

    A budget of QPU time buys another number of shots when a device was recalibrated meanwhile.
    """
    entries = read_entries(directory, write=True)
    return int(entries[0].body["fingerprint"]["budget"]) if entries else None
