import pytest
import qiskit_ibm_runtime
from qiskit_ibm_runtime.api.exceptions import RequestsApiError
from qiskit_ibm_runtime.exceptions import IBMNotAuthorizedError

from aqka.backends import RuntimeBackend
from aqka.backends._jobs import ibm
from aqka.core import ShotPlan
from tests.fake_runtime import FakeRuntime


def ibm_service(monkeypatch, session_error=None, batch_error=None):
    """IBM's client with its two modes replaced."""

    def maker(name, error):
        def make(backend):
            if error is not None:
                raise error
            return name

        return make

    monkeypatch.setattr(qiskit_ibm_runtime, "Session", maker("session", session_error))
    monkeypatch.setattr(qiskit_ibm_runtime, "Batch", maker("batch", batch_error))
    return ibm.IbmService("device", {})


OPEN_PLAN = RequestsApiError(
    '400 Client Error. {"errors":[{"code":1352,"message":"You are not authorized to run a '
    'session when using the open plan."}]}',
    400,
)


def opened(service):
    service.open_first(("session", "batch"))
    return service.mode, service.handle


def test_ibm_refusal_of_the_open_plan_falls_back(monkeypatch):
    assert opened(ibm_service(monkeypatch)) == ("session", "session")
    assert opened(ibm_service(monkeypatch, OPEN_PLAN)) == ("batch", "batch")
    assert opened(ibm_service(monkeypatch, OPEN_PLAN, OPEN_PLAN)) == ("job", None)


@pytest.mark.parametrize(
    "error", [IBMNotAuthorizedError("401 wrong token"), RequestsApiError("500", 500)]
)
def test_other_errors_of_ibm_do_not_fall_back(monkeypatch, error):
    with pytest.raises(type(error)):
        opened(ibm_service(monkeypatch, error))


class Clock:
    """Time that passes only where somebody waits."""

    def __init__(self):
        self.now, self.waited = 0.0, []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.waited.append(seconds)
        self.now += seconds


def test_jobs_are_created_five_a_minute(tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(ibm, "time", clock)
    service = FakeRuntime(tmp_path, pace=ibm.Pace())
    train = RuntimeBackend(service, [[0.1, 0.2], [0.4, 0.3]])
    test, created = train.with_points([[0.3, 0.3]]), []
    for k in range(12):
        (train, test)[k % 2].submit(ShotPlan([0], [0], [5]), f"t{k}")
        created.append(clock.now)
        clock.now += 7.0
    assert service.submissions == 12
    for k in range(5, 12):
        assert created[k] - created[k - 5] >= 60.0
    assert clock.waited == [25.0, 25.0]


def test_jobs_of_ibm_share_one_pace():
    assert ibm.IbmService("device", {}).pace is ibm.IbmService("other", {}).pace is not None
