"""Learners: from a kernel estimate to a fitted head, one file each."""

from aqka._util.registry import make, names
from aqka.learners._base import Decided, Estimate, FittedHead, Learner, labels_of, winner_of

DEFAULT_LEARNER = "ridge-noise"  # for pairs
__all__ = [
    "DEFAULT_LEARNER",
    "Decided",
    "Estimate",
    "FittedHead",
    "Learner",
    "labels_of",
    "learner_names",
    "make_learner",
    "winner_of",
]


def learner_names() -> list[str]:
    """Return the names of all learners.

    >>> learner_names()
    ['balanced', 'ridge', 'ridge-kfold', 'ridge-loo', 'ridge-noise', 'svm']
    """
    return names(__name__, Learner)


def make_learner(learner: str | Learner) -> Learner:
    """Return the learner of that name with its defaults, or the given one."""
    return make(__name__, Learner, learner)  # type: ignore[type-abstract]
