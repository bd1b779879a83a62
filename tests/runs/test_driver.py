"""Runs with a ledger: resumed, refused, interrupted, and on backends that fail."""

import shutil

import numpy as np
import pytest
from qiskit_ibm_runtime.fake_provider import FakeTorino

from aqka import (
    InputError,
    JobError,
    LedgerError,
    MatrixBackend,
    Schedule,
    StatevectorBackend,
    TransientError,
    acquire,
)
from aqka.allocators.baselines import Shofar
from aqka.backends import JobShape, RuntimeBackend
from aqka.backends.sentinel import SentinelBackend
from aqka.runs.audit import verify
from aqka.runs.ledger import LEDGER_NAME, Ledger
from tests.conftest import make_kernel, make_labels
from tests.fake_runtime import FakeRuntime

KERNEL, Y = make_kernel(12), make_labels(12)


def kinds(directory):
    with Ledger(directory / LEDGER_NAME) as ledger:
        return [entry.kind for entry in ledger.read()]


class Stumbling(MatrixBackend):
    """Raises the errors of a list, one per call of a step, then works."""

    def __init__(self, step, errors):
        super().__init__(KERNEL)
        self.step, self.errors, self.calls = step, list(errors), 0

    def _stumble(self, step):
        if step == self.step:
            self.calls += 1
            if self.errors and (error := self.errors.pop(0)) is not None:
                raise error

    def submit(self, plan, tag):
        self._stumble("submit")
        return super().submit(plan, tag)

    def collect(self, ticket):
        self._stumble("collect")
        return super().collect(ticket)

    def fingerprint(self):
        return "stumbling"


def test_a_ledger_changes_nothing_and_tells_the_whole_story(tmp_path):
    plain = acquire(MatrixBackend(KERNEL), Y, 500, "aqka", seed=2)
    kept = acquire(MatrixBackend(KERNEL), Y, 500, "aqka", seed=2, directory=tmp_path)
    np.testing.assert_array_equal(kept.table.hits, plain.table.hits)
    story = ["started", *["planned", "submitted", "collected"] * 5, "finished"]
    assert kinds(tmp_path) == story


def test_a_finished_run_is_returned_without_a_shot(tmp_path):
    first = acquire(MatrixBackend(KERNEL), Y, 500, directory=tmp_path)
    idle = Stumbling("submit", [AssertionError("no shot may be asked for")])
    idle.fingerprint = MatrixBackend(KERNEL).fingerprint
    again = acquire(idle, Y, 500, directory=tmp_path)
    np.testing.assert_array_equal(again.table.hits, first.table.hits)
    assert kinds(tmp_path)[-1] == "finished"


@pytest.mark.parametrize("allocator", ["aqka", "hybrid", "uniform"])
@pytest.mark.parametrize("step", ["submit", "collect"])
def test_ctrl_c_and_resume_end_as_if_nothing_had_happened(tmp_path, allocator, step):
    whole = acquire(MatrixBackend(KERNEL), Y, 500, allocator)
    stops = [None, KeyboardInterrupt()] if whole.rounds_total > 1 else [KeyboardInterrupt()]
    backend = Stumbling(step, stops)
    with pytest.raises(KeyboardInterrupt):
        acquire(backend, Y, 500, allocator, directory=tmp_path)
    assert kinds(tmp_path)[-1] == "interrupted"
    resumed = acquire(Stumbling("", []), Y, 500, allocator, directory=tmp_path)
    np.testing.assert_array_equal(resumed.table.hits, whole.table.hits)
    np.testing.assert_array_equal(resumed.table.shots, whole.table.shots)
    assert "resumed" in kinds(tmp_path)
    if whole.landmarks is not None:
        np.testing.assert_array_equal(resumed.landmarks.points, whole.landmarks.points)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"y": -Y + (np.arange(12) == 0) * 2 * Y}, "labels"),
        ({"backend": MatrixBackend(0.9 * KERNEL)}, "backend"),
        ({"backend": MatrixBackend(KERNEL, seed=9)}, "backend"),
        ({"budget": 501}, "budget"),
        ({"allocator": "random"}, "allocator"),
        ({"allocator": Shofar(threshold=0.1)}, "allocator"),
        ({"schedule": Schedule(rounds=3)}, "schedule"),
        ({"reading": "paper"}, "reading"),
        ({"ridge": 0.02}, "ridge"),
        ({"C": 1.0}, "C"),
        ({"seed": 1}, "seed"),
        ({"true_kernel": KERNEL}, "true_kernel"),
    ],
)
def test_another_run_is_refused_and_what_differs_is_named(tmp_path, change, named):
    arguments = {"backend": MatrixBackend(KERNEL), "y": Y, "budget": 500, "directory": tmp_path}
    acquire(**arguments)
    before = kinds(tmp_path)
    with pytest.raises(LedgerError, match=rf"these differ: {named} \(there .*, now .*\)\. Resume"):
        acquire(**{**arguments, **change})
    assert kinds(tmp_path) == before


