import copy
import gc
import os
import signal

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

# The cores are busy with test processes: more threads in each would only wait for each other.
# The variables are for libraries that are loaded later, and for children.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
threadpool_limits(1)

# A shell starts what it puts in the background with Ctrl-C ignored, and children inherit that;
# the tests that press Ctrl-C would then wait in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples are derived from the test itself, so that a run can be repeated.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


def pytest_collection_finish():
    """Leave modules and collected tests, which stay to the end, out of garbage collections."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter):
    """Print what tests have to tell at the end, also when they ran in several processes."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties:
            if name == "summary":
                terminalreporter.write_line(value)


def make_kernel(n_points, seed=0, scale=0.3):
    """An RBF kernel with entries inside (0, 1) and a unit diagonal."""
    x = np.random.default_rng(seed).normal(size=(n_points, 3))
    return np.exp(-scale * np.sum((x[:, None] - x) ** 2, axis=2))


def make_noisy_kernel(n_points=20, seed=0, shots=10):
    """A kernel of measured entries, symmetric but not positive."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.binomial(shots, make_kernel(n_points)) / shots)
    return upper + np.triu(upper, 1).T


def make_labels(n_points):
    return np.where(np.arange(n_points) % 2, 1.0, -1.0)


@pytest.fixture(scope="session", autouse=True)
def _no_waits():
    """Try again at once what fails for a passing reason."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("aqka.runs.spend.FIRST_WAIT", 0.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def _plain_models_once():
    """Tune the plain models beside a run once for the same points, not for each of many runs."""
    from aqka.study import results

    known, tune = {}, results.plain_predictions

    def remembered(*given):
        key = tuple((array.shape, array.dtype.str, repr(array.tolist())) for array in given)
        if key not in known:
            known[key] = tune(*given)
        return copy.deepcopy(known[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "plain_predictions", remembered)
        yield


@pytest.fixture
def kernel():
    return make_kernel(12)


@pytest.fixture
def labels():
    return make_labels(12)
