"""What a study may spend: its design, its quote, its split and its ceiling, each found once."""

import json
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from aqka._util.text import inert
from aqka.backends.base import Workload
from aqka.backends.feature_maps import DEFAULT_REPS
from aqka.designs import as_design
from aqka.designs.resolve import Choice, as_prior, resolve
from aqka.errors import CeilingError, InputError
from aqka.planning.budget import as_budget, divided, duration
from aqka.planning.device import HERON, DeviceModel, Usage, circuit_depth, make_ceiling
from aqka.planning.quotes import PREDICTIONS, SENTINELS, Quote, Wish, quote
from aqka.planning.split import costs_of
from aqka.runs.spend import Ceiling
from aqka.study.backends import StudyBackends, count_tiles, make_backends
from aqka.study.directory import Prepared
from aqka.study.map_training import MAP_TRAINING, map_part
from aqka.study.method import problem_of, schedule_of
from aqka.study.schema import Study


@dataclass(frozen=True)
class Offer:
    """A study whose design is settled, its backends, and the quote for what they will run."""

    prepared: Prepared
    backends: StudyBackends
    quoted: Quote


def make_offer(prepared: Prepared, stored: dict[str, Any] | None = None) -> Offer:
    """Make a study's backends and quote it on them; ``stored`` results keep design and quote."""
    prepared = settle_design(prepared, stored)
    backends = make_backends(prepared)
    quoted = None if stored is None else stored_quote(stored)
    if quoted is None:
        device = HERON.with_rep_delay(backends.train.rep_delay)
        depth, tiles = circuit_depth(backends.train), backends.device.n_tiles
        quoted = study_quote(prepared, depth, device, tiles)
    # What else is made for the run is for the same device.
    section = prepared.study.backend.on(backends.train.name)
    study = prepared.study.model_copy(update={"backend": section})
    return Offer(replace(prepared, study=study), backends, quoted)


def study_quote(
    prepared: Prepared,
    depth: int | None = None,
    device: DeviceModel = HERON,
    tiles: int | None = None,
    queue: int = 0,
) -> Quote:
    """Return what the study's budget buys; refuse one too small to learn from.

    ``depth`` is that of the transpiled circuit that a shot runs and ``tiles`` how many of it run
    side by side, where they are known; ``queue`` is the number of jobs before each of ours.
    """
    study, points, budget = prepared.study, prepared.points, prepared.study.budget
    train, mine = study.feature_map.train, None
    shared = as_budget(str(budget.total if budget.train is None else budget.train))
    if prepared.trainable is not None and train is not None:
        mine, shared = divided(shared, train.share)
    quoted = quote(
        len(points.train),
        shared,
        n_qubits=prepared.n_qubits,
        depth=_map_depth(prepared) if depth is None else depth,
        schedule=schedule_of(study),
        queue=queue,
        rate=budget.rate,
        diagonal=problem_of(study, points).reading.diagonal,
        device=device,
        tiles=count_tiles(prepared) if tiles is None else tiles,
        wish=wish_of(study, len(points.test)),
    )
    if quoted.shots < quoted.n_points:
        key = "total" if budget.train is None else "train"
        raise InputError(
            f"budget.{key} pays for {quoted.shots} shots, but {quoted.n_points} training points "
            f"need a shot each to learn anything. Give at least {quoted.n_points} shots, better "
            f"{quoted.n_pairs} or more, one for each pair of points, or lower split.train."
        )
    if mine is None:
        return quoted
    usage = Usage(device, quoted.depth, quoted.tiles)
    part = map_part(prepared, mine, budget.rate, usage)
    return replace(quoted, parts=(*quoted.parts, part))


def _map_depth(prepared: Prepared) -> int | None:
    """Return the depth of what a shot runs before transpiling; None for the paper's map."""
    section, circuit = prepared.study.feature_map, prepared.circuit
    if circuit is None or (section.map, section.reps) == ("zz", DEFAULT_REPS):
        return None
    return costs_of(prepared.study.method.design).map_depth(circuit.decompose(reps=3))


