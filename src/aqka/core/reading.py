"""How a table of counts is read as a kernel: the paper's way and the fair way."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.extent import Diagonal
from aqka.core.pairs import PairTable
from aqka.errors import InputError


@dataclass(frozen=True)
class Reading:
    """What is measured and how the unmeasured is read.

    Attributes
    ----------
    name
        What the reading is called in results.
    diagonal
        Whether K_ii costs shots; see :class:`~aqka.core.PairTable`.
    unseen
        What a pair without shots reads: ``"zero"``, or the ``"mean"`` of the seen pairs.
    learner
        The learner that an experiment reads its runs by.
    """

    name: str
    diagonal: Diagonal
    unseen: Literal["zero", "mean"]
    learner: str

    def __post_init__(self) -> None:
        for name, known in (("diagonal", ("known", "measured")), ("unseen", ("zero", "mean"))):
            if getattr(self, name) not in known:
                raise InputError(f"{name} must be one of {known}, got {getattr(self, name)!r}.")

    def describe(self) -> str:
        """Return the settings as ledgers write them; tags depend on this text."""
        return (
            f"Reading(name={self.name!r}, diagonal={self.diagonal!r}, unseen={self.unseen!r}, "
            f"learner={self.learner!r})"
        )

    def kernel(self, table: PairTable) -> FloatArray:
        """Return the N-by-N estimate K-hat (Algorithm 1, line 5, before projection)."""
        k_hat = table.estimate()
        if self.unseen == "mean":
            k_hat = np.where(table.unseen, self._prior(table), k_hat)
        return table.square(k_hat)

    def deviation(self, table: PairTable) -> FloatArray:
        """Return the Bernoulli standard deviation sqrt(K (1 - K)) per pair (Eq. 11).

        The paper plugs in K-hat itself, so that a pair seen once has deviation 0. Read with a
        prior, every pair gets one pseudo-shot at the mean kernel value first.
        """
        k = table.estimate()
        if self.unseen == "mean":
            k = (table.hits + self._prior(table)) / (table.shots + 1)
        return np.sqrt(k * (1 - k))

    def _prior(self, table: PairTable) -> FloatArray:
        """Mean of the seen off-diagonal entries; a measured diagonal is expected at 1."""
        diagonal = table.on_diagonal()
        seen = ~table.unseen & ~diagonal
        mean = float(table.estimate()[seen].mean()) if seen.any() else 0.0
        return np.where(diagonal, 1.0, mean)


PAPER = Reading("paper", diagonal="measured", unseen="zero", learner="ridge")
FAIR = Reading("fair", diagonal="known", unseen="mean", learner="ridge-kfold")


def as_reading(reading: "str | Reading") -> Reading:
    """Return the reading of that name, or the given one."""
    if isinstance(reading, Reading):
        return reading
    known = {known.name: known for known in (PAPER, FAIR)}
    if not isinstance(reading, str) or reading not in known:
        raise InputError(f"reading must be one of {sorted(known)}, got {reading!r}.")
    return known[reading]