def test_the_fingerprint_tells_circuits_and_data_apart():
    x = np.random.default_rng(0).random((4, 2))
    same = StatevectorBackend(x).fingerprint()
    assert StatevectorBackend(x).fingerprint() == same
    assert StatevectorBackend(x + 0.1).fingerprint() != same
    assert StatevectorBackend(x, seed=1).fingerprint() != same


@pytest.mark.parametrize("step", ["submit", "collect"])
def test_passing_errors_are_waited_out(tmp_path, step):
    backend = Stumbling(step, [TransientError("network")] * 3)
    session = acquire(backend, Y, 500, "aqka", directory=tmp_path)
    assert session.done
    assert backend.calls == 5 + 3
    assert kinds(tmp_path).count("planned") == 5


def test_errors_that_do_not_pass_stop_the_run_which_can_be_resumed(tmp_path):
    backend = Stumbling("collect", [TransientError("network")] * 6)
    with pytest.raises(TransientError):
        acquire(backend, Y, 500, directory=tmp_path)
    assert kinds(tmp_path) == ["started", "planned", "submitted"]
    assert acquire(Stumbling("", []), Y, 500, directory=tmp_path).done


@pytest.mark.filterwarnings("ignore:round . failed")
def test_a_failed_rounds_shots_go_to_the_next(tmp_path):
    backend = Stumbling("collect", [None, JobError("cancelled"), None])
    totals = []
    session = acquire(
        backend, Y, 500, "aqka", directory=tmp_path, on_round=lambda s: totals.append(s.table.total)
    )
    assert totals == [100, 100, 300, 400, 500]
    assert session.done
    assert kinds(tmp_path).count("failed") == 1
    again = acquire(Stumbling("", []), Y, 500, "aqka", directory=tmp_path)
    np.testing.assert_array_equal(again.table.hits, session.table.hits)


@pytest.mark.filterwarnings("ignore:round . failed")
def test_the_last_round_may_fail_too(tmp_path):
    backend = Stumbling("collect", [None] * 4 + [JobError("cancelled")])
    assert acquire(backend, Y, 500, directory=tmp_path).table.total == 500


@pytest.mark.filterwarnings("ignore:round . failed")
def test_rounds_that_keep_failing_stop_the_run(tmp_path):
    backend = Stumbling("collect", [JobError("cancelled")] * 3)
    with pytest.raises(JobError, match="3 rounds in a row gave no shots"):
        acquire(backend, Y, 500, directory=tmp_path)
    assert acquire(Stumbling("", []), Y, 500, directory=tmp_path).table.total == 500


def test_a_failure_is_told():
    with pytest.warns(RuntimeWarning, match="round 0 failed: cancelled"):
        acquire(Stumbling("collect", [JobError("cancelled")]), Y, 500)


def points():
    return np.random.default_rng(0).uniform(0, 1, (6, 2))


def test_a_job_that_finishes_while_nobody_watches_is_collected_not_run_again(tmp_path):
    service = FakeRuntime(tmp_path / "service")
    labels = make_labels(6)

    class Dying(RuntimeBackend):
        def collect(self, ticket):
            raise SystemExit("the process dies while the job runs")

    with pytest.raises(SystemExit):
        acquire(Dying(service, points()), labels, 300, "aqka", directory=tmp_path / "run")
    assert service.submissions == 1
    other = RuntimeBackend(FakeRuntime(tmp_path / "service"), points())
    other.fingerprint = Dying(service, points()).fingerprint
    session = acquire(other, labels, 300, "aqka", directory=tmp_path / "run")
    assert session.table.total == 300
    assert service.submissions == 5


@pytest.mark.filterwarnings("ignore:round . failed")
def test_what_a_failed_round_did_bring_is_kept(tmp_path, monkeypatch):
    """One of a round's jobs is cancelled: the other's hits count, only the rest is run again."""
    monkeypatch.setattr("aqka.backends._jobs.rows.MAX_EXECUTIONS", 40)
    service = FakeRuntime(tmp_path / "service")
    labels = make_labels(6)
    backend = RuntimeBackend(service, points(), jobs=JobShape(quantum=1))
    collect, cancelled = backend.collect, []

    def cancel_once(ticket):
        if not cancelled:
            cancelled.append(ticket.partition(":")[0].split("+")[1])
            service.cancel(cancelled[0])
        return collect(ticket)

    backend.collect = cancel_once
    session = acquire(backend, labels, 300, "aqka", directory=tmp_path / "run")
    with Ledger(tmp_path / "run" / LEDGER_NAME) as ledger:
        (failed,) = (e for e in ledger.read() if e.kind == "failed")
    # The warm-up's 60 shots were two jobs, of 40 and of 20; the second was cancelled.
    assert failed.arrays["shots"].sum() == 40
    assert np.all(failed.arrays["hits"] <= failed.arrays["shots"])
    assert session.table.total == 300


