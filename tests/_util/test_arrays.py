import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from aqka._util.arrays import FEWEST_ROWS, threads_for


def numpy_threads():
    """Threads of numpy's own BLAS; what else a process has loaded may not go by the limits."""
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info() if "numpy" in pool["filepath"]}


@pytest.mark.parametrize(("n_rows", "within"), [(FEWEST_ROWS - 1, {1}), (FEWEST_ROWS, {2})])
def test_small_matrices_take_one_thread_and_give_the_others_back(n_rows, within):
    with threadpool_limits(2, user_api="blas"):
        assert numpy_threads() == {2}
        with threads_for(n_rows):
            assert numpy_threads() == within
        assert numpy_threads() == {2}
