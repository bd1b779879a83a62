"""Quotes: exact in counting, honest in seconds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqka import CeilingError, InputError, Schedule, StatevectorBackend, acquire
from aqka.backends.base import Workload
from aqka.backends.feature_maps import built_in_map
from aqka.core import OutcomeCounts
from aqka.designs import Never, Pairs, Points, Settle
from aqka.designs.resolve import resolve
from aqka.planning import Wish, make_ceiling
from aqka.planning.device import HERON, Usage
from aqka.planning.quotes import prediction_part
from aqka.sessions import Predicting
from tests.planning.strategies import devices, quote, schedules


@given(st.integers(1, 10**6), schedules, devices)
def test_rounds_and_jobs_are_counted_as_they_are_submitted(shots, schedule, device):
    quoted = quote(30, shots, schedule=schedule, device=device, queue=3)
    ends = schedule.milestones(shots)
    assert quoted.submissions == len(ends) <= schedule.rounds + 1
    assert sum(quoted.shots_per_round) == quoted.shots == shots
    assert quoted.jobs_per_round == tuple(
        math.ceil(s / device.max_executions) for s in quoted.shots_per_round
    )
    assert quoted.queue_seconds == len(ends) * 3 * device.queued_job_seconds
    parts = device.transpile_seconds + quoted.queue_seconds + quoted.qpu_seconds
    gaps = (len(ends) - 1) * quoted.classical_seconds
    assert quoted.wall_seconds == pytest.approx(parts + gaps)
    assert quoted.session_seconds == pytest.approx(quoted.qpu_seconds + gaps)


def test_the_papers_queue():
    """Appendix C.9: Q ~ 50 and 20 s a job are 17 min a round, 68 min for T = 4."""
    four = quote(50, 10_000, schedule=Schedule(warmup=0.0), queue=50)
    assert four.queue_seconds / 4 / 60 == pytest.approx(17, rel=0.02)
    assert four.queue_seconds / 60 == pytest.approx(68, rel=0.02)
    # The paper's count leaves the warm-up out, which is submitted and queues as well.
    assert quote(50, 10_000, queue=50).queue_seconds / 60 == pytest.approx(5 / 4 * 68, rel=0.02)


def test_pairs_with_and_without_the_diagonal():
    assert quote(150, 1000).n_pairs == 150 * 149 // 2
    measured = quote(150, 1000, diagonal="measured")
    assert measured.n_pairs == 150 * 151 // 2
    assert measured.shots_per_pair == 1000 / measured.n_pairs


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_points": 1}, "n_points"),
        ({"n_points": 10**7}, "n_points must be from 2 to"),
        ({"budget": 0}, "budget"),
        ({"budget": 1.5}, "budget"),
        ({"budget": True}, "budget"),
        ({"budget": 10**16}, "at most"),
        ({"budget": "1 s"}, "does not pay for a single shot.*2.00035"),
        ({"budget": "1e14 h"}, "more than 1e\\+15 shots"),
        ({"n_qubits": 0}, "n_qubits"),
        ({"tiles": 0}, "tiles"),
        ({"tiles": 2.5}, "tiles"),
        ({"n_qubits": 1}, "at least 2 qubits"),
        ({"depth": 0}, "depth"),
        ({"queue": -1}, "queue"),
        ({"rate": -1}, "rate"),
        ({"rate": math.nan}, "rate"),
        ({"rate": 1e12}, "rate must be at most"),
        ({"diagonal": "half"}, "diagonal"),
        ({"schedule": Schedule(rounds=10**6)}, "rounds"),
    ],
)
def test_mistakes_are_named(arguments, words):
    with pytest.raises(InputError, match=words):
        quote(**{"n_points": 50, "budget": 1000, **arguments})


@given(st.integers(1, 10**6), st.integers(1, 60), schedules, devices)
def test_tiles_divide_executions_and_nothing_else(shots, tiles, schedule, device):
    plain = quote(30, shots, schedule=schedule, device=device, rate=2.0)
    tiled = quote(30, shots, schedule=schedule, device=device, rate=2.0, tiles=tiles)
    assert tiled.shots_per_round == plain.shots_per_round
    needed = [math.ceil(s / tiles) for s in plain.shots_per_round]
    assert (plain.executions, tiled.executions) == (shots, sum(needed))
    assert tiled.jobs == sum(math.ceil(e / device.max_executions) for e in needed)
    jobs = tiled.jobs * device.job_overhead
    assert tiled.qpu_seconds == pytest.approx(jobs + sum(needed) * tiled.execution_seconds)
    assert (tiled.untiled_seconds, tiled.untiled_cost) == (plain.qpu_seconds, plain.cost)
    assert plain.untiled_seconds == plain.qpu_seconds >= tiled.qpu_seconds


def test_five_thousand_pairs_on_twenty_tiles():
    """100 shots each; by hand 500,000 executions and 25,000."""
    tiled = quote(101, 5050 * 100, schedule=Schedule(warmup=0.0, rounds=1), tiles=20)
    assert tiled.shots / tiled.executions == 20
    assert tiled.untiled_seconds > 15 * tiled.qpu_seconds


def test_a_calibration_is_part_of_the_training_budget_whatever_comes_on_top():
    wish = Wish(new_points=10, calibration_shots=600, on_top=True, design="points")
    made = quote(20, 2600, wish=wish)
    assert (made.shots, made.part("calibration").shots) == (2000, 600)
    assert made.part("predictions").shots == 10 * 100  # what a training point gets
    assert made.part("calibration").jobs == made.part("calibration").submissions == 1
    within = quote(20, 2600, wish=Wish(calibration_shots=600, design="points"))
    assert (within.shots, within.total.shots) == (2000, 2600)


def test_predictions_of_points_are_quoted_with_the_rounds_that_they_take():
    X = np.random.default_rng(0).uniform(0, 1, (20, 2))
    head = acquire(StatevectorBackend(X), np.arange(20) % 2, 4000, design="points").fit()
    session = Predicting(head, 10, 1000, stop=Settle(error_rate=1e-300))  # never settled
    while not session.done:
        plan = session.ask()
        rows = np.arange(len(plan))
        session.tell(OutcomeCounts(rows, np.zeros_like(rows), plan.shots))
    made = quote(20, 3000, wish=Wish(new_points=10, design="points"))
    part = made.part("predictions")
    assert (part.shots, part.submissions, part.jobs) == (1000, session.round, session.round)


@pytest.mark.parametrize("on_top", [False, True])
@pytest.mark.parametrize(("design", "predictions"), [("pairs", 10 * 20 * 7), ("points", 10 * 7)])
def test_test_shots_are_those_of_each_new_pair_or_point(design, predictions, on_top):
    wish = Wish(new_points=10, test_shots=7, design=design, on_top=on_top)
    made = quote(20, 5000, wish=wish)
    assert made.part("predictions").shots == predictions
    assert made.shots == 5000 if on_top else made.shots + predictions == 5000


def test_on_top_of_a_training_budget_predictions_of_pairs_get_a_hundred_shots_a_pair():
    made = quote(20, 5000, wish=Wish(new_points=10, on_top=True, design="pairs"))
    assert (made.shots, made.part("predictions").shots) == (5000, 10 * 20 * 100)


@pytest.mark.parametrize("design", ["pairs", "points"])
def test_a_given_depth_is_that_of_the_circuit_that_runs(design):
    made = quote(20, "30 s", depth=90, wish=Wish(design=design))
    assert made.depth == 90
    assert made.execution_seconds == HERON.execution_seconds(90)
    by_depth = make_ceiling("30 s", depth=90, design=design)
    by_quote = make_ceiling("30 s", design, execution_seconds=made.execution_seconds)
    assert by_depth.execution_seconds == by_quote.execution_seconds == made.execution_seconds


def test_a_quote_follows_the_delay_that_a_device_reports():
    slow = quote(20, 10_000, device=HERON.with_rep_delay(1e-3))
    usual = quote(20, 10_000, device=HERON.with_rep_delay(None))
    assert usual == quote(20, 10_000)
    assert slow.qpu_seconds - usual.qpu_seconds == pytest.approx(10_000 * (1e-3 - 250e-6))


class Device(StatevectorBackend):
    rep_delay, n_tiles = 1e-3, 7

    @property
    def circuit(self):
        return built_in_map("zz", 2)


@pytest.mark.parametrize("design", ["pairs", "points"])
def test_usage_on_a_backend_is_that_of_its_circuit_tiles_and_delay(design):
    X = np.array([[0.1, 0.2], [0.3, 0.4]])
    device = Device(X)
    usage = Usage.on(device, design)
    assert usage.depth == device.circuit.depth()
    assert (usage.tiles, usage.device.rep_delay) == (7, 1e-3)
    simulated = Usage.on(StatevectorBackend(X), design, n_qubits=2)
    assert simulated == Usage(HERON, {"pairs": 65, "points": 38}[design], 1)
    part = prediction_part(100, design, usage)
    assert (
        part.submissions
        == {"pairs": Pairs(), "points": Points()}[design].looks(Settle())
        == part.jobs
    )
    values = prediction_part(100, design, usage, classes=False)
    assert values.submissions == {"pairs": Pairs(), "points": Points()}[design].looks(Never())
    seconds = part.jobs * 2.0 + math.ceil(100 / 7) * usage.execution_seconds
    assert part.qpu_seconds == pytest.approx(seconds)


def test_a_shot_on_a_point_is_half_as_deep_as_one_on_a_pair():
    pairs = quote(20, 2000)
    points = quote(20, 2000, wish=Wish(design="points"))
    assert (pairs.depth, points.depth) == (119, 65)
    saved = (119 - 65) * HERON.layer_time
    assert pairs.execution_seconds - points.execution_seconds == pytest.approx(saved)
    assert points.qpu_seconds < pairs.qpu_seconds


def test_what_a_quote_of_points_promises_fits_under_its_budget_as_a_ceiling():
    made = quote(20, "20 s", wish=Wish(design="points"), schedule=Schedule(warmup=0.0, rounds=1))
    work = Workload(made.shots, made.executions, made.jobs)
    make_ceiling("20 s", design="points").check(work)
    with pytest.raises(CeilingError):
        make_ceiling("20 s", design="pairs").check(work)


@pytest.mark.parametrize("on_top", [False, True])
@pytest.mark.parametrize(("n_qubits", "budget"), [(2, "10 s"), (8, 400), (30, 400)])
def test_an_automatic_design_is_what_resolve_says(n_qubits, budget, on_top):
    wishes = {name: Wish(5, on_top=on_top, design=name) for name in ("auto", "pairs", "points")}
    made = {k: quote(20, budget, n_qubits=n_qubits, wish=wish) for k, wish in wishes.items()}
    bought = {k: made[k].shots if on_top else made[k].total.shots for k in ("pairs", "points")}
    facts = {"n_points": 20, "n_qubits": n_qubits, "new_points": 5, "on_top": on_top}
    chosen = resolve(budget=bought, **facts).design.name
    assert made["auto"] == made[chosen]
    assert Wish().design == "auto"
