"""Where cells are computed: this process, processes on this machine, or a Dask cluster."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import TYPE_CHECKING, Any

from aqka.errors import InputError
from aqka_research.sweep.store import Cell, Result, versions

if TYPE_CHECKING:
    from distributed import Client

ATTEMPTS = 3
"""Workers that may die on a cell before the sweep gives up."""


class _WithoutMain(SpawnProcess):
    """A process that does not import the program that starts it.

    A program without ``if __name__ == "__main__":`` would run once more in every worker, and buy
    its shots again. Cells need it only where their function stands in it.
    """

    def start(self) -> None:
        """Start as if the program had no file."""
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main


class _ContextWithoutMain(SpawnContext):
    Process = _WithoutMain


def _context(function: Callable[[Cell], Result]) -> SpawnContext:
    """Return how processes start: spawned, as a fork copies the locks of BLAS as they are."""
    in_main = function.__module__ == "__main__"
    return multiprocessing.get_context("spawn") if in_main else _ContextWithoutMain()


@dataclass(frozen=True)
class CellOutcome:
    """A result, how long it took by the clock and of the processor, and by which versions."""

    result: Result
    seconds: float
    cpu_seconds: float
    versions: dict[str, str]


def in_this_process(
    function: Callable[[Cell], Result], waiting: dict[str, Cell]
) -> Generator[tuple[str, CellOutcome]]:
    """Compute one cell after the other."""
    from threadpoolctl import threadpool_limits

    for key, cell in waiting.items():
        with threadpool_limits(1):
            outcome = _compute(function, cell)
        yield key, outcome


def on_local_cores(
    function: Callable[[Cell], Result], waiting: dict[str, Cell], count: int
) -> Generator[tuple[str, CellOutcome]]:
    """Compute in ``count`` processes; when one dies, go on with new ones."""
    left = dict(waiting)
    deaths: Counter[str] = Counter()
    while left:
        running: dict[Future[CellOutcome], str] = {}
        others = set(multiprocessing.active_children())
        pool = ProcessPoolExecutor(count, mp_context=_context(function), initializer=_start_worker)
        try:
            queue = iter(list(left.items()))
            while left:
                # No more than there are workers: then whoever a death interrupts was running.
                while len(running) < count and (following := next(queue, None)):
                    key, cell = following
                    running[pool.submit(_compute_in_worker, function, cell)] = key
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    outcome = future.result()
                    key = running.pop(future)
                    del left[key]
                    yield key, outcome
        except BrokenProcessPool:
            suspects = [key for future, key in running.items() if _died(future)]
            deaths.update(suspects)
            if max(deaths.values(), default=0) >= ATTEMPTS:
                cells = "; ".join(str(waiting[key]) for key in suspects)
                raise RuntimeError(
                    f"{ATTEMPTS} worker processes died on one of these cells: {cells}. Is there "
                    "enough memory? All other finished cells are in the store."
                ) from None
        finally:
            if left:  # stopped in the middle: do not wait for cells that nobody wants
                for process in set(multiprocessing.active_children()) - others:
                    process.terminate()
            pool.shutdown(cancel_futures=True)


def on_cluster(
    function: Callable[[Cell], Result],
    waiting: dict[str, Cell],
    scheduler: "str | Client",
) -> Generator[tuple[str, CellOutcome]]:
    """Compute on a Dask cluster, which runs the cells of a dead worker again by itself."""
    try:
        distributed: Any = import_module("distributed")  # its functions carry no types
    except ImportError as error:
        raise InputError(
            "scheduler needs Dask's distributed; pip install 'aqka[cluster]'."
        ) from error

    try:
        client = distributed.Client(scheduler) if isinstance(scheduler, str) else scheduler
    except (OSError, ValueError) as error:
        raise InputError(
            f"scheduler {scheduler!r} does not answer; start one with 'dask scheduler' and pass "
            "the address that it prints, such as tcp://node:8786."
        ) from error
    futures = {}
    try:
        for key, cell in waiting.items():
            # Not pure: two sweeps of one cluster must not share or cancel each other's cells.
            futures[client.submit(_compute_in_worker, function, cell, pure=False)] = key
        for future in distributed.as_completed(list(futures)):
            yield futures[future], future.result()
    finally:
        client.cancel(list(futures))
        if isinstance(scheduler, str):
            client.close()


def _died(future: "Future[CellOutcome]") -> bool:
    return not future.done() or isinstance(future.exception(), BrokenProcessPool)


def _compute(function: Callable[[Cell], Result], cell: Cell) -> CellOutcome:
    start, cpu_start = time.perf_counter(), time.thread_time()
    try:
        result = function(cell)
    except Exception as error:
        error.add_note(f"in the cell {cell}")
        raise
    seconds, cpu_seconds = time.perf_counter() - start, time.thread_time() - cpu_start
    return CellOutcome(result, seconds, cpu_seconds, versions())


def _compute_in_worker(function: Callable[[Cell], Result], cell: Cell) -> CellOutcome:
    from threadpoolctl import threadpool_limits

    # For good, not in a with-block: Dask may run several cells in threads of one process.
    threadpool_limits(1)
    return _compute(function, cell)


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and die with it even when it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # for libraries that are loaded later
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
