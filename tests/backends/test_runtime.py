import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import qiskit_ibm_runtime
from qiskit_ibm_runtime import fake_provider
from qiskit_ibm_runtime.api.exceptions import RequestsApiError
from qiskit_ibm_runtime.exceptions import IBMNotAuthorizedError, IBMRuntimeError
from scipy.stats import binom

from aqka import InputError, MatrixBackend, acquire
from aqka._util import optional
from aqka.backends import AerBackend, JobShape, runtime
from aqka.backends._jobs import ibm as _ibm
from aqka.backends._jobs import sender as _jobs
from aqka.backends._noisy import compact as _compact
from aqka.backends.runtime import RuntimeBackend
from aqka.core import ShotPlan
from aqka.errors import JobError, TransientError
from aqka.testing.fake_runtime import FakeRuntime

X = np.random.default_rng(7).uniform(0, 1, (6, 2))
Y = [1, 1, 1, -1, -1, -1]
PLAN = ShotPlan([0, 1, 2], [1, 2, 2], [20, 30, 10])


@pytest.fixture
def service(tmp_path):
    return FakeRuntime(tmp_path)


@pytest.fixture
def backend(service):
    return RuntimeBackend(service, X)


def job_ids(ticket):
    return ticket.partition(":")[0].split("+")


def test_a_plan_is_one_job_and_its_usage_is_kept(service, backend):
    ticket = backend.submit(PLAN, "t")
    hits = backend.collect(ticket)
    assert service.submissions == 1
    assert hits[2] == 10
    assert np.all((hits >= 0) & (hits <= PLAN.shots))
    assert backend.usage == {ticket: 2.0}
    assert service.job(job_ids(ticket)[0]).record["tags"][0] == "t"


def test_another_process_collects_by_the_ticket(service, backend):
    ticket = backend.submit(PLAN, "t")
    other = RuntimeBackend(FakeRuntime(service.directory), X)
    assert other.collect(ticket).tolist() == backend.collect(ticket).tolist()
    assert service.submissions == 1


def test_a_killed_process_is_recovered_by_its_tag(tmp_path):
    """The child dies after IBM has taken the job and before the ticket is stored."""
    script = f"""
        import os
        import numpy as np
        from aqka.core import ShotPlan
        from aqka.backends.runtime import RuntimeBackend
        from aqka.testing.fake_runtime import FakeRuntime
        X = np.random.default_rng(7).uniform(0, 1, (6, 2))
        backend = RuntimeBackend(FakeRuntime({str(tmp_path)!r}), X)
        backend.submit(ShotPlan([0, 1, 2], [1, 2, 2], [20, 30, 10]), "t")
        os._exit(9)
    """
    child = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert child.returncode == 9
    service = FakeRuntime(tmp_path)
    backend = RuntimeBackend(service, X)
    ticket = backend.recover(PLAN, "t")
    assert backend.collect(ticket)[2] == 10
    assert service.submissions == 1


def test_recovery_takes_no_job_of_another_tag_plan_or_data(service, backend):
    backend.submit(PLAN, "t")
    assert backend.recover(PLAN, "u") is None
    assert backend.recover(ShotPlan([0], [1], [20]), "t") is None
    assert RuntimeBackend(service, X + 1).recover(PLAN, "t") is None
    assert backend.find("t") == ["fake000001"]
    assert service.submissions == 1


@pytest.mark.parametrize("fate", ["ERROR", "CANCELLED", "too long"])
def test_recovery_passes_over_lost_jobs(service, backend, fate):
    service.next_job = fate
    backend.submit(PLAN, "t")
    assert backend.recover(PLAN, "t") is None


def test_recovery_sends_only_missing_jobs(service):
    jobs = JobShape(max_rows=3)
    backend = RuntimeBackend(service, X, jobs=jobs)
    ticket = backend.submit(PLAN, "t")
    assert service.submissions == 2
    service.cancel(job_ids(ticket)[1])
    again = RuntimeBackend(service, X, jobs=jobs)
    recovered = again.recover(PLAN, "t")
    assert service.submissions == 3
    assert job_ids(recovered)[0] == job_ids(ticket)[0]
    assert again.collect(recovered)[2] == 10


def test_an_error_before_the_job_was_taken(service, backend):
    service.next_job = "refused"
    with pytest.raises(TransientError, match="busy"):
        backend.submit(PLAN, "t")
    assert service.submissions == 0
    backend.collect(backend.submit(PLAN, "t"))
    assert service.submissions == 1


