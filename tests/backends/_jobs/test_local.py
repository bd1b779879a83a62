import pickle

import numpy as np
import pytest
from qiskit_aer import AerSimulator
from qiskit_ibm_runtime import fake_provider

from aqka import acquire
from aqka._util import optional
from aqka.backends._jobs import local
from aqka.backends._jobs.transpile import Transpiler
from aqka.backends.job_service import JobRequest
from aqka.backends.runtime import RuntimeBackend
from aqka.core import ShotPlan
from aqka.errors import InputError, JobError

X = np.random.default_rng(7).uniform(0, 1, (6, 2))
Y = [1, 1, 1, -1, -1, -1]
PLAN = ShotPlan([0, 1, 2], [1, 2, 2], [20, 30, 10])


@pytest.mark.parametrize("name", ["FakeFez", "FakeMarrakesh", "FakeTorino"])
def test_heron_runs_four_rounds_transpiled_once(name, monkeypatch):
    """Budget 400: a warm-up and rounds of target-fill, one job each, one transpilation."""
    calls = {"transpile": 0, "run": 0}
    transpile, run = Transpiler.__call__, local.LocalService.run

    def counting_transpile(*arguments, **options):
        calls["transpile"] += 1
        return transpile(*arguments, **options)

    def counting_run(*arguments, **options):
        calls["run"] += 1
        return run(*arguments, **options)

    monkeypatch.setattr(Transpiler, "__call__", counting_transpile)
    monkeypatch.setattr(local.LocalService, "run", counting_run)
    with RuntimeBackend(getattr(fake_provider, name)(), X, seed=2) as backend:
        assert backend.mode == "local"
        session = acquire(backend, Y, 400, "aqka")
    assert session.table.total == 400
    assert session.rounds_total >= 4
    assert calls == {"transpile": 1, "run": session.rounds_total}
    assert set(backend.usage.values()) == {0.0}


def test_local_hits_depend_on_seed_and_tag_only():
    device = fake_provider.FakeManilaV2()
    plan = ShotPlan([0, 1, 2, 3], [1, 2, 3, 4], [200, 201, 202, 203])

    def hits(seed, tag):
        backend = RuntimeBackend(device, X, seed=seed)
        backend.submit(plan, "before")
        return backend.collect(backend.submit(plan, tag)).tolist()

    assert hits(1, "a") == hits(1, "a")
    assert hits(1, "a") != hits(1, "b")
    assert hits(1, "a") != hits(2, "a")


def test_noise_lowers_the_diagonal():
    backend = RuntimeBackend(fake_provider.FakeManilaV2(), X)
    hits = backend.collect(backend.submit(ShotPlan([0], [0], [4000]), "t"))
    assert 2000 < hits[0] < 3990


@pytest.mark.parametrize("exact_qubits", [8, 0])
def test_outcomes_are_those_of_aer_whether_drawn_or_simulated(exact_qubits, monkeypatch):
    """Aer's density matrix of the whole device is the judge of both ways."""
    monkeypatch.setattr(local, "EXACT_QUBITS", exact_qubits)
    device = fake_provider.FakeManilaV2()
    circuit = RuntimeBackend(device, X, design="points").circuit
    values = np.random.default_rng(1).uniform(0, 3, (3, circuit.num_parameters))
    job = local.LocalService(device).run(JobRequest(circuit, values, 4000, [], 5))
    (bits,) = job.result()[0].data.values()
    judge = AerSimulator.from_backend(device, method="density_matrix")
    for row, angles in zip(bits.array[..., 0], values, strict=True):
        bound = circuit.assign_parameters(angles)
        truth = judge.run(bound, shots=400_000, seed_simulator=3).result().get_counts()
        p = np.array([truth.get(f"{outcome:02b}", 0) for outcome in range(4)]) / 400_000
        seen = np.bincount(row, minlength=4)
        # Twelve counts, each within five standard errors of both samples.
        assert np.all(np.abs(seen - 4000 * p) <= 5 * np.sqrt(4000 * 1.01 * p * (1 - p)) + 1)


def test_local_backend_pickles():
    backend = RuntimeBackend(fake_provider.FakeManilaV2(), X)
    copy = pickle.loads(pickle.dumps(backend))
    plan = ShotPlan([0, 0], [1, 2], [50, 60])
    hits = [b.collect(b.submit(plan, "t")).tolist() for b in (backend, copy)]
    assert hits[0] == hits[1]


def test_local_job_of_another_process():
    ticket = RuntimeBackend(fake_provider.FakeManilaV2(), X).submit(PLAN, "t")
    with pytest.raises(JobError, match="lives in the process"):
        RuntimeBackend(fake_provider.FakeManilaV2(), X).collect(ticket)


def test_without_aer_a_fake_device_runs_up_to_eight_qubits(monkeypatch):
    import_module = optional.import_module

    def without_aer(module):
        if module.startswith("qiskit_aer"):
            raise ImportError(module)
        return import_module(module)

    monkeypatch.setattr(optional, "import_module", without_aer)
    many = RuntimeBackend(fake_provider.FakeGuadalupeV2(), np.tile(X[:2], (1, 5)), "z")
    with pytest.raises(InputError, match=r"pip install 'aqka\[aer\]'"):
        many.submit(ShotPlan([0], [0], [4000]), "t")
    few = RuntimeBackend(fake_provider.FakeManilaV2(), X)  # exactly simulated with its noise
    assert few.collect(few.submit(ShotPlan([0], [0], [4000]), "t")) < 3950
