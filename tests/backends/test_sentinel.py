"""Sentinels on tiles, on a chip whose tiles have the noise we give them."""

import warnings

import numpy as np
import pytest
from qiskit.primitives import BaseSamplerV2, BitArray, DataBin, PrimitiveResult, SamplerPubResult

from aqka import InputError, MatrixBackend, StatevectorBackend, acquire
from aqka.backends import JobShape, RuntimeBackend, SamplerBackend
from aqka.backends._jobs.local import split_circuit
from aqka.backends._jobs.rows import Ticket
from aqka.backends.diagonal import DriftWarning, mitigate_depolarising
from aqka.backends.sentinel import SentinelBackend
from aqka.core import ShotPlan
from tests.backends._tiles.chips import line
from tests.backends.depolarised_kernel import QUBITS, depolarised, true_kernel
from tests.fake_runtime import FakeRuntime


def test_sentinels_ride_along_and_stay_out_of_the_budget():
    kernel = depolarised(true_kernel(), np.full(8, 0.8))
    backend = SentinelBackend(MatrixBackend(kernel, seed=1), points=[0, 3, 5], shots=100)
    session = acquire(backend, [1, -1] * 4, budget=2000)
    assert session.table.total == 2000
    assert len(backend.hits) == session.rounds_total
    estimate = backend.estimate(QUBITS)
    assert abs(estimate.survival - 0.8) < 4 * estimate.standard_error
    assert np.all(backend.pair_survival(QUBITS) == estimate.survival)
    assert not backend.drift().drifted


