"""Plans on tiles: the same answers, honoured to the shot, and safe against crashes."""

import contextlib
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from qiskit.primitives import StatevectorSampler
from qiskit.providers.fake_provider import GenericBackendV2

from aqka import InputError, StatevectorBackend, acquire
from aqka.backends import AerBackend, JobShape, RuntimeBackend, SamplerBackend
from aqka.backends._jobs.rows import Ticket
from aqka.core import ShotPlan
from aqka.core.point_plans import even_plan
from aqka.core.settings import choose_settings
from aqka.errors import JobError
from aqka.runs import driver
from tests.backends._tiles.chips import line
from tests.fake_runtime import FakeJob, FakeRuntime

X = np.random.default_rng(7).uniform(0, 1, (6, 2))
Y = [1, 1, 1, -1, -1, -1]
PLAN = ShotPlan([0, 1, 2], [1, 2, 2], [20, 30, 10])
ALL = ShotPlan(*np.triu_indices(6), np.full(21, 400))


def device(n_qubits=8, seed=1):
    couplers = [[k, k + 1] for k in range(n_qubits - 1)]
    return GenericBackendV2(n_qubits, coupling_map=couplers, seed=seed)


@pytest.fixture
def service(tmp_path):
    return FakeRuntime(tmp_path, device())


def run(backend, plan, tag="t"):
    return backend.collect(backend.submit(plan, tag))


def executions(service):
    shapes = [np.load(path).shape for path in service.directory.glob("*.npy")]
    return sum(rows * shots for rows, shots, _ in shapes)


def exact(seed):
    return StatevectorSampler(seed=np.random.default_rng(seed))


def agrees(hits, plan, kernel):
    p = kernel[plan.rows, plan.cols]
    error = np.sqrt(np.maximum(p * (1 - p), 1e-12) / plan.shots)
    return np.all(np.abs(hits / plan.shots - p) < 5 * error + 1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda path: RuntimeBackend(FakeRuntime(path, device()), X, tiles="auto"),
        lambda path: SamplerBackend(exact, X, target_backend=line(8), tiles="auto"),
        lambda path: SamplerBackend(exact, X, target_backend=line(8), tiles=2, seed=5),
    ],
)
def test_tiles_measure_the_kernel(make, tmp_path):
    """Tile by tile in the fake service; all tiles as one circuit of 8 qubits in the sampler."""
    backend = make(tmp_path)
    assert len(backend.tiling) in (2, 3)
    assert agrees(run(backend, ALL), ALL, StatevectorBackend(X).kernel())


def test_points_are_measured_on_tiles(service):
    backend = RuntimeBackend(service, X, tiles="auto")
    letters = choose_settings(2, seed=0)
    plan = even_plan(np.arange(6), letters, 9 * 300)
    counts = run(backend, plan)
    plan.checked(counts)
    assert executions(service) == plan.total // 3
    plain = run(RuntimeBackend(service, X), plan)
    dense = [np.zeros((len(plan), 4)) for _ in range(2)]
    for table, found in zip(dense, (counts, plain), strict=True):
        table[found.rows, found.outcomes] = found.counts
    pooled = (dense[0] + dense[1]) / 600
    gap = np.abs(dense[0] - dense[1]) / 300
    assert np.all(gap < 5 * np.sqrt(2 * pooled * (1 - pooled) / 300) + 0.01)


