import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from aqka._util.arrays import FEWEST_ROWS, digest, threads_for


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


def test_digests_do_not_see_last_bits_but_all_else():
    """Another processor's sums differ by a few parts in 10^16; counts and signs are exact."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(30, 7))
    rounded = numbers * (1 + 4e-16 * rng.integers(-1, 2, size=numbers.shape))
    assert not np.array_equal(numbers, rounded)
    assert digest(numbers) == digest(rounded)
    assert digest(np.array([0.0, 1.0])) == digest(np.array([-0.0, 1.0]))
    others = (numbers * (1 + 1e-6), numbers.T, numbers.ravel(), numbers[:-1], -numbers)
    assert len({digest(numbers), *map(digest, others)}) == 6
    assert digest(np.array([2**40])) != digest(np.array([2**40 + 1]))
