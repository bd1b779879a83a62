import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest
import qiskit_ibm_runtime
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit_ibm_runtime import fake_provider
from qiskit_ibm_runtime.api.exceptions import RequestsApiError
from qiskit_ibm_runtime.exceptions import IBMRuntimeError

from aqka import InputError, MatrixBackend, acquire
from aqka._util import optional
from aqka.backends import JobShape, runtime
from aqka.backends._jobs import ibm
from aqka.backends._jobs.rows import Ticket
from aqka.backends.runtime import RuntimeBackend
from aqka.core import PointPlan, ShotPlan
from aqka.errors import JobError, TransientError
from tests.fake_runtime import FakeRuntime

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
        from aqka.core import PointPlan, ShotPlan
        from aqka.backends.runtime import RuntimeBackend
        from tests.fake_runtime import FakeRuntime
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


def test_a_job_is_recovered_although_the_circuit_is_transpiled_otherwise(service, backend):
    ticket = backend.submit(PLAN, "t")
    other = RuntimeBackend(service, X)
    for _ in range(20):  # deeper, as after another calibration: fewer rows may share a job
        other.circuit.x(0)
    found = other.recover(PLAN, "t")
    assert found is not None
    assert job_ids(found) == job_ids(ticket)
    assert other.collect(found).tolist() == backend.collect(ticket).tolist()
    assert service.submissions == 1


def test_recovery_takes_no_job_of_another_tag_plan_or_data(service, backend):
    backend.submit(PLAN, "t")
    assert backend.recover(PLAN, "u") is None
    assert backend.recover(ShotPlan([0], [1], [20]), "t") is None
    assert RuntimeBackend(service, X + 1).recover(PLAN, "t") is None
    assert [job.job_id() for job in service.jobs(["t"])] == ["fake000001"]
    assert service.submissions == 1


@pytest.mark.parametrize("fate", ["ERROR", "CANCELLED"])
def test_recovery_passes_over_lost_jobs(service, backend, fate):
    service.next_job = fate
    backend.submit(PLAN, "t")
    assert backend.recover(PLAN, "t") is None


def test_recovery_finds_a_job_that_was_run_for_nothing(service, backend):
    service.next_job = "too long"
    ticket = backend.submit(PLAN, "t")
    again = RuntimeBackend(service, X)
    assert again.recover(PLAN, "t") == ticket  # it is paid for, and must be counted
    with pytest.raises(JobError, match="longer than max_execution_time") as caught:
        again.collect(ticket)
    assert caught.value.lost == PLAN.total
    assert service.submissions == 1


@pytest.mark.parametrize(
    ("fate", "lost"),
    [
        *[("no result", 60), ("unreadable", 60), ("cut", 60), ("too long", 60), ("expired", 60)],
        *[("ERROR", 0), ("CANCELLED", 0)],
    ],
)
def test_shots_that_the_service_ran_for_nothing_are_told(service, backend, fate, lost):
    service.next_job = None if fate == "expired" else fate
    ticket = backend.submit(PLAN, "t")
    if fate == "expired":
        service.expire(job_ids(ticket)[0])
    with pytest.raises(JobError) as caught:
        backend.collect(ticket)
    assert (caught.value.lost, caught.value.partial) == (lost, None)


@pytest.mark.parametrize("fate", ["no result", "unreadable", "cut"])
def test_of_several_jobs_only_the_unreadable_one_is_lost(service, fate):
    backend = RuntimeBackend(service, X, jobs=JobShape(max_rows=3))
    service.next_job = fate
    ticket = backend.submit(PLAN, "t")
    first, second = ticket_chunks(ticket)
    with pytest.raises(JobError) as caught:
        backend.collect(ticket)
    shots, hits = caught.value.partial
    assert caught.value.lost == first
    assert shots.sum() == second == PLAN.total - first
    assert np.all(hits <= shots)


def ticket_chunks(ticket):
    return [int(chunk.row_shots().sum()) for chunk in Ticket.read(ticket).layout.chunks()]


@pytest.mark.parametrize("code", [401, 403, 404, 410, 500])
def test_only_a_result_that_is_gone_is_lost(service, backend, monkeypatch, code):
    def refuses(self):
        raise RequestsApiError("no", code)

    ticket = backend.submit(PLAN, "t")
    with monkeypatch.context() as patch:
        patch.setattr("tests.fake_runtime.FakeJob.result", refuses)
        with pytest.raises(JobError if code in (404, 410) else TransientError) as caught:
            backend.collect(ticket)
    if code in (404, 410):
        assert caught.value.lost == PLAN.total
    assert backend.collect(ticket)[2] == 10


@pytest.mark.parametrize("fate", ["no result", "unreadable", "cut", "too long"])
def test_the_budget_counts_what_was_run_for_nothing(service, tmp_path, fate):
    backend = RuntimeBackend(service, X)
    service.next_job = fate
    with pytest.warns(RuntimeWarning, match="round 0 failed"):
        session = acquire(backend, Y, 300, directory=tmp_path / "run")
    assert session.lost > 0
    assert session.table.total + session.lost == 300
    outcomes = [np.load(path).shape for path in service.directory.glob("*.npy")]
    assert sum(rows * shots for rows, shots, _ in outcomes) == 300


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

    monkeypatch.setattr("tests.fake_runtime.FakeJob.usage", fails)
    ticket = backend.submit(PLAN, "t")
    assert backend.collect(ticket)[2] == 10
    assert backend.usage[ticket] is None


