"""A hundred thousand points of four qubits: fitted, tuned, and ten thousand more predicted.

Neither K nor anything else that grows with the square of the points is ever formed. Drawing the
counts, which a device would do, is not timed.
"""

import multiprocessing
import os
import resource
import threading
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np
from joblib.externals.loky import get_reusable_executor

from aqka._util.arrays import ComplexArray, FloatArray, IntArray
from aqka.backends.statevector import zz_states
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.designs.state_fits import StateFits
from aqka.learners.ridge import RIDGE_GRID
from aqka.maths.product_bases import ProductBases
from aqka.maths.spectrum import FeatureSpectrum
from aqka.maths.state_features import expectations

N_TRAIN, N_NEW, N_QUBITS = 100_000, 10_000, 4
SHOTS = 256
DRAWN_AT_ONCE = 5000


def observable(weights: FloatArray) -> ComplexArray:
    """Return the Hermitian A with Tr ρA = φ(ρ) · w: the whole predictor as one matrix."""
    dimension = int(np.sqrt(len(weights)))
    rows, cols = np.triu_indices(dimension, k=1)
    diagonal, real, imag = np.split(weights, [dimension, dimension + len(rows)])
    upper = np.zeros((dimension, dimension), dtype=np.complex128)
    upper[rows, cols] = (real + 1j * imag) / np.sqrt(2)
    return np.asarray(upper + upper.conj().T + np.diag(diagonal))


def measured(x: FloatArray, settings: IntArray, random: np.random.Generator) -> PointTable:
    """Return the counts of all points, drawn from their exact states."""
    bases, table = ProductBases(settings), PointTable(len(x), settings)
    plan = even_plan(np.arange(len(x)), settings, SHOTS)
    first_rows = np.searchsorted(plan.points, np.arange(0, len(x) + 1, DRAWN_AT_ONCE))
    columns = []
    for start, end in pairwise(first_rows):
        points = plan.points[start:end]
        p = np.abs(bases.amplitudes(zz_states(x[points[0] : points[-1] + 1]))) ** 2
        p /= p.sum(axis=2, keepdims=True)
        chosen = p[points - points[0], plan.settings[start:end]]
        counts = random.multinomial(plan.shots[start:end], chosen).astype(np.int32)
        rows, outcomes = np.nonzero(counts)
        columns.append((rows + start, outcomes, counts[rows, outcomes]))
    answer = OutcomeCounts(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))
    table.add(plan, answer)
    return table


class PeakMemory(threading.Thread):
    """Looks twice a second at the memory of this process and its workers, shared pages once."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.gib, self.stopped = 0.0, threading.Event()

    def run(self) -> None:
        """Keep the largest sum seen."""
        while not self.stopped.wait(0.5):
            children = [child.pid for child in multiprocessing.active_children()]
            total = sum(_proportional_kib(pid) for pid in [os.getpid(), *children] if pid)
            self.gib = max(self.gib, total / 2**20)


def _proportional_kib(pid: int) -> int:
    """Return a process's memory, pages that several share divided among them (Linux)."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:  # it has just ended
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def cpu_seconds() -> float:
    """Return the processor time of this process and its workers, which no neighbour disturbs."""
    # The system counts a worker's time once it has ended, and joblib keeps its workers alive.
    get_reusable_executor().shutdown(wait=True)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@dataclass(frozen=True)
class ManyPoints:
    """Minutes by the clock and of processors, GiB of all processes, and accuracy."""

    minutes: float
    cpu_minutes: float
    gib: float
    accuracy: float


def run() -> ManyPoints:
    """Draw, fit, tune, predict, and print times, memory and accuracy."""
    random = np.random.default_rng(0)
    x = random.uniform(0, 2, size=(N_TRAIN + N_NEW, N_QUBITS))
    anchors = zz_states(random.uniform(0, 2, size=(12, N_QUBITS)))
    signs = np.where(np.arange(12) % 2, 1.0, -1.0)
    target = np.abs(zz_states(x) @ anchors.conj().T) ** 2 @ signs
    y = np.sign(target - np.median(target))
    settings = choose_settings(N_QUBITS, seed=0)
    table = measured(x, settings, random)
    print(f"{table.total:,} shots, {len(table.counts):,} different outcomes", flush=True)

    memory = PeakMemory()
    memory.start()
    begin, cpu_begin = perf_counter(), cpu_seconds()
    states = StateFits()(table)
    fitted = perf_counter()
    train, new = states.vectors[:, :N_TRAIN], states.subset(np.arange(N_TRAIN, len(x)))
    spectrum = FeatureSpectrum.of(states.subset(np.arange(N_TRAIN)).features())
    ridges = np.asarray(RIDGE_GRID)
    errors = np.mean(spectrum.loo_residuals(y[:N_TRAIN], ridges) ** 2, axis=0)
    ridge = float(ridges[np.argmin(errors)])
    operator = observable(spectrum.weights(y[:N_TRAIN], ridge))
    tuned = perf_counter()
    f = expectations(operator, new.vectors)
    end = perf_counter()
    memory.stopped.set()
    found = ManyPoints(
        (end - begin) / 60,
        (cpu_seconds() - cpu_begin) / 60,
        memory.gib,
        float(np.mean(np.sign(f) == y[N_TRAIN:])),
    )
    print(
        f"states of {train.shape[1]:,} + {N_NEW:,} points: {fitted - begin:.0f} s; ridge by "
        f"leave-one-out among {len(ridges)}: {tuned - fitted:.1f} s; predictions: "
        f"{end - tuned:.2f} s; together {found.minutes:.1f} minutes; {found.cpu_minutes:.1f} "
        f"minutes of processor time; peak {found.gib:.1f} GiB with all workers"
    )
    print(
        f"ridge {ridge:.3g}, leave-one-out error {errors.min():.3f}, accuracy on new points "
        f"{found.accuracy:.3f}, converged {np.mean(states.converged):.4f}"
    )
    return found
