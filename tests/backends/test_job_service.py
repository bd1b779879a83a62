import pytest
import qiskit_ibm_runtime
from qiskit_ibm_runtime.api.exceptions import RequestsApiError
from qiskit_ibm_runtime.exceptions import IBMNotAuthorizedError

from aqka.backends import job_service
from aqka.backends._jobs import ibm


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


def test_ibm_refusal_of_the_open_plan_falls_back(monkeypatch):
    modes = ("session", "batch")
    assert job_service.open_best(ibm_service(monkeypatch), modes) == ("session", "session")
    assert job_service.open_best(ibm_service(monkeypatch, OPEN_PLAN), modes) == (
        "batch",
        "batch",
    )
    assert job_service.open_best(ibm_service(monkeypatch, OPEN_PLAN, OPEN_PLAN), modes) == (
        "job",
        None,
    )


@pytest.mark.parametrize(
    "error", [IBMNotAuthorizedError("401 wrong token"), RequestsApiError("500", 500)]
)
def test_other_errors_of_ibm_do_not_fall_back(monkeypatch, error):
    with pytest.raises(type(error)):
        job_service.open_best(ibm_service(monkeypatch, error), ("session", "batch"))
