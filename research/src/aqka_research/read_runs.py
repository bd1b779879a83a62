"""Runs under a reading of the paper: common random numbers, and nothing computed twice."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray, IntArray, digest
from aqka.allocators import Allocation, Allocator, make_allocator
from aqka.allocators.schedule import Schedule
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks
from aqka.core.problem import Problem
from aqka.designs import Pairs
from aqka.designs.pairs import PairEstimate
from aqka.maths.spectrum import Spectrum
from aqka.sessions import Training
from aqka_research.common_shots import CommonShots
from aqka_research.paper_arms import arm_as_read, uses_estimated_variance
from aqka_research.paper_reading import PaperReading
from aqka_research.protocols import reading_of
from aqka_research.results import Row
from aqka_research.switched_variance import forget_spectra, shared_spectrum
from aqka_research.tasks import Task

COUNTED = ("diagonal", "variance", "unseen")
"""The switches that reach the runs of an arm that looks at estimated variances."""

MOST_KEPT = 450
"""Runs kept in memory: those of one seed, which several experiments and readings share."""


@dataclass(frozen=True, eq=False)
class PairNumbers:
    """What a round measures, by the numbers of pairs: without the points they are of."""

    index: IntArray
    shots: IntArray
    landmarks: Landmarks | None


class SharedEstimate(PairEstimate):
    """What a run measured, decomposed once for all runs and learners that ended at the same."""

    def spectrum(self, weights: FloatArray | None = None) -> Spectrum:
        """Return the decomposition; the points of a task have no weights."""
        return shared_spectrum(self.kernel)


@dataclass(frozen=True)
class NumberedPairs(Pairs):
    """Pairs whose plans are no more than their numbers, since nothing else measures them."""

    def plan(self, table: PairTable, shots: IntArray, landmarks: Landmarks | None) -> Any:
        """Return the numbers of the pairs that get shots."""
        index = np.flatnonzero(shots)
        return PairNumbers(index, shots[index], landmarks)

    def read(
        self,
        table: PairTable,
        problem: Problem,
        landmarks: Landmarks | None = None,
        confusion: FloatArray | None = None,
    ) -> PairEstimate:
        """Return the kernel that the counts give."""
        return SharedEstimate(table, problem, landmarks)


class ReadRun(Training):
    """A finished run that remembers what was made of it."""

    rows: dict[str, Row]
    measured = 0

    @property
    def shots_measured(self) -> int:
        """Shots in the table, without adding them up again."""
        return self.measured

    def spend_all(self, shots: CommonShots) -> "ReadRun":
        """Run every round: as ask and tell do, without the checks of what a user may answer."""
        self.rows = {}
        self.design = NumberedPairs()
        # The numbers of pairs in the table of common shots, which has the diagonal.
        numbers = np.arange(shots.n_pairs)
        if self.table.diagonal == "known":
            numbers = shots.index(*self.table.pairs())
        while not self.done:
            plan: Any = self._next_plan()
            index, added, table = plan.index, plan.shots, self.table
            had = table.shots[index]
            hits = shots.hits_after(had, numbers[index], added, self.round)
            table.shots[index] = had + added
            table.hits[index] += hits
            self.landmarks = plan.landmarks or self.landmarks
            self.measured += int(added.sum())
            self.round += 1
        return self

    def _allocate(self, shots: int, rng: np.random.Generator) -> Allocation:
        """Ask the allocator, which is one of ours."""
        return self.allocator.ask(self.table, self.problem, shots, rng)

    def row_once(self, name: str, make: Callable[[], Row]) -> Row:
        """Return a copy of the row of that name, made at the first call."""
        if name not in self.rows:
            self.rows[name] = make()
        return dict(self.rows[name])


@lru_cache(maxsize=8)
def _task_digest(task: Task) -> str:
    """Return what stands for a task: a task that is made again is the same one."""
    arrays = (task.kernel, task.test_kernel, task.y)
    return " ".join((*(digest(array) for array in arrays), repr(task.ridge)))


@lru_cache(maxsize=8)
def _problem(task: Task, protocol: str) -> Problem:
    return Problem(task.y, task.ridge, reading=reading_of(protocol), true_kernel=task.kernel)


@lru_cache(maxsize=4)
def _common_shots(task: Task, seed: int) -> CommonShots:
    """Return the shots of a task, which runs share: each keeps count of its own."""
    return CommonShots(task.kernel, seed)


@lru_cache(maxsize=512)
def _relevant(protocol: str, switches: tuple[str, ...]) -> PaperReading:
    return PaperReading.named(protocol).restricted_to(switches)


def made_once(session: Training, name: str, make: Callable[[], Row]) -> Row:
    """Return the row that ``make`` makes of a session, which a run under a reading remembers."""
    return session.row_once(name, make) if isinstance(session, ReadRun) else make()


def forget_runs() -> None:
    """Forget all runs and decompositions; those of another seed are no use."""
    _kept.clear()
    forget_spectra()


_kept: OrderedDict[tuple[object, ...], ReadRun] = OrderedDict()


def read_run(
    task: Task,
    method: str | Allocator,
    budget: int,
    protocol: str,
    seed: int,
    schedule: Schedule | None = None,
    measured: FloatArray | None = None,
) -> ReadRun:
    """Return a finished run under a reading; the same one wherever the reading makes none.

    ``measured`` is the kernel that shots follow where it is not the task's own, as on a noisy
    device.
    """
    reading = PaperReading.named(protocol)
    allocator, chosen = arm_as_read(make_allocator(method), schedule, reading, budget)
    relevant = COUNTED if uses_estimated_variance(allocator) else ("diagonal",)
    shots = "the task's" if measured is None else digest(measured)
    key = (
        _task_digest(task),
        shots,
        budget,
        seed,
        (type(allocator), allocator),
        chosen,
        _relevant(protocol, relevant),
    )
    if key not in _kept:
        session = ReadRun(_problem(task, protocol), budget, allocator, chosen, seed)
        drawn = _common_shots(task, seed) if measured is None else CommonShots(measured, seed)
        _kept[key] = session.spend_all(drawn)
        if len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    return _kept[key]