def test_a_drifting_device_warns():
    backend = SentinelBackend(MatrixBackend(np.eye(2) * 0.9), points=[0, 1], shots=400)
    plan = ShotPlan([0], [1], [5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        backend.collect(backend.submit(plan, "a"))
    backend.backend = MatrixBackend(np.eye(2) * 0.7)
    ticket = backend.submit(plan, "b")
    with pytest.warns(DriftWarning, match="on the device: the noise of the device drifts"):
        backend.collect(ticket)


def test_empty_plans_carry_no_sentinels():
    backend = SentinelBackend(MatrixBackend(np.eye(2)), points=[0], shots=5)
    assert backend.collect(backend.submit(ShotPlan([0], [1], [0]), "t")).tolist() == [0]
    assert backend.collect(backend.submit(ShotPlan([], [], []), "u")).tolist() == []
    assert backend.hits == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SentinelBackend(MatrixBackend(np.eye(2)), [2], 5), "points must name"),
        (lambda: SentinelBackend(MatrixBackend(np.eye(2)), [0], 0), "shots"),
        (lambda: SentinelBackend(MatrixBackend(np.eye(2)), [0], 1).collect("t"), "ticket"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(InputError, match=message):
        call()


X = np.random.default_rng(7).uniform(0, 1, (6, 2))
ALL = ShotPlan(*np.triu_indices(6, 1), np.full(15, 400))
SHAPE = JobShape(quantum=100)


class Chip(BaseSamplerV2):
    """Tiles that depolarise: tile k keeps the state with probability ``survival[k]``."""

    def __init__(self, survival, seed=0):
        self.survival = np.asarray(survival, dtype=float)
        self.rng = np.random.default_rng(seed)
        self.executions = 0

    def run(self, pubs, *, shots=None):
        ((circuit, values),) = pubs
        self.executions += len(values) * shots
        data = {}
        for part, p in zip(split_circuit(circuit), self.survival, strict=False):
            count = len(part.columns) // 2
            # Columns of a tile's vector: x behind x, as the transpiler has sorted them.
            own = np.sort(part.columns)
            x, y = values[:, own[:count]], values[:, own[count:]]
            kernel = np.diag(StatevectorBackend(x, columns=y).kernel())
            hit = self.rng.random((len(values), shots)) < (p * kernel + (1 - p) / 4)[:, None]
            data[part.name] = BitArray((~hit).astype(np.uint8)[..., None], 2)
        return Job(PrimitiveResult([SamplerPubResult(DataBin(**data, shape=(len(values),)))]))


class Job:
    def __init__(self, result):
        self.result = lambda: result

    def job_id(self):
        return f"job{id(self)}"


def make(survival, n_qubits=29, **rest):
    chip = Chip(survival)
    backend = SamplerBackend(chip, X, target_backend=line(n_qubits), tiles="auto", jobs=SHAPE)
    assert len(backend.tiling) == 10
    return chip, SentinelBackend(backend, [0, 3], 200, **rest)


def test_every_tile_has_its_rate_and_the_plan_its_shots():
    truth = np.linspace(0.6, 0.95, 10)
    chip, backend = make(truth)
    hits = backend.collect(backend.submit(ALL, "a"))
    assert len(hits) == 15
    rows = 15 * 4 // 10  # of 100 shots, on ten tiles
    assert chip.executions == 100 * (rows + 2 * 2)
    found = backend.tiles.survival(2)
    names = sorted(found)
    for name, p in zip(names, truth, strict=True):
        assert abs(found[name].survival - p) < 4.5 * found[name].standard_error
    pooled = backend.estimate(2)
    assert abs(pooled.survival - truth.mean()) < 4 * pooled.standard_error


def test_idle_tiles_are_sentinels_and_counted():
    chip, backend = make(np.full(10, 0.9))
    plan = ShotPlan([0], [1], [300])  # three rows of 100 shots: seven tiles stay idle
    assert backend.collect(backend.submit(plan, "a")).shape == (1,)
    seen = backend.tiles.rounds[0]
    assert chip.executions == 100 * (1 + 4)
    assert seen.shots.sum() == 100 * 10 * 4 + 100 * 7
    assert chip.executions * 10 == seen.shots.sum() + plan.total


def test_without_sentinels_nothing_runs_uncounted_but_the_last_row():
    chip = Chip(np.full(10, 0.9))
    backend = SamplerBackend(chip, X, target_backend=line(29), tiles="auto", jobs=SHAPE)
    backend.collect(backend.submit(ALL, "a"))
    assert chip.executions * 10 == ALL.total


def test_a_tile_that_drifts_is_dropped_from_the_next_round():
    chip, backend = make(np.full(10, 0.9))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        backend.collect(backend.submit(ALL, "a"))
    chip.survival[4] = 0.4
    name = list(backend.tiles.survival(2))[4]
    ticket = backend.submit(ALL, "b")
    with pytest.warns(DriftWarning, match=f"the tiles {name} changed .* not used any more"):
        backend.collect(ticket)
    chip.survival = np.full(9, 0.9)
    third = backend.submit(ALL, "c")
    assert backend.collect(third).shape == (15,)
    assert name not in backend.tiles.rounds[-1].names
    assert len(backend.tiles.rounds[-1].names) == 9
    assert len(backend.hits) == 3


def test_a_device_that_drifts_keeps_its_tiles():
    chip, backend = make(np.full(10, 0.9))
    backend.collect(backend.submit(ALL, "a"))
    chip.survival[:] = 0.6
    ticket = backend.submit(ALL, "b")
    with pytest.warns(DriftWarning, match="the device drifts, .* no tile is dropped"):
        backend.collect(ticket)
    assert len(backend.backend.tiling) == 10
    assert backend.drift().drifted


def test_uneven_tiles_are_evened_out():
    """Corrected by the survival of each pair's own tiles, against by that of all."""
    truth = np.array([0.4, 0.95] * 5)
    _, backend = make(truth)
    exact = StatevectorBackend(X).kernel()
    upper = np.triu_indices(6, 1)
    plan = ShotPlan(*upper, np.full(15, 40_000))
    backend.backend._job_shape = JobShape(quantum=20_000)
    measured = np.zeros((6, 6))
    ticket = backend.submit(plan, "a")
    measured[upper] = backend.collect(ticket) / plan.shots
    survival = backend.pair_survival(2)
    # What a ledger keeps of it says the same.
    rates = np.array(backend.remarks(ticket)["sentinels"]["rates"])
    np.testing.assert_allclose((rates - 0.25) / 0.75, survival[upper], atol=1e-5)
    assert np.array_equal(survival, survival.T)
    errors = [
        np.abs(mitigate_depolarising(measured, p, 2, clip=False) - exact)[upper]
        for p in (survival, backend.estimate(2).survival)
    ]
    assert errors[0].max() < 0.03
    assert errors[1].max() > 0.1


def test_tickets_carry_the_sentinels_to_other_processes(tmp_path):
    from tests.backends.test_tiled_backends import device

    service = FakeRuntime(tmp_path, device())
    first = SentinelBackend(RuntimeBackend(service, X, tiles="auto"), [1], 50)
    ticket = first.submit(ALL, "t")
    again = SentinelBackend(RuntimeBackend(service, X, tiles="auto"), [1], 50)
    assert again.recover(ALL, "t") == ticket
    assert again.collect(ticket).tolist() == first.collect(ticket).tolist()
    assert again.tiles.rounds[0].hits.tolist() == first.tiles.rounds[0].hits.tolist()
    assert np.array_equal(again.tiles.rounds[0].hits, again.tiles.rounds[0].shots)  # no noise
    assert again.usage == {ticket: 2.0}
    other = SentinelBackend(RuntimeBackend(service, X, tiles="auto"), [2], 50)
    assert other.recover(ALL, "t") is None
    assert service.submissions == 1
    assert Ticket.read(ticket.partition("|")[2]).sentinels.points == (1,)


def test_a_run_with_sentinels_spends_its_budget(tmp_path):
    from tests.backends.test_tiled_backends import device

    backend = SentinelBackend(RuntimeBackend(device(), X, tiles="auto"), [0, 1], 40)
    session = acquire(backend, [1, 1, 1, -1, -1, -1], 600, directory=tmp_path / "run")
    assert session.table.total == 600
    assert len(backend.tiles.rounds) == session.rounds_total
    assert 0.5 < backend.estimate(2).survival < 1


def test_empty_plans_carry_no_sentinels_on_tiles():
    _, backend = make(np.full(10, 0.9))
    assert backend.collect(backend.submit(ShotPlan([0], [1], [0]), "t")).tolist() == [0]
    assert backend.hits == []
