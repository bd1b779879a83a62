"""How many threads linear algebra takes."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

FEWEST_ROWS = 1000  # below, the threads of BLAS wait for each other longer than they work


@contextmanager
def threads_for(n_rows: int) -> Iterator[None]:
    """Use one thread of BLAS within the block for matrices of few rows; else leave it as it is.

    Many small products one after the other are ten times slower with two threads on a busy
    machine of two cores than with one.
    """
    if n_rows >= FEWEST_ROWS:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    """Return what sets the threads; to find the libraries takes longer than a small fit."""
    return ThreadpoolController()
