"""The three real data sets of Appendices C.8 and C.16."""

from collections.abc import Callable
from functools import partial

from aqka_research.chosen_tasks import labelled
from aqka_research.tasks import Task, breast_cancer_rbf, digits_rbf

DATA: dict[str, Callable[..., Task]] = {
    "breast-cancer": breast_cancer_rbf,
    "digits 3-vs-5": partial(digits_rbf, 3, 5),
    "digits 0-vs-8": partial(digits_rbf, 0, 8),
}


CHOSEN = " (scaling and γ were chosen to match it)"
"""Said of every number of the exact kernels: agreement with them is no evidence of its own."""


def real_task(data: str, seed: int, protocol: str, n_train: int | None = None) -> Task:
    """Return a data set's task, at the paper's size unless another is given."""
    return labelled(protocol, _data_task, data, seed, n_train)


def _data_task(data: str, seed: int, n_train: int | None) -> Task:
    size = {} if n_train is None else {"n_train": n_train}
    return DATA[data](seed=seed, **size)