class DyingOnce(RuntimeBackend):
    """Dies after IBM took the second job, before its ticket is stored."""

    submits = 0

    def submit(self, plan, tag):
        ticket = super().submit(plan, tag)
        self.submits += 1
        if self.submits == 2:
            raise SystemExit
        return ticket


def test_a_run_with_sentinels_is_resumed_too(tmp_path):
    service = FakeRuntime(tmp_path / "service")
    watched = SentinelBackend(DyingOnce(service, points()), [0, 1], shots=5)
    with pytest.raises(SystemExit):
        acquire(watched, make_labels(6), 100, "aqka", directory=tmp_path / "run")
    assert service.submissions == 2
    again = SentinelBackend(DyingOnce(FakeRuntime(tmp_path / "service"), points()), [0, 1], shots=5)
    again.backend.submits = 2
    session = acquire(again, make_labels(6), 100, "aqka", directory=tmp_path / "run")
    assert session.table.total == 100
    assert service.submissions == 5
    plain = SentinelBackend(MatrixBackend(KERNEL), [0], shots=5)
    assert acquire(plain, Y, 100, "aqka", directory=tmp_path / "plain").done


def test_a_token_is_never_written(tmp_path):
    token = "marker-token-7f3a"

    class Service(FakeRuntime):
        secret = token

        def __repr__(self):
            return f"Service({token})"

    service = Service(tmp_path / "service")
    service.target.token = token
    backend = RuntimeBackend(service, points())
    acquire(backend, make_labels(6), 100, directory=tmp_path / "run")
    with pytest.raises(LedgerError) as refused:
        acquire(backend, make_labels(6), 101, directory=tmp_path / "run")
    assert token not in str(refused.value)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == LEDGER_NAME for path in written)
    for path in written:
        assert token.encode() not in path.read_bytes(), path


def test_the_ledger_says_which_device_ran_and_how_long(tmp_path):
    service = FakeRuntime(tmp_path / "service", seconds=3.0)
    acquire(RuntimeBackend(service, points()), make_labels(6), 100, directory=tmp_path / "run")
    with Ledger(tmp_path / "run" / LEDGER_NAME) as ledger:
        entries = ledger.read()
    submitted = next(e for e in entries if e.kind == "submitted")
    collected = next(e for e in entries if e.kind == "collected")
    assert submitted.body["backend"] == service.target.name
    assert collected.body["qpu_seconds"] == 3.0
    assert submitted.at <= collected.at


@pytest.mark.parametrize("used", [float("nan"), -3.0, float("inf"), "no idea", None])
def test_a_bill_that_nobody_knows_makes_no_counts_unusable(tmp_path, used):
    class Vague(MatrixBackend):
        @property
        def usage(self):
            return dict.fromkeys(self.collected, used)

        def collect(self, ticket):
            self.collected = [ticket]
            return super().collect(ticket)

    first = acquire(Vague(KERNEL), Y, 300, "aqka", directory=tmp_path)
    assert verify(tmp_path).sound
    assert verify(tmp_path).qpu_seconds is None
    with Ledger(tmp_path / LEDGER_NAME) as ledger:
        assert {e.body["qpu_seconds"] for e in ledger.read() if e.kind == "collected"} == {None}
    again = acquire(Vague(KERNEL), Y, 300, "aqka", directory=tmp_path)
    np.testing.assert_array_equal(again.table.hits, first.table.hits)


def test_an_older_copy_of_the_directory_buys_no_job_again(tmp_path):
    service, run, copy = FakeRuntime(tmp_path / "service"), tmp_path / "run", tmp_path / "copy"

    def keep_a_copy(session):
        if session.round == 2:
            shutil.copytree(run, copy)

    def spend(directory, on_round=None):
        backend = RuntimeBackend(service, points())
        options = {"directory": directory, "on_round": on_round}
        return acquire(backend, make_labels(6), 300, "aqka", **options)

    whole = spend(run, keep_a_copy)
    assert service.submissions == 5
    again = spend(copy)
    assert service.submissions == 5
    np.testing.assert_array_equal(again.table.hits, whole.table.hits)
    assert verify(copy).finished


def test_a_fake_device_tells_its_calibration():
    assert RuntimeBackend(FakeTorino(), points()).calibrated_at.startswith("20")


def test_a_directory_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises((InputError, LedgerError), match="directory"):
        acquire(MatrixBackend(KERNEL), Y, 100, directory=tmp_path / "file")
