"""Readouts: from a kernel estimate to a fitted head, one file each."""

from aqka._util.registry import make, names
from aqka.readouts._base import Decided, Estimate, FittedHead, Readout, labels_of

__all__ = [
    "Decided",
    "Estimate",
    "FittedHead",
    "Readout",
    "labels_of",
    "make_readout",
    "readout_names",
]


def readout_names() -> list[str]:
    """Return the names of all readouts.

    Examples
    --------
    >>> readout_names()
    ['balanced', 'ridge', 'ridge-kfold', 'ridge-loo', 'ridge-noise', 'svm']
    """
    return names(__name__, Readout)


def make_readout(readout: str | Readout) -> Readout:
    """Return the readout of that name with its defaults, or the given one."""
    return make(__name__, Readout, readout)  # type: ignore[type-abstract]