def test_a_plan_is_honoured_to_the_shot_with_executions_divided(service):
    backend = RuntimeBackend(service, X, tiles="auto")
    ticket = backend.submit(PLAN, "t")
    hits = backend.collect(ticket)
    assert hits[2] == 10
    assert np.all((hits >= 0) & (hits <= PLAN.shots))
    parsed = Ticket.read(ticket)
    (chunk,) = parsed.layout.chunks()
    assert chunk.per_plan_row(chunk.row_shots(), 3).tolist() == PLAN.shots.tolist()
    rows = -(-len(chunk.plan_rows) // 3)
    assert executions(service) == rows * chunk.shots <= PLAN.total / 3 + chunk.shots
    assert acquire(backend, Y, 300).table.total == 300


def test_five_thousand_pairs_on_real_numbers_of_tiles():
    """26 and 22 tiles, as on FakeFez and FakeMarrakesh: 500,000 executions fall 18 × and more."""
    shots = np.full(5000, 100)
    for tiles in (26, 22):
        layout = JobShape().layout(shots, tiles)
        (chunk,) = layout.chunks()
        assert chunk.per_plan_row(chunk.row_shots(), 5000).tolist() == shots.tolist()
        assert 500_000 / (-(-len(chunk.plan_rows) // tiles) * chunk.shots) >= 18


def test_the_deal_spreads_pairs_and_differs_from_round_to_round(service):
    backend = RuntimeBackend(service, X, tiles="auto")
    parsed = [Ticket.read(backend.submit(ALL, tag)) for tag in ("a", "b")]
    (chunk,) = parsed[0].layout.chunks()
    tiles = [ticket.deal.slots(chunk.plan_rows, 0) % 3 for ticket in parsed]
    assert tiles[0].tolist() != tiles[1].tolist()
    for pair in range(21):
        assert len(set(tiles[0][chunk.plan_rows == pair].tolist())) >= 2


def test_each_tile_of_a_fake_device_has_its_own_noise():
    """Against the exact noisy kernel of each place, transpiled for it by another path."""
    chip = device(seed=3)
    backend = RuntimeBackend(chip, X, tiles="auto", seed=2)
    plan = ShotPlan(*np.triu_indices(6), np.full(21, 6000))
    ticket = backend.submit(plan, "t")
    service = backend._service
    parsed = Ticket.read(ticket)
    result = service.job(parsed.job_ids[0]).result()
    data, (chunk,) = result[0].data, parsed.layout.chunks()
    slots = parsed.deal.slots(chunk.plan_rows, 0)
    kernels = []
    for k, place in enumerate(sorted(backend.tiling.places, key=lambda place: place.name)):
        zeros = (data[place.name].array == 0).all(axis=-1).sum(axis=1)
        own = slots % 3 == k
        hits = chunk.per_plan_row(np.where(own, zeros[slots // 3], 0), 21)
        shots = chunk.per_plan_row(np.where(own, chunk.shots, 0), 21)
        ways = [list(place.qubits), list(place.qubits)[::-1]]  # the map is symmetric but for gates
        found = [AerBackend(X, noise=chip, initial_layout=way).kernel() for way in ways]
        p = [kernel[plan.rows, plan.cols] for kernel in found]
        distances = [np.max(np.abs(hits / shots - q) / np.sqrt(q * (1 - q) / shots)) for q in p]
        assert min(distances) < 5
        kernels.append(p[int(np.argmin(distances))])
    assert np.abs(kernels[0] - kernels[1]).max() > 0.01  # their noise does differ
    assert np.array_equal(backend.collect(ticket), chunk.per_plan_row(
        [(data_row == 0).all(axis=-1).sum() for data_row in _rows(data, slots)], 21
    ))  # fmt: skip


def _rows(data, slots):
    names = sorted(data.keys())
    return [data[names[slot % 3]].array[slot // 3] for slot in slots]


def test_a_fake_device_repeats_itself_by_seed_and_tag():
    chip = device()
    first = run(RuntimeBackend(chip, X, tiles=2, seed=1), ALL, "a")
    assert run(RuntimeBackend(chip, X, tiles=2, seed=1), ALL, "a").tolist() == first.tolist()
    assert run(RuntimeBackend(chip, X, tiles=2, seed=1), ALL, "b").tolist() != first.tolist()
    assert run(RuntimeBackend(chip, X, tiles=2, seed=2), ALL, "a").tolist() != first.tolist()


def test_another_process_collects_by_the_ticket(service):
    backend = RuntimeBackend(service, X, tiles="auto")
    ticket = backend.submit(PLAN, "t")
    plain = RuntimeBackend(FakeRuntime(service.directory, device()), X)  # needs no tiles to read
    assert plain.collect(ticket).tolist() == backend.collect(ticket).tolist()
    assert service.submissions == 1


SCRIPT = """
    import os
    import numpy as np
    from aqka.backends import RuntimeBackend
    from tests.fake_runtime import FakeRuntime
    from tests.backends.test_tiled_backends import PLAN, X, device
    backend = RuntimeBackend(FakeRuntime({path!r}, device()), X, tiles="auto")
    assert len(backend.tiling) == 3
    backend.submit(PLAN, "t")
    os._exit(9)
"""


def test_a_killed_process_is_recovered_although_the_device_was_calibrated_anew(tmp_path):
    """The child dies before the ticket is stored; the new calibration has another tiling."""
    script = textwrap.dedent(SCRIPT.format(path=str(tmp_path)))
    child = subprocess.run([sys.executable, "-c", script], check=False, env=dict(os.environ))
    assert child.returncode == 9
    service = FakeRuntime(tmp_path, device())
    backend = RuntimeBackend(service, X, tiles=2)
    ticket = RuntimeBackend(service, X, tiles="auto").recover(PLAN, "t")
    assert backend.recover(PLAN, "t") == ticket
    assert Ticket.read(ticket).deal.n_tiles == 3
    assert backend.collect(ticket)[2] == 10
    assert service.submissions == 1


class Killed(BaseException):
    """The process dies here."""


@pytest.mark.parametrize("where", ["before the ticket is stored", "before it is collected"])
def test_runs_killed_between_submit_and_collect_lose_nothing(tmp_path, monkeypatch, where):
    """In every round: after IBM took the job; the run ends as one that nothing happened to."""
    monkeypatch.setattr(driver, "new_run_id", lambda: "one-run")
    found, submissions = [], []
    for name, deaths in (("peace", 0), ("killed", 99)):
        service = FakeRuntime(tmp_path / name, device())
        dead = set()

        def dying(job, dead=dead, deaths=deaths):
            if job.record["tags"][0] not in dead and len(dead) < deaths:
                dead.add(job.record["tags"][0])
                raise Killed
            return job

        target, method = (service, "accept") if "stored" in where else (FakeJob, "result")
        original = getattr(target, method)
        if "stored" in where:
            monkeypatch.setattr(target, method, lambda *a, f=original, d=dying: d(f(*a)))
        else:
            monkeypatch.setattr(
                target, method, lambda job, f=original, d=dying: (d(job), f(job))[1]
            )
        session = None
        while session is None:
            with contextlib.suppress(Killed):
                backend = RuntimeBackend(service, X, tiles="auto")
                session = acquire(backend, Y, 300, directory=tmp_path / f"run-{name}")
        monkeypatch.setattr(target, method, original)
        found.append((session.table.shots.tolist(), session.table.hits.tolist()))
        submissions.append(service.submissions)
        assert len(dead) == (session.rounds_total if deaths else 0)
    assert found[0] == found[1]
    assert submissions[0] == submissions[1] == session.rounds_total


def test_recovery_takes_no_job_of_another_tag_plan_or_data(service):
    backend = RuntimeBackend(service, X, tiles="auto")
    backend.submit(PLAN, "t")
    assert backend.recover(PLAN, "u") is None
    assert backend.recover(ShotPlan([0], [1], [20]), "t") is None
    assert RuntimeBackend(service, X + 1, tiles="auto").recover(PLAN, "t") is None
    assert RuntimeBackend(service, X).recover(PLAN, "t") is None
    assert service.submissions == 1


def test_recovery_sends_only_missing_jobs_on_as_many_tiles(service):
    jobs = JobShape(max_rows=1)
    backend = RuntimeBackend(service, X, tiles="auto", jobs=jobs)
    ticket = backend.submit(PLAN, "t")
    sent = Ticket.read(ticket)
    assert len(sent.job_ids) == 2
    service.cancel(sent.job_ids[1])
    again = RuntimeBackend(service, X, tiles="auto", jobs=jobs)
    again.drop_tiles({again.tiling.places[-1].name})
    recovered = Ticket.read(again.recover(PLAN, "t"))
    assert service.submissions == 3
    assert recovered.job_ids[0] == sent.job_ids[0]
    assert recovered.deal == sent.deal
    assert again.collect(recovered.write())[2] == 10
    assert Ticket.read(again.submit(PLAN, "u")).deal.n_tiles == 2


@pytest.mark.parametrize("fate", ["no result", "unreadable", "cut", "too long"])
def test_of_several_jobs_only_the_unreadable_one_is_lost(service, fate):
    backend = RuntimeBackend(service, X, tiles="auto", jobs=JobShape(max_rows=1))
    service.next_job = fate
    ticket = backend.submit(PLAN, "t")
    first, second = (int(c.row_shots().sum()) for c in Ticket.read(ticket).layout.chunks())
    with pytest.raises(JobError) as caught:
        backend.collect(ticket)
    shots, hits = caught.value.partial
    assert (caught.value.lost, int(shots.sum())) == (first, second)
    assert first + second == PLAN.total
    assert np.all(hits <= shots)


@pytest.mark.parametrize("spoil", ["a register less", "fewer rows"])
def test_outcomes_that_do_not_fit_are_refused(service, spoil):
    backend = RuntimeBackend(service, X, tiles="auto")
    ticket = backend.submit(PLAN, "t")
    job_id = Ticket.read(ticket).job_ids[0]
    path = service.directory / f"{job_id}.npy"
    bits = np.load(path)
    if spoil == "fewer rows":
        np.save(path, bits[:-1])
    else:
        np.save(path, bits[..., :2])
        registers = service.job(job_id).record["registers"]
        service.job(job_id).update(registers=dict(list(registers.items())[:2]))
    with pytest.raises(JobError, match=f"job {job_id} holds"):
        backend.collect(ticket)


def test_one_tile_is_what_it_was_before_there_were_tiles(service):
    plain, one = RuntimeBackend(service, X), RuntimeBackend(service, X, tiles=1)
    assert one.tiling is None
    assert one.fingerprint() == plain.fingerprint()
    assert "tiles" not in one.fingerprint()
    assert "." not in one.submit(PLAN, "t")
    assert service.job("fake000001").tags[1].endswith("1of1")


def test_the_rule_and_not_the_tiles_found_makes_a_run(service):
    auto = RuntimeBackend(service, X, tiles="auto")
    before = auto.fingerprint()
    auto.drop_tiles({auto.tiling.places[0].name})
    assert auto.fingerprint() == before != RuntimeBackend(service, X).fingerprint()
    assert RuntimeBackend(service, X, tiles=2).fingerprint() != before


def test_tiles_are_shared_by_other_points_and_pickled():
    backend = RuntimeBackend(device(), X, tiles="auto", seed=4)
    other = backend.with_points(X[:2], columns=X)
    backend.drop_tiles({backend.tiling.places[0].name})
    assert len(other.tiling) == 2
    copied = pickle.loads(pickle.dumps(backend))
    assert run(copied, ALL).tolist() == run(backend, ALL).tolist()
    with pytest.raises(InputError, match="every tile was dropped"):
        backend.drop_tiles({place.name for place in backend.tiling.places})
    assert len(backend.tiling) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tiles": "many"}, "tiles must be 'auto' or a number"),
        ({"tiles": 0}, "tiles"),
        ({"tiles": None}, "tiles"),
        ({"X": np.ones((3, 9))}, "needs 9 qubits but .* has 8"),
        ({"backend": GenericBackendV2(8, noise_info=False)}, "no errors of its two-qubit gates"),
        (
            {"backend": GenericBackendV2(6, coupling_map=[[0, 1], [1, 2], [3, 4], [4, 5]], seed=1),
             "X": np.ones((3, 4))},
            "not connected: its largest piece has 3 qubits",
        ),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused_before_the_first_shot(arguments, message):
    with pytest.raises(InputError, match=message):
        RuntimeBackend(**{"backend": device(), "X": X, "tiles": "auto", **arguments})


@pytest.mark.parametrize("design", ["pairs", "points"])
def test_more_tiles_than_the_device_has_are_refused_before_a_run_begins(service, tmp_path, design):
    backend = RuntimeBackend(service, X, tiles=99)
    with pytest.raises(InputError, match="tiles = 99 is more than"):
        acquire(backend, Y, 300, design=design, directory=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert service.submissions == 0


def test_a_sampler_without_a_device_has_no_tiles():
    with pytest.raises(InputError, match="tiles need a device with a coupling map"):
        SamplerBackend(exact, X, tiles="auto")
