"""Runs under a reading of the paper: common random numbers, and nothing computed twice."""

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache

from aqka._util.arrays import FloatArray, digest
from aqka.allocators import Allocator, make_allocator
from aqka.allocators.schedule import Schedule
from aqka.core.plans import ShotPlan
from aqka.core.problem import Problem
from aqka.sessions import Training
from aqka_research.common_shots import CommonShots
from aqka_research.paper_arms import arm_as_read, uses_estimated_variance
from aqka_research.paper_reading import PaperReading
from aqka_research.protocols import reading_of
from aqka_research.results import Row
from aqka_research.tasks import Task

MOST_KEPT = 450
"""Runs kept in memory: those of one seed, which several experiments and readings share."""


class ReadRun(Training):
    """A finished run that remembers what was made of it."""

    rows: dict[str, Row]

    def spend_all(self, shots: CommonShots) -> "ReadRun":
        """Run every round."""
        self.rows = {}
        while not self.done:
            plan = self.ask()
            assert isinstance(plan, ShotPlan)
            self.tell(shots.hits(plan, self.round))
        return self

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


def made_once(session: Training, name: str, make: Callable[[], Row]) -> Row:
    """Return the row that ``make`` makes of a session, which a run under a reading remembers."""
    return session.row_once(name, make) if isinstance(session, ReadRun) else make()


def forget_runs() -> None:
    """Forget all runs; those of another seed are no use."""
    _kept.clear()


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
    counted = ("diagonal", "variance", "unseen") if uses_estimated_variance(allocator) else ()
    relevant = reading.restricted_to({"diagonal", *counted}).name
    kernel = task.kernel if measured is None else measured
    shots = "the task's" if measured is None else digest(measured)
    key = (
        _task_digest(task),
        shots,
        budget,
        seed,
        allocator.describe(),
        chosen.describe(),
        relevant,
    )
    if key not in _kept:
        session = ReadRun(_problem(task, protocol), budget, allocator, chosen, seed)
        _kept[key] = session.spend_all(CommonShots(kernel, seed))
        if len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    return _kept[key]