def test_an_error_after_the_job_was_taken_does_not_pay_twice(service, backend):
    service.next_job = "reply lost"
    with pytest.raises(TransientError, match="reset"):
        backend.submit(PLAN, "t")
    assert backend.collect(backend.submit(PLAN, "t"))[2] == 10
    assert service.submissions == 1


@pytest.mark.parametrize(
    ("fate", "message"),
    [
        ("ERROR", r"job fake000001 failed: .*Nothing was run again"),
        ("CANCELLED", r"job fake000001 was cancelled\. Nothing was run again"),
        ("too long", r"longer than max_execution_time.*Nothing was run again"),
    ],
)
def test_lost_jobs_are_named(service, backend, fate, message):
    service.next_job = fate
    ticket = backend.submit(PLAN, "t")
    with pytest.raises(JobError, match=message):
        backend.collect(ticket)
    assert service.submissions == 1


def test_expired_job(service, backend):
    ticket = backend.submit(PLAN, "t")
    service.expire(job_ids(ticket)[0])
    with pytest.raises(JobError, match=r"fake000001 is unknown to the service: it expired"):
        backend.collect(ticket)


def test_collect_waits_for_the_queue(tmp_path):
    service = FakeRuntime(tmp_path, delay=0.2)
    backend = RuntimeBackend(service, X)
    ticket = backend.submit(PLAN, "t")
    assert service.job(job_ids(ticket)[0]).status() == "QUEUED"
    assert backend.collect(ticket)[2] == 10


def test_usage_that_cannot_be_asked_loses_no_hits(backend, monkeypatch):
    def fails(self, partial=False):
        raise IBMRuntimeError("Failed to get job metadata")

    monkeypatch.setattr("aqka.testing.fake_runtime.FakeJob.usage", fails)
    ticket = backend.submit(PLAN, "t")
    assert backend.collect(ticket)[2] == 10
    assert np.isnan(backend.usage[ticket])


def test_empty_plans_send_no_job(service, backend):
    assert backend.collect(backend.submit(ShotPlan([], [], []), "t")).tolist() == []
    assert backend.collect(backend.submit(ShotPlan([0], [1], [0]), "t")).tolist() == [0]
    assert service.submissions == 0


@pytest.mark.parametrize(
    ("allowed", "mode", "expected"),
    [
        (("session", "batch"), "auto", "session"),
        (("batch",), "auto", "batch"),
        ((), "auto", "job"),
        (("session", "batch"), "batch", "batch"),
        (("session", "batch"), "job", "job"),
    ],
)
def test_execution_modes_fall_back(tmp_path, allowed, mode, expected):
    service = FakeRuntime(tmp_path, allowed=allowed)
    with RuntimeBackend(service, X, mode=mode) as backend:
        assert backend.mode == expected
        backend.collect(backend.submit(PLAN, "t"))
    assert all(opened.closed for opened in service.opened)
    assert [opened.name for opened in service.opened] == [expected] * (expected != "job")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_the_session_is_closed_whatever_happens(service, error):
    backend = RuntimeBackend(service, X)

    def interrupted():
        with backend:
            backend.submit(PLAN, "t")
            raise error

    with pytest.raises(error):
        interrupted()
    assert service.opened[0].closed
    ticket = backend.recover(PLAN, "t")
    assert backend.collect(ticket)[2] == 10  # what was queued is not lost


def test_two_arms_share_one_session(service):
    with RuntimeBackend(service, X) as backend:
        for allocator in ("uniform", "aqka"):
            assert acquire(backend, Y, 300, allocator).table.total == 300
    assert len(service.opened) == 1
    assert sum(backend.usage.values()) == 2.0 * service.submissions


def ibm(monkeypatch, session_error=None, batch_error=None):
    """IBM's client with its two modes replaced."""

    def maker(name, error):
        def make(backend):
            if error is not None:
                raise error
            return name

        return make

    monkeypatch.setattr(qiskit_ibm_runtime, "Session", maker("session", session_error))
    monkeypatch.setattr(qiskit_ibm_runtime, "Batch", maker("batch", batch_error))
    return _ibm.IbmRuntime("device", {})


OPEN_PLAN = RequestsApiError(
    '400 Client Error. {"errors":[{"code":1352,"message":"You are not authorized to run a '
    'session when using the open plan."}]}',
    400,
)


