"""``aqka cancel``: what waits is cancelled and noted, and the run can be resumed."""

import json
import subprocess
import sys
import time
from contextlib import nullcontext
from unittest import mock

import pytest

from aqka.runs.audit import begun_history, verify
from aqka.runs.ledger import Ledger
from aqka.study.carry_out import CANCEL_NAME, cancel_run, carry_out, resume
from aqka.study.directory import prepare
from aqka.study.store import RunStore
from tests.cli.in_process import call
from tests.fake_runtime import FakeJob, FakeRuntime
from tests.study.helpers import QUICK, write_study

HOURS = 36_000.0  # that a job waits, unless it is cancelled


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study on a service whose queue is long, until ``delay`` is put down."""
    service = FakeRuntime(tmp_path / "service", delay=HOURS)
    monkeypatch.setattr("aqka.study.backends.ibm_device", lambda _: service)
    settings = {"backend": "ibm", "extra": 'device = "ibm_x"', "budget": "100 shots"}
    return service, write_study(tmp_path, test_shots=4, method=QUICK, **settings)


class Killed(BaseException):
    """The process dies here."""


def die_waiting(path):
    """Carry the study out until its first job is in the ledger, and die."""

    def die(_):
        raise Killed

    with mock.patch.object(FakeJob, "result", die), pytest.raises(Killed):
        carry_out(prepare(path), path.parent / "run")
    return path.parent / "run"


COMMAND = """
import sys
from aqka.cli import main
from aqka.study import backends
from tests.fake_runtime import FakeRuntime

service = FakeRuntime(sys.argv[1], delay=float(sys.argv[2]))
backends.ibm_device = lambda _: service
sys.argv[1:] = ["run", sys.argv[3], "--yes"]
main()
"""


def start_waiting(service, path):
    """Start a process that waits for its first job."""
    arguments = [service.directory, HOURS, path]
    child = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, arguments)], stderr=subprocess.PIPE, text=True
    )
    run = path.parent / "run"
    while child.poll() is None:
        # A ledger that is just being made cannot be read yet.
        if service.submissions and RunStore(run).training.last_kind == "submitted":
            break
        time.sleep(0.01)
    assert child.poll() is None, child.stderr.read()
    return child, run


def kinds(run):
    with Ledger(run / "ledger.sqlite") as ledger:
        return [entry.kind for entry in ledger.read()]


def finish(service, run, *, told=True):
    """Resume where nothing has to wait any more; that the job is gone is told once."""
    service.delay = 0.0
    with pytest.warns(RuntimeWarning, match="was cancelled") if told else nullcontext():
        found = resume(RunStore(run)).results
    assert found["results"]["shots"] == 100
    assert verify(run).sound
    return found


@pytest.mark.parametrize("waits", [True, False])
def test_a_job_in_the_queue_is_cancelled_and_the_run_resumed(study, waits, monkeypatch, capsys):
    """While a process waits for it, and after one that died."""
    service, path = study
    child, run = start_waiting(service, path) if waits else (None, die_waiting(path))
    told = json.loads(call(monkeypatch, capsys, "status", run, "--json")[1])
    (job,) = told["jobs"]
    assert (job["state"], job["queue_position"]) == ("QUEUED", 1)
    code, out, _ = call(monkeypatch, capsys, "cancel", run)
    assert code == 0
    assert f"{job['job_id']}: CANCELLED" in out
    assert f"aqka resume {run}" in out
    if child is not None:
        assert f"cancelled; to continue: aqka resume {run}" in child.communicate()[1]
        assert child.returncode == 3
    assert not (run / CANCEL_NAME).exists()
    assert verify(run).sound
    assert kinds(run).count("cancelled") == 1
    assert service.submissions == 1  # whoever worked on it sent nothing more
    now = json.loads(call(monkeypatch, capsys, "status", run, "--json")[1])
    assert (now["state"], now["resumable"]) == ("cancelled", True)
    finish(service, run, told=not waits)
    rounds = begun_history(run / "ledger.sqlite").rounds
    assert (rounds[0].failed, rounds[0].measured.total, rounds[0].lost) == (True, 0, 0)


def test_a_job_whose_ticket_was_never_stored_is_found_by_its_tag(study):
    service, path = study
    accept = service.accept

    def dying(*given):
        accept(*given)
        raise KeyboardInterrupt

    service.accept = dying
    with pytest.raises(KeyboardInterrupt):
        carry_out(prepare(path), path.parent / "run")
    service.accept, run = accept, path.parent / "run"
    found = cancel_run(run)
    assert [(job.job_id, job.state) for job in found.jobs] == [("fake000001", "CANCELLED")]
    service.delay = 0.0
    results = resume(RunStore(run)).results  # sent anew, for none was run
    assert results["results"]["shots"] == 100


@pytest.mark.parametrize("instant", ["_cancel_round", "_note", "forget_cancel"])
def test_a_cancellation_that_dies_leaves_a_run_that_can_be_resumed(study, instant, monkeypatch):
    service, path = study
    run = die_waiting(path)
    with monkeypatch.context() as patch:

        def die(*_):
            raise KeyboardInterrupt

        patch.setattr(f"aqka.study.carry_out.{instant}", die)
        with pytest.raises(KeyboardInterrupt):
            cancel_run(run)
    assert (run / CANCEL_NAME).exists()
    if instant == "_cancel_round":  # nothing was cancelled yet, so the job is still to come
        for job in service.jobs([]):
            job.update(ready=0.0)
        service.delay = 0.0
        results = resume(RunStore(run)).results
        assert results["results"]["shots"] == 100
        assert not any(r.failed for r in begun_history(run / "ledger.sqlite").rounds)
    else:
        finish(service, run)
    assert not (run / CANCEL_NAME).exists()


def test_a_job_that_is_being_run_is_left_alone(study, monkeypatch):
    service, path = study
    run = die_waiting(path)
    with monkeypatch.context() as patch:
        patch.setattr(FakeJob, "status", lambda self: "RUNNING")
        (job,) = cancel_run(run).jobs
    assert job.state == "RUNNING"
    service.job(job.job_id).update(ready=0.0)
    service.delay = 0.0
    results = resume(RunStore(run)).results
    assert results["results"]["shots"] == 100
    assert not any(r.failed for r in begun_history(run / "ledger.sqlite").rounds)


def test_there_may_be_nothing_to_cancel(study, monkeypatch, capsys):
    service, path = study
    service.delay = 0.0
    carry_out(prepare(path), path.parent / "run")
    before = kinds(path.parent / "run")
    code, out, _ = call(monkeypatch, capsys, "cancel", path.parent / "run")
    assert (code, kinds(path.parent / "run")) == (0, before)
    assert "No jobs are queued." in out


def test_a_service_out_of_reach_is_said_and_is_no_error(study, monkeypatch, capsys):
    from aqka import InputError

    _, path = study
    run = die_waiting(path)

    def unreachable(_):
        raise InputError("IBM's service gave no device")

    monkeypatch.setattr("aqka.study.backends.ibm_device", unreachable)
    code, out, _ = call(monkeypatch, capsys, "status", run, "--json")
    assert code == 0
    (job,) = json.loads(out)["jobs"]
    assert (job["job_id"], job["state"][:9]) == ("fake000001", "not known")
