import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from aqka.maths.threads import FEWEST_POINTS, threads_for


def numpy_threads():
    """Threads of numpy's own BLAS; what else a process has loaded may not go by the limits."""
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info() if "numpy" in pool["filepath"]}


@pytest.mark.parametrize(("n_points", "within"), [(FEWEST_POINTS - 1, {1}), (FEWEST_POINTS, {2})])
def test_small_matrices_take_one_thread_and_give_the_others_back(n_points, within):
    with threadpool_limits(2, user_api="blas"):
        assert numpy_threads() == {2}
        with threads_for(n_points):
            assert numpy_threads() == within
        assert numpy_threads() == {2}