def wish_of(study: Study, n_test: int) -> Wish:
    """Return what a study buys beside its training shots."""
    budget, sentinels = study.budget, study.sentinels
    return Wish(
        new_points=0 if budget.test_shots == 0 else n_test,
        test_shots=budget.test_shots,
        sentinel_shots=sentinels.points * sentinels.shots,
        calibration_shots=study.method.points.calibration_shots,
        on_top=budget.total is None,
        design=study.method.design,
        classes=study.data.task == "classification",
    )


def better_design_of(prepared: Prepared) -> Choice:
    """Return what is better for a study's shots, without predictions on top: pairs or points."""
    method = prepared.study.method
    n_train, n_test = len(prepared.points.train), len(prepared.points.test)
    as_pairs = replace(prepared, study=prepared.study.changed("method", design="pairs"))
    quoted = study_quote(as_pairs, tiles=1)
    on_top, trained = prepared.study.budget.total is None, quoted.part(MAP_TRAINING)
    total = quoted.total.shots - (0 if trained is None else trained.shots)
    return resolve(
        "auto",
        method.allocator,
        method.learner,
        n_points=n_train,
        n_qubits=prepared.n_qubits,
        budget=quoted.shots if on_top else total,
        new_points=0 if on_top else n_test,
    )


def promised_shares(prepared: Prepared) -> tuple[float, float] | None:
    """Return between which shares of new points will cost shots; None without a prior."""
    study, points = prepared.study, prepared.points
    prior = as_prior(study.method.prior)
    if prior is None or study.data.task == "regression":
        return None
    outputs = problem_of(study, points).outputs
    return prior.promise(points.train, outputs, prepared.feature_map)


def settle_design(prepared: Prepared, stored: dict[str, Any] | None = None) -> Prepared:
    """Return a study that says pairs or points: what a begun run measures, or what is better."""
    study = prepared.study
    if as_design(study.method.design) is not None:
        return prepared
    design, why = (stored or {}).get("design"), (stored or {}).get("design_reason")
    if design not in ("pairs", "points"):
        choice = better_design_of(prepared)
        design, why = choice.design.name, choice.reason
    reason = why if isinstance(why, str) else None
    study = study.changed("method", design=design)
    return replace(prepared, study=study, design_reason=reason)


def stored_quote(results: dict[str, Any]) -> Quote | None:
    """Return the quote a run began with; None where its results hold none that is one."""
    try:
        return TypeAdapter(Quote).validate_json(json.dumps(results.get("quote")))
    except ValidationError:
        return None


def prediction_shots(quoted: Quote) -> int:
    """Return the shots that predictions may take at most."""
    part = quoted.part(PREDICTIONS)
    return 0 if part is None else part.shots


def study_ceiling(study: Study, quoted: Quote, given: str | None = None) -> Ceiling | None:
    """Return the ceiling of a study: the one given now, its own, or its total."""
    own = study.budget.total if study.budget.ceiling is None else study.budget.ceiling
    limit = own if given is None else given
    if limit is None:
        return None
    return make_ceiling(
        str(limit), execution_seconds=quoted.execution_seconds, rate=study.budget.rate
    )


def check_ceiling(quoted: Quote, ceiling: Ceiling | None, *, new: bool) -> Quote:
    """Refuse a ceiling that a new run's first round does not fit under; warn where not all does."""
    if ceiling is None:
        return quoted
    sentinels = quoted.part(SENTINELS)
    beside = 0 if sentinels is None else sentinels.shots // quoted.submissions
    shots = quoted.shots_per_round[0] + beside
    try:
        if new:
            executions = -(-shots // quoted.tiles)
            ceiling.check(Workload(shots, executions, quoted.jobs_per_round[0]))
    except CeilingError as error:
        raise InputError(
            f"budget.ceiling is below one round: {inert(error, limit=None)}. Raise it, or lower "
            "the budget; nothing was spent or written."
        ) from None
    total = quoted.total
    in_time = ceiling.seconds is None or total.qpu_seconds <= ceiling.seconds * (1 + 1e-9)
    if in_time and (ceiling.shots is None or total.shots <= ceiling.shots):
        return quoted
    words = (
        f"All in all at most {quoted.total.shots:,} shots and {duration(quoted.total.qpu_seconds)} "
        f"of QPU time are quoted, more than the ceiling of {inert(ceiling.words)}: the run stops "
        "there, keeps what it has, and can be resumed with a higher one."
    )
    return replace(quoted, warnings=(*quoted.warnings, words))
