"""What a study may spend: its design, its quote, its split and its ceiling, each found once."""

from dataclasses import replace
from typing import Any, NamedTuple

from aqka._util.text import inert
from aqka.allocators import make_allocator
from aqka.backends.base import Workload
from aqka.backends.circuits import fidelity_circuit
from aqka.backends.feature_maps import DEFAULT_REPS
from aqka.backends.tiles import find_tiles
from aqka.designs import Pairs, Points, as_design
from aqka.designs.resolve import Choice, as_prior, resolve
from aqka.errors import CeilingError, InputError
from aqka.planning.budget import Budget, Shots, as_budget, divided, duration
from aqka.planning.device import HERON, DeviceModel, Usage, device_facts, make_ceiling
from aqka.planning.quotes import SENTINELS, Quote, Wish, quote
from aqka.planning.split import ROTATION_LAYERS
from aqka.runs.spend import Ceiling
from aqka.study.backends import StudyBackends, find_chip, make_backends
from aqka.study.directory import Prepared
from aqka.study.map_training import MAP_TRAINING, map_part
from aqka.study.method import problem_of, runs_inverse, schedule_of
from aqka.study.schema import Study, read_stored


class Offer(NamedTuple):
    """A study whose design is settled, its backends, and the quote for what they will run."""

    prepared: Prepared
    backends: StudyBackends
    quoted: Quote


def make_offer(prepared: Prepared, stored: dict[str, Any] | None = None) -> Offer:
    """Make a study's backends and quote it on them, unless ``stored`` results have a quote."""
    prepared = settle_design(prepared)
    backends = make_backends(prepared)
    quoted = read_stored(Quote, (stored or {}).get("quote"))
    if quoted is None:
        quoted = study_quote(prepared, **device_facts(backends.train))
    # What else is made for the run is for the same device.
    study = prepared.study.on(backends.train.name)
    return Offer(replace(prepared, study=study), backends, quoted)


def study_quote(
    prepared: Prepared,
    depth: int | None = None,
    device: DeviceModel = HERON,
    tiles: int | None = None,
    queue: int = 0,
    *,
    check: bool = True,
) -> Quote:
    """Return what the study's budget buys; refuse one too small to learn from.

    ``depth`` is that of the transpiled circuit that a shot runs and ``tiles`` how many of it run
    side by side, where they are known; ``queue`` is the number of jobs before each of ours.
    Without ``check`` nothing is refused.
    """
    study, points, budget = prepared.study, prepared.points, prepared.study.budget
    train, mine, shared = study.feature_map.train, None, _main_budget(study)
    if prepared.trainable is not None and train is not None:
        mine, shared = divided(shared, train.share)
    sentinels = study.sentinels
    wish = Wish(
        new_points=0 if budget.test_shots == 0 else len(points.test),
        test_shots=budget.test_shots,
        sentinel_shots=sentinels.points * sentinels.shots,
        calibration_shots=study.method.points.calibration_shots,
        on_top=budget.total is None,
        design=study.method.design,
        classes=study.data.task == "classification",
    )
    quoted = quote(
        len(points.train),
        shared,
        n_qubits=prepared.n_qubits,
        depth=_map_depth(prepared) if depth is None else depth,
        schedule=schedule_of(study),
        queue=queue,
        rate=budget.rate,
        device=device,
        tiles=_copies(prepared) if tiles is None else tiles,
        wish=wish,
    )
    if check and quoted.shots < quoted.n_points:
        key = "total" if budget.train is None else "train"
        raise InputError(
            f"budget.{key} pays for {quoted.shots} shots, but {quoted.n_points} training points "
            f"need at least one shot each. Give at least {quoted.n_points} shots, preferably "
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
    plain = circuit.decompose(reps=3)
    if runs_inverse(prepared.study):
        return max(1, int(fidelity_circuit(plain).depth()))
    return max(1, int(plain.depth())) + ROTATION_LAYERS


def _main_budget(study: Study) -> Budget:
    """Return the budget in all, or that of training where predictions come on top of it."""
    return as_budget(str(study.budget.total if study.budget.train is None else study.budget.train))


def _copies(prepared: Prepared) -> int:
    copies = prepared.study.backend.tiles
    if copies != "auto":
        return copies
    chip, circuit = find_chip(prepared)
    return len(find_tiles(circuit, chip))


def better_design_of(prepared: Prepared) -> Choice:
    """Return what is better for what a study's budget buys of each: pairs or points."""
    study, points = prepared.study, prepared.points
    method, on_top = study.method, study.budget.total is None
    plain = {"pairs": type(method.pairs)(), "points": type(method.points)()}
    each = [
        replace(prepared, study=study.changed("method", design=design.name, **plain))
        for design in (Pairs(), Points())
        if design.unit in make_allocator(method.allocator).units
    ]
    # Shots are shots on any number of tiles. Time buys more on many, and about as many copies of
    # either circuit fit: that of a pair is transpiled only if it is going to be run.
    tiles = 1 if isinstance(_main_budget(study), Shots) else _copies(each[-1])
    quotes = [study_quote(one, tiles=tiles, check=False) for one in each]
    return resolve(
        "auto",
        method.allocator,
        method.learner,
        n_points=len(points.train),
        n_qubits=prepared.n_qubits,
        budget={
            one.design: one.shots if on_top else one.total.shots - one.part(MAP_TRAINING).shots
            for one in quotes
        },
        new_points=0 if study.budget.test_shots == 0 else len(points.test),
        on_top=on_top,
        measures_pairs=study.backend.name != "light-cone",
    )


def promised_shares(prepared: Prepared) -> tuple[float, float] | None:
    """Return between which shares of new points will cost shots; None without a prior."""
    study, points = prepared.study, prepared.points
    prior = as_prior(study.method.prior)
    if prior is None or study.data.task == "regression":
        return None
    outputs = problem_of(study, points).outputs
    return prior.promise(points.train, outputs, prepared.feature_map)


def settle_design(prepared: Prepared, better: Choice | None = None) -> Prepared:
    """Return a study that says pairs or points: what it says already, or what is better."""
    if as_design(prepared.study.method.design) is not None:
        return prepared
    choice = better or better_design_of(prepared)
    study = prepared.study.changed("method", design=choice.design.name)
    return replace(prepared, study=study, design_reason=choice.reason)


def under_ceiling(
    study: Study, quoted: Quote, given: str | None, *, new: bool
) -> tuple[Ceiling | None, Quote]:
    """Return the ceiling of a study, and its quote with a warning where not all fits under it.

    It is the one given now, the study's own, or its total; one that a new run's first round does
    not fit under is refused.
    """
    limits = (given, study.budget.ceiling, study.budget.total)
    limit = next((one for one in limits if one is not None), None)
    if limit is None:
        return None, quoted
    seconds, rate = quoted.execution_seconds, study.budget.rate
    ceiling = make_ceiling(str(limit), quoted.design, execution_seconds=seconds, rate=rate)
    shots = quoted.shots_per_round[0] + quoted.part(SENTINELS).shots // quoted.submissions
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
        return ceiling, quoted
    words = (
        f"The quote, up to {total.shots:,} shots and {duration(total.qpu_seconds)} of QPU time, "
        f"exceeds the ceiling of {inert(ceiling.words)}: the run will stop there, keep what it "
        "has, and can be resumed with a higher one."
    )
    return ceiling, replace(quoted, warnings=(*quoted.warnings, words))
