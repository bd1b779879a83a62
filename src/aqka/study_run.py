"""Carries a study out: budget, training kernel, readout, predictions, results."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from aqka.acquisition import Acquisition
from aqka.backends._circuits import fidelity_circuit
from aqka.demo import balanced_accuracy
from aqka.device import HERON, DeviceModel
from aqka.diagnostics import diagnose
from aqka.errors import InputError
from aqka.planner import Quote, quote
from aqka.prediction_block import measure_block
from aqka.progress import MAX_ESTIMATED_POINTS, estimator, read_entries, rounds_of
from aqka.run import acquire
from aqka.run_directory import Prepared, locked, read_results, write_results, write_run
from aqka.study import BackendSection
from aqka.study_backend import Backends, opened
from aqka.study_method import problem_of, readout_of, schedule_of
from aqka.usage import price
from aqka.version import __version__

MAX_ESTIMATES = 50  # rounds of the history with a Gini and an accuracy


def study_quote(prepared: Prepared, depth: int | None = None, device: DeviceModel = HERON) -> Quote:
    """Return what the study's budget buys; refuse one too small to learn from.

    ``depth`` is that of the transpiled fidelity circuit, where it is known.
    """
    study, points, circuit = prepared.study, prepared.points, prepared.circuit
    if depth is None and circuit is not None:
        depth = max(1, int(fidelity_circuit(circuit.decompose(reps=3)).depth()))
    offer = quote(
        len(points.train),
        str(study.budget.train),
        n_qubits=points.train.shape[1] if circuit is None else circuit.num_qubits,
        depth=depth,
        schedule=schedule_of(study),
        queue=study.budget.queue,
        rate=study.budget.rate,
        diagonal=problem_of(study, points).protocol.diagonal,
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
        From :func:`~aqka.run_directory.prepare` for a new run, else from
        :func:`~aqka.run_directory.read_run`.
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
    section = study.backend if new else _same_device(study.backend, directory)
    with opened(section, points, prepared.circuit) as backends:
        offer = study_quote(prepared, _depth(backends))
        n_test, n_train = backends.test.shape
        test_shots = n_test * n_train * study.budget.test_shots
        if new:
            write_run(prepared, directory, _start(offer, test_shots, backends))
        else:
            offer = stored_quote(directory) or offer
        if on_start is not None:
            on_start(offer, test_shots)
        with locked(directory):
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
            found = _results(prepared, session, backends, directory)
            results = _start(offer, test_shots, backends) | found
            results["quote_versus_actual"] = quote_versus_actual(offer, found["actual"])
            write_results(directory, results)
    return results


def _start(offer: Quote, test_shots: int, backends: Backends) -> dict[str, Any]:
    """Return what the results hold before the first shot."""
    name = getattr(backends.train, "name", type(backends.train).__name__)
    return {
        "version": __version__,
        "backend": str(name),
        "quote": asdict(offer),
        "test_shots": test_shots,
    }


def _same_device(section: BackendSection, directory: Path) -> BackendSection:
    """Return the backend of a begun run: the least busy device may be another one by now."""
    name = read_results(directory).get("backend")
    if section.name != "ibm" or section.device is not None or not isinstance(name, str):
        return section
    return section.model_copy(update={"device": name})


def _depth(backends: Backends) -> int | None:
    """Return the depth of the transpiled circuit, of a backend that transpiles."""
    circuit = getattr(backends.train, "circuit", None)
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
    entries = read_entries(directory)
    return int(entries[0].body["fingerprint"]["budget"]) if entries else None


def _results(
    prepared: Prepared, session: Acquisition, backends: Backends, directory: Path
) -> dict[str, Any]:
    """Read the head off the counts, predict the test points, and say how well."""
    study, points = prepared.study, prepared.points
    readout = readout_of(study, session.problem)
    head = session.fit(readout)
    block, test_seconds = measure_block(backends.test, study.budget.test_shots, directory)
    predicted = head.predict(block)
    right = predicted == points.test_labels
    accuracy = float(right.mean())
    table, problem = session.table, session.problem
    diagnostics = diagnose(table, problem)
    entries = read_entries(directory)
    estimate = None
    if table.n_points <= MAX_ESTIMATED_POINTS:
        estimate = estimator(problem, points.train_labels, readout)
    history = rounds_of(entries, problem.new_table(), estimate, MAX_ESTIMATES)
    seconds = [r.qpu_seconds for r in history if r.qpu_seconds is not None]
    return {
        "results": {
            "accuracy": accuracy,
            "standard_error": float(np.sqrt(accuracy * (1 - accuracy) / len(right))),
            "balanced_accuracy": balanced_accuracy(points.test_labels, predicted),
            "majority_accuracy": points.majority_accuracy,
            "cross_validated_accuracy": history[-1].accuracy if history else None,
            "train_points": table.n_points,
            "test_points": len(right),
            "classes": [str(label) for label in problem.classes],
            "regularisation": head.regularisation,
            "shots": table.total,
            "pairs": table.n_pairs,
            "pairs_seen": int(np.sum(~table.unseen)),
            "diagnostics": asdict(diagnostics) | {"advice": diagnostics.advice},
            "predictions": [str(label) for label in predicted],
        },
        "actual": {
            "shots": table.total,
            "submissions": len(history),
            "qpu_seconds": sum(seconds) if seconds else None,
            "test_qpu_seconds": test_seconds,
            "wall_seconds": sum(r.seconds for r in history),
            "rate": study.budget.rate,
        },
        "history": [asdict(entry) for entry in history],
    }


def quote_versus_actual(offer: Quote, actual: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what was quoted and what was used, a row per figure; None where it is unknown.

    Examples
    --------
    >>> actual = {"shots": 5000, "submissions": 5, "qpu_seconds": 10.0, "wall_seconds": 14.5,
    ...           "rate": 96.0}
    >>> for row in quote_versus_actual(quote(20, 5000, rate=96), actual):
    ...     print(row["figure"], round(row["quoted"], 1), row["actual"])
    shots 5000 5000
    submissions 5 5
    QPU seconds 11.8 10.0
    cost 18.8 16.0
    seconds 12.8 14.5
    """
    used, rate = actual["qpu_seconds"], actual["rate"]
    cost = None if used is None or rate is None else price(used, rate)
    rows = [
        ("shots", offer.shots, actual["shots"]),
        ("submissions", offer.submissions, actual["submissions"]),
        ("QPU seconds", offer.qpu_seconds, used),
        ("cost", offer.cost, cost),
        ("seconds", offer.wall_seconds, actual["wall_seconds"]),
    ]
    return [{"figure": name, "quoted": want, "actual": got} for name, want, got in rows]
