"""What IBM says of a failure, without what it should not have said."""

import numpy as np
import pytest
import typer
from qiskit_ibm_runtime.api.exceptions import RequestsApiError
from qiskit_ibm_runtime.exceptions import IBMRuntimeError, RuntimeJobFailureError

from aqka import JobError, MatrixBackend, TransientError, acquire
from aqka.backends import RuntimeBackend
from aqka.backends.job_service import tell_passing_errors, wait_for_result
from aqka.cli.options import leaving_resumable
from aqka.runs.ledger import LEDGER_NAME, Ledger
from tests.fake_runtime import FakeJob, FakeRuntime

KEY = "fAkE0key-aQ9_zT4bN7mX2cV6wL8rJ1sD5hG3kP0yU9i"  # as long as IBM's
SAID = f"1234: job refused for apikey {KEY} (Authorization: Bearer {KEY[:20]})"
X = np.random.default_rng(0).uniform(0, 1, (4, 2))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RequestsApiError(SAID, 400), JobError),
        (RequestsApiError(SAID, 503), TransientError),
        (IBMRuntimeError(SAID), TransientError),
        (OSError(SAID), TransientError),
    ],
)
def test_a_refusal_is_told_without_the_key(error, kind, tmp_path):
    service = FakeRuntime(tmp_path)
    with pytest.raises(kind, match="1234: job refused") as told, tell_passing_errors(service):
        raise error
    assert KEY[:20] not in str(told.value)


class Failed:
    """A job whose failure repeats the key."""

    def job_id(self):
        return "d1k2m3n4p5q6r7s8t9u0"

    def result(self):
        raise RuntimeJobFailureError(SAID)


def test_a_failure_names_the_job_and_not_the_key():
    with pytest.raises(JobError, match=r"d1k2m3n4p5q6r7s8t9u0 failed: .*1234") as told:
        wait_for_result(Failed())
    assert KEY[:20] not in str(told.value)


def test_a_ledger_and_a_terminal_never_see_the_key(tmp_path, monkeypatch, capsys):
    def fails(self):
        raise RuntimeJobFailureError(SAID)

    monkeypatch.setattr(FakeJob, "result", fails)
    backend = RuntimeBackend(FakeRuntime(tmp_path / "service"), X)
    with (
        pytest.warns(RuntimeWarning, match="1234: job refused") as warned,
        pytest.raises(JobError),
    ):
        acquire(
            backend,
            [1, -1, 1, -1],
            200,
            "aqka",  # whose first round is not the whole budget
            directory=tmp_path / "run",
        )
    assert not any(KEY[:20] in str(warning.message) for warning in warned)
    with Ledger(tmp_path / "run" / LEDGER_NAME) as ledger:
        reasons = [entry.body["reason"] for entry in ledger.read() if entry.kind == "failed"]
    assert len(reasons) == 3
    assert all("1234: job refused" in reason for reason in reasons)
    for path in tmp_path.glob("run/*"):
        assert KEY[:20].encode() not in path.read_bytes()
    with pytest.raises(typer.Exit), leaving_resumable(tmp_path, "again"):
        raise JobError(SAID)
    assert KEY[:20] not in capsys.readouterr().err


def test_a_backend_of_others_is_cleaned_as_well(tmp_path):
    class Talkative(MatrixBackend):
        def collect(self, ticket):
            raise JobError(SAID)

    with pytest.warns(RuntimeWarning, match="1234"), pytest.raises(JobError):
        acquire(Talkative(np.eye(4)), [1, -1, 1, -1], 200, directory=tmp_path)
    for path in tmp_path.iterdir():
        assert KEY[:20].encode() not in path.read_bytes()
