"""Tasks as a protocol has them: the paper's, balanced ones, or those of a reading."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import lru_cache

from aqka_research.protocols import TaskChoices, task_choices
from aqka_research.tasks import Task, planted_sparse, planted_zz

RIDGE = 0.01  # the paper's Table 1


def planted_rbf(protocol: str, points: int, anchors: int, seed: int, n_test: int) -> Task:
    """Return the planted-sparse RBF task of a protocol; ``n_test`` where nothing else is said."""
    return _planted_rbf(task_choices(protocol), points, anchors, seed, n_test)


@lru_cache(maxsize=4)
def _planted_rbf(choices: TaskChoices, points: int, anchors: int, seed: int, n_test: int) -> Task:
    return planted_sparse(
        points,
        choices.n_test(points, n_test),
        anchors,
        seed,
        gamma=choices.gamma,
        ridge=choices.ridge(RIDGE, points),
        largest_class=choices.largest_class,
    )


def planted_quantum(
    protocol: str, seed: int, points: int = 150, anchors: int = 10, n_test: int = 50
) -> Task:
    """Return the planted-sparse ZZ task of a protocol; ``n_test`` where nothing else is said."""
    return _planted_quantum(task_choices(protocol), seed, points, anchors, n_test)


@lru_cache(maxsize=4)
def _planted_quantum(
    choices: TaskChoices, seed: int, points: int, anchors: int, n_test: int
) -> Task:
    return planted_zz(
        points,
        choices.n_test(points, n_test),
        anchors,
        seed,
        ridge=choices.ridge(RIDGE, points),
        span=choices.span,
        largest_class=choices.largest_class,
    )


def labelled(protocol: str, make: Callable[..., Task], *settings: Hashable) -> Task:
    """Return the task that ``make`` makes of labelled data, with the ridge of a protocol."""
    return _labelled(task_choices(protocol).ridge_times_points, make, settings)


@lru_cache(maxsize=4)
def _labelled(
    times_points: bool, make: Callable[..., Task], settings: tuple[Hashable, ...]
) -> Task:
    task = make(*settings)
    ridge = TaskChoices(ridge_times_points=times_points).ridge(task.ridge, len(task.y))
    return replace(task, ridge=ridge)