def test_ibm_refusal_of_the_open_plan_falls_back(monkeypatch):
    modes = ("session", "batch")
    assert _ibm.open_best(ibm(monkeypatch), modes) == ("session", "session")
    assert _ibm.open_best(ibm(monkeypatch, OPEN_PLAN), modes) == ("batch", "batch")
    assert _ibm.open_best(ibm(monkeypatch, OPEN_PLAN, OPEN_PLAN), modes) == ("job", None)


@pytest.mark.parametrize(
    "error", [IBMNotAuthorizedError("401 wrong token"), RequestsApiError("500", 500)]
)
def test_other_errors_of_ibm_do_not_fall_back(monkeypatch, error):
    with pytest.raises(type(error)):
        _ibm.open_best(ibm(monkeypatch, error), ("session", "batch"))


def test_ibm_sampler_carries_tags_and_options():
    device = fake_provider.FakeManilaV2()
    runtime = _ibm.IbmRuntime(
        device, {"max_execution_time": 300, "environment": {"job_tags": ["lab"]}}
    )
    for _ in range(2):
        options = runtime.sampler(None, ["t", "part"], 1).options
        assert options.environment.job_tags == ["lab", "t", "part"]
        assert options.max_execution_time == 300


@pytest.mark.parametrize("name", ["FakeFez", "FakeMarrakesh", "FakeTorino"])
def test_heron_runs_four_rounds_transpiled_once(name, monkeypatch):
    """Budget 400: a warm-up and rounds of target-fill, one job each, one transpilation."""
    calls = {"transpile": 0, "run": 0}
    transpile, run = _jobs.transpiled, _ibm.LocalRuntime.run

    def counting_transpile(*arguments):
        calls["transpile"] += 1
        return transpile(*arguments)

    def counting_run(*arguments, **options):
        calls["run"] += 1
        return run(*arguments, **options)

    monkeypatch.setattr(_jobs, "transpiled", counting_transpile)
    monkeypatch.setattr(_ibm.LocalRuntime, "run", counting_run)
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


def test_long_tags_are_shortened_and_found(service, backend):
    tag = "t" * 300
    backend.submit(PLAN, tag)
    assert max(len(name) for name in service.job("fake000001").record["tags"]) <= 80
    assert backend.recover(PLAN, tag) is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "dedicated"}, "mode must be one of auto, session, batch, job"),
        ({"backend": "ibm_fez"}, r"Pass service\.backend\(name\), not its name"),
        ({"backend": MatrixBackend([[1.0]])}, "backend must be a backend of"),
        ({"X": np.ones((3, 6))}, "needs 6 qubits but .* has 5"),
        ({"X": [[np.inf, 0.0]]}, "NaN or infinite"),
        ({"seed": 0.5}, "seed"),
    ],
)
def test_bad_arguments(service, arguments, message):
    with pytest.raises(InputError, match=message):
        RuntimeBackend(**{"backend": service, "X": X, **arguments})


def test_missing_extra(monkeypatch):
    def missing(module):
        raise ImportError(module)

    monkeypatch.setattr(optional, "import_module", missing)
    with pytest.raises(InputError, match=r"pip install 'aqka\[ibm\]'"):
        RuntimeBackend(fake_provider.FakeManilaV2(), X)


def test_compact_noise_is_the_whole_device_noise():
    """The exact outcome probabilities on three qubits equal those of the whole device."""
    from qiskit_aer import AerSimulator

    device = fake_provider.FakeManilaV2()
    backend = RuntimeBackend(device, X[:, [0, 1, 0]])
    circuit = backend.circuit.assign_parameters(np.arange(6) / 7)
    circuit.remove_final_measurements()
    small, used = _compact.compact_circuit(circuit)
    assert small.num_qubits == 3
    states = []
    for run, qubits, simulator in (
        (small, [0, 1, 2], _compact.compact_simulator(device, used)),
        (circuit, used, AerSimulator.from_backend(device, method="density_matrix")),
    ):
        measured = run.copy()
        measured.save_probabilities(qubits)
        states.append(simulator.run(measured).result().data()["probabilities"])
    np.testing.assert_allclose(states[0], states[1], atol=1e-10)