@pytest.mark.parametrize("said", [float("nan"), float("inf"), -1.0, "soon", [2]])
def test_usage_that_is_no_number_of_seconds_is_unknown(backend, monkeypatch, said):
    monkeypatch.setattr("tests.fake_runtime.FakeJob.usage", lambda self, partial=False: said)
    ticket = backend.submit(PLAN, "t")
    assert backend.collect(ticket)[2] == 10
    assert backend.usage[ticket] is None


@pytest.mark.parametrize(("fate", "used"), [("too long", 2.0), ("cut", 2.0), ("ERROR", 0.0)])
def test_usage_of_jobs_that_failed_is_kept(service, backend, fate, used):
    service.next_job = fate
    ticket = backend.submit(PLAN, "t")
    with pytest.raises(JobError):
        backend.collect(ticket)
    assert backend.usage[ticket] == used


@pytest.mark.parametrize("tiles", [1, 2])
@pytest.mark.parametrize("plan", [PLAN, PointPlan([0, 1], [0, 0], [20, 20], [[2, 2]])])
def test_registers_narrower_than_the_circuit_are_not_believed(tmp_path, plan, tiles):
    line = GenericBackendV2(8, coupling_map=[[k, k + 1] for k in range(7)], seed=1)
    service = FakeRuntime(tmp_path, line)
    backend = RuntimeBackend(service, X, tiles=tiles)
    service.next_job = "narrow"
    with pytest.raises(JobError, match=r"registers of \[1\] bits .* circuits of 2 qubits"):
        backend.collect(backend.submit(plan, "t"))


def test_all_jobs_of_a_submission_share_the_seconds_that_are_left(service, monkeypatch):
    backend = RuntimeBackend(service, X, jobs=JobShape(quantum=10, max_rows=2))
    allowed = []
    run = service.run

    def seen(request):
        allowed.append(request.seconds)
        return run(replace(request, seconds=None))

    monkeypatch.setattr(service, "run", seen)
    backend.submit(PLAN, "without a limit")
    assert allowed == [None] * 3
    backend.limit_seconds(60.0)
    backend.submit(PLAN, "with one")
    assert sum(allowed[3:]) == pytest.approx(60.0)
    assert min(allowed[3:]) > 15


def test_a_job_longer_than_the_seconds_left_is_stopped_and_its_use_is_known(service, backend):
    service.seconds = 100.0
    backend.limit_seconds(5.0)
    ticket = backend.submit(PLAN, "t")
    with pytest.raises(JobError, match="max_execution_time") as raised:
        backend.collect(ticket)
    assert backend.usage[ticket] == pytest.approx(5.0)
    assert raised.value.lost == PLAN.total
    backend.limit_seconds(None)
    assert backend.collect(backend.submit(PLAN, "again"))[2] == 10


def test_the_wait_before_an_execution_is_the_devices_or_the_options():
    fez = fake_provider.FakeFez()
    assert RuntimeBackend(fez, X).rep_delay == 250e-6
    chosen = {"execution": {"rep_delay": 1e-4}}
    assert RuntimeBackend(fez, X, options=chosen).rep_delay == 1e-4
    with pytest.raises(InputError, match=r"rep_delay must lie within 0 and 0.0005 s.*got 0.004"):
        RuntimeBackend(fez, X, options={"execution": {"rep_delay": 4e-3}})


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
    assert all(mode.closed for mode in service.modes)
    assert [mode.name for mode in service.modes] == [expected] * (expected != "job")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_the_session_is_closed_whatever_happens(service, error):
    backend = RuntimeBackend(service, X)

    def interrupted():
        with backend:
            backend.submit(PLAN, "t")
            raise error

    with pytest.raises(error):
        interrupted()
    assert service.modes[0].closed
    ticket = backend.recover(PLAN, "t")
    assert backend.collect(ticket)[2] == 10  # what was queued is not lost


def test_two_arms_share_one_session(service):
    with RuntimeBackend(service, X) as backend:
        for allocator in ("uniform", "aqka"):
            assert acquire(backend, Y, 300, allocator).table.total == 300
    assert len(service.modes) == 1
    assert sum(backend.usage.values()) == 2.0 * service.submissions


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


def test_other_points_share_the_session(service):
    with RuntimeBackend(service, X) as train:
        test = train.with_points(X[:2] + 0.1, columns=X)
        assert test.mode == "session"
        ticket = test.submit(ShotPlan([1], [5], [10]), "t")
        test.collect(ticket)
    assert test.mode == "job"
    assert len(service.modes) == 1
    assert train.usage[ticket] == 2.0


def test_rows_of_a_job_are_bounded_by_instructions(backend):
    limit = backend._layout(ShotPlan([0], [1], [1])).max_rows
    assert limit == ibm.row_limit(backend.circuit)
    assert 20_000 < limit < 400_000  # 50 to 1000 instructions per qubit and row


def test_a_backend_of_the_service_is_sent_to_the_service():
    device = object.__new__(qiskit_ibm_runtime.IBMBackend)
    assert isinstance(runtime._service_of(device, {}), ibm.IbmService)


def test_a_recalibrated_device_is_the_same_run_but_another_device_is_not(tmp_path, monkeypatch):
    service = FakeRuntime(tmp_path)
    same = RuntimeBackend(service, X).fingerprint()
    other = RuntimeBackend(service, X)
    other.circuit.barrier()  # as another calibration would transpile it otherwise
    assert other.fingerprint() == same
    assert RuntimeBackend(service, X + 0.1).fingerprint() != same
    monkeypatch.setattr(RuntimeBackend, "name", "ibm_elsewhere")
    assert RuntimeBackend(service, X).fingerprint() != same
