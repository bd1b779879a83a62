"""How long a round takes next to one eigendecomposition, and what a run needs."""

import copy
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from aqka import MatrixBackend, Problem, Schedule, Training
from aqka._util.arrays import FloatArray
from aqka.core import PAPER
from aqka_research.benchmarks.bars import Bar, fastest, times
from aqka_research.figures.page import PageRun

ROUND_SIZES = (225, 1000, 3000)
DEFAULT_SIZES = (225, 1000)
MEMORY_SIZE = 5000


def rbf_kernel(n_points: int) -> FloatArray:
    """Return an RBF kernel of normal data in 8 dimensions, as in the planted problem."""
    x = np.random.default_rng(0).normal(size=(n_points, 8))
    return np.asarray(np.exp(-0.1 * cdist(x, x, "sqeuclidean")))


def round_bar(n_points: int) -> Bar:
    """Time one AQKA round after the warm-up against one decomposition of the same matrix."""
    kernel = rbf_kernel(n_points)
    y = np.sign(kernel @ np.random.default_rng(1).normal(size=n_points))
    backend = MatrixBackend(kernel)
    pairs = n_points * (n_points + 1) // 2
    session = Training(Problem(y, reading=PAPER), 4 * pairs, "aqka")
    session.tell(backend.collect(backend.submit(session.ask(), "warm-up")))
    k_hat = session.problem.reading.kernel(session.table)

    def one_round() -> None:
        fresh = copy.copy(session)
        fresh.table = copy.copy(session.table)
        fresh.table.shots, fresh.table.hits = session.table.shots.copy(), session.table.hits.copy()
        fresh.tell(backend.collect(backend.submit(fresh.ask(), fresh.tag)))

    repeats = {225: 30, 1000: 5, 3000: 2}[n_points]
    ours, default, divide = fastest(
        [one_round, lambda: eigh(k_hat), lambda: eigh(k_hat, driver="evd")], repeats
    )
    return Bar(
        f"one round, N = {n_points}",
        f"{times(ours / default)} eigh ({times(ours / divide)} its fastest driver), {ours:.3g} s",
        "≤ 1.5 × eigh",
        ours <= 1.5 * default,
    )


def default_bar(n_points: int) -> Bar:
    """Time the default's allocation and learner together against one decomposition."""
    kernel = rbf_kernel(n_points)
    problem = Problem(np.sign(kernel @ np.random.default_rng(1).normal(size=n_points)))
    backend = MatrixBackend(kernel)
    budget = 4 * n_points * (n_points - 1) // 2
    session = Training(problem, budget)
    while not session.done:
        session.tell(backend.collect(backend.submit(session.ask(), session.tag)))
    k_hat = problem.reading.kernel(session.table)

    def default() -> None:
        Training(problem, budget).ask()
        session.fit()

    with threadpool_limits(1):
        ours, one = fastest([default, lambda: eigh(k_hat)], {225: 30, 1000: 5}[n_points])
    return Bar(
        f"the default's allocation and learner, N = {n_points}, one thread",
        f"{times(ours / one)} eigh, {ours:.3g} s",
        "≤ 3 × eigh",
        ours <= 3 * one,
    )


def memory_bar() -> Bar:
    """Peak memory of a whole run in a process of its own."""
    code = "from aqka_research.benchmarks.speed import run_large; run_large()"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    gibibytes, seconds = (float(word) for word in out.stdout.split())
    return Bar(
        f"peak memory of a run, N = {MEMORY_SIZE}",
        f"{gibibytes:.2f} GiB (a warm-up and 2 rounds, {seconds:.0f} s)",
        "< 2.5 GiB",
        gibibytes < 2.5,
    )


def run_large() -> None:
    """Run AQKA at the largest size and print peak memory in GiB and seconds."""
    start = time.perf_counter()
    kernel = rbf_kernel(MEMORY_SIZE)
    y = np.sign(kernel @ np.random.default_rng(1).normal(size=MEMORY_SIZE))
    backend = MatrixBackend(kernel)
    del kernel
    pairs = MEMORY_SIZE * (MEMORY_SIZE - 1) // 2
    session = Training(Problem(y), 4 * pairs, "aqka", Schedule(rounds=2))
    while not session.done:
        session.tell(backend.collect(backend.submit(session.ask(), session.tag)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # Linux reports KiB
    print(peak, time.perf_counter() - start)


def start_bars() -> list[Bar]:
    """Time the command line's help, and the import next to scikit-learn's."""

    def python(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True)

    help_time, ours, sklearn, bare = fastest(
        [
            python("-m", "aqka", "--help"),
            python("-c", "import aqka"),
            python("-c", "import sklearn"),
            python("-c", "pass"),
        ],
        repeats=7,
    )
    return [
        Bar("aqka --help", f"{help_time:.2f} s", "< 1 s", help_time < 1),
        Bar(
            "import aqka, whose parts are loaded when first used",
            f"{ours - bare:.2f} s; sklearn alone {sklearn - bare:.2f} s",
            "< 0.5 s",
            ours - bare < 0.5,
        ),
    ]


def measure(run: PageRun) -> list[Bar]:
    """Measure every bar."""
    bars = [round_bar(n) for n in run.pick(ROUND_SIZES, ROUND_SIZES[:1], ROUND_SIZES[:1])]
    bars += [default_bar(n) for n in run.pick(DEFAULT_SIZES, DEFAULT_SIZES[:1], ())]
    return [*bars, memory_bar(), *start_bars()] if run.size == "full" else bars