def test_ibm_sampler_runs_our_pub():
    """IBM's client-side sampler in its local mode, as RuntimeBackend calls it on hardware."""
    device = fake_provider.FakeManilaV2()
    backend = RuntimeBackend(device, X)
    sampler = _ibm.IbmRuntime(device, {}).sampler(None, ["t"], 1)
    job = sampler.run([(backend.circuit, np.tile(X[0], (3, 2)))], shots=200)
    zeros = _jobs.all_zero(job.result(), job.job_id())
    assert zeros.shape == (3, 200)
    assert 0.5 < zeros.mean() < 1


def test_ibm_local_mode_on_a_heron_agrees_with_the_exact_noisy_kernel():
    """IBM's own sampler and noise, our circuit: hits must follow the kernel computed exactly."""
    device = fake_provider.FakeTorino()
    exact = AerBackend(X[:3], noise=device)
    rows, cols = np.triu_indices(3)
    values = np.concatenate([X[rows], X[cols]], axis=1)
    sampler = _ibm.IbmRuntime(device, {}).sampler(None, ["t"], 1)
    job = sampler.run([(exact.circuit, values)], shots=2000)
    hits = _jobs.all_zero(job.result(), job.job_id()).sum(axis=1)
    k = exact.kernel()[rows, cols]
    # Six binomials, each at a false-alarm rate of 10^-6.
    low, high = (binom.ppf(q, 2000, k) for q in (5e-7, 1 - 5e-7))
    assert np.all((low <= hits) & (hits <= high))


def test_ibm_jobs_are_looked_up_by_all_tags():
    class Service:
        def jobs(self, **arguments):
            return arguments

        def job(self, job_id):
            return job_id

    class Device:
        service = Service()

    runtime = _ibm.IbmRuntime(Device(), {})
    assert runtime.jobs(["a", "b"]) == {"job_tags": ["a", "b"], "limit": None}
    assert runtime.job("x") == "x"


def test_credentials_are_not_pickled():
    with pytest.raises(InputError, match="its token would be written"):
        pickle.dumps(_ibm.IbmRuntime("device", {}))


def test_other_points_share_the_session(service):
    with RuntimeBackend(service, X) as train:
        test = train.with_points(X[:2] + 0.1, columns=X)
        assert test.mode == "session"
        ticket = test.submit(ShotPlan([1], [5], [10]), "t")
        test.collect(ticket)
    assert test.mode == "job"
    assert len(service.opened) == 1
    assert train.usage[ticket] == 2.0


def test_rows_of_a_job_are_bounded_by_instructions(backend):
    limit = backend._shape.max_rows
    assert limit == _ibm.row_limit(backend.circuit)
    assert 20_000 < limit < 400_000  # 50 to 1000 instructions per qubit and row


def test_a_backend_of_the_service_is_sent_to_the_service():
    device = object.__new__(qiskit_ibm_runtime.IBMBackend)
    assert isinstance(runtime._runtime_of(device, {}), _ibm.IbmRuntime)


def test_older_clients_have_another_sampler(monkeypatch):
    def older(module, extra):
        if module.endswith("executor_sampler"):
            raise InputError(module)
        return qiskit_ibm_runtime

    monkeypatch.setattr(_ibm, "require", older)
    assert _ibm._sampler_class() is qiskit_ibm_runtime.SamplerV2


def test_a_fake_device_without_aer_runs_without_noise(monkeypatch, caplog):
    import_module = optional.import_module

    def without_aer(module):
        if module.startswith("qiskit_aer"):
            raise ImportError(module)
        return import_module(module)

    monkeypatch.setattr(optional, "import_module", without_aer)
    circuit, simulator = _ibm._simulated("circuit", fake_provider.FakeManilaV2())
    assert circuit == "circuit"
    assert simulator.name == "fake_manila"
    assert "without noise" in caplog.text


def test_a_recalibrated_device_is_the_same_run_but_another_device_is_not(tmp_path, monkeypatch):
    service = FakeRuntime(tmp_path)
    same = RuntimeBackend(service, X).fingerprint()
    other = RuntimeBackend(service, X)
    other._circuit = other._circuit.copy()
    other._circuit.barrier()  # as another calibration would transpile it otherwise
    assert other.fingerprint() == same
    assert RuntimeBackend(service, X + 0.1).fingerprint() != same
    monkeypatch.setattr(RuntimeBackend, "name", "ibm_elsewhere")
    assert RuntimeBackend(service, X).fingerprint() != same
