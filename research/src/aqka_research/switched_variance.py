"""The paper's reading of counts, with the variance term of line 8 taken from either matrix."""

from collections import OrderedDict
from dataclasses import dataclass, replace

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.pairs import PairTable
from aqka.core.problem import PAPER, Reading
from aqka.maths.sensitivity import SvmSolution, solve_dual
from aqka.maths.spectrum import Spectrum
from aqka_research.paper_reading import PaperReading

MOST_KEPT_BYTES = 96 * 2**20
"""Decompositions kept in memory: many arms and readings look at the same warm-ups."""


@dataclass(frozen=True)
class SwitchedVariance(Reading):
    """As :data:`~aqka.core.PAPER`, but for the diagonal and for sqrt(K̂(1-K̂)).

    Attributes
    ----------
    seen_from, unseen_from
        Where K̂ of that term comes from for pairs with shots (``counts`` or ``projected``) and for
        pairs without (``zero`` or ``filled``); see :class:`PaperReading`.
    """

    seen_from: str = "counts"
    unseen_from: str = "zero"

    @classmethod
    def of(cls, reading: PaperReading) -> "SwitchedVariance":
        """Return how a reading of the paper reads counts."""
        known = reading.diagonal == "known"
        counted = replace(PAPER, diagonal="known" if known else "measured")
        return cls(
            reading.name,
            counted.diagonal,
            counted.unseen,
            counted.learner,
            reading.variance,
            reading.unseen,
        )

    def deviation(self, table: PairTable) -> FloatArray:
        """Return sqrt(K̂(1-K̂)) per pair (Algorithm 1, line 8)."""
        k = table.estimate()
        if (self.seen_from, self.unseen_from) != ("counts", "zero"):
            projected = shared_spectrum(self.kernel(table)).kernel()  # line 5
            inside = np.clip(table.condense(projected), 0.0, 1.0)
            seen = inside if self.seen_from == "projected" else k
            unseen = inside if self.unseen_from == "filled" else 0.0
            k = np.where(table.seen, seen, unseen)
        return np.asarray(np.sqrt(k * (1 - k)))


_kept: OrderedDict[int, Spectrum] = OrderedDict()


_duals: dict[tuple[int, int, float], SvmSolution] = {}


def forget_spectra() -> None:
    """Forget all decompositions and what was solved on them."""
    _kept.clear()
    _duals.clear()


def shared_spectrum(kernel: FloatArray) -> Spectrum:
    """Return the decomposition of a kernel, computed once for all callers while it is kept.

    Readings that share a table, such as the one after the warm-up, share its decomposition.
    """
    key = hash(kernel.tobytes())  # of one process; the whole kernel goes into it
    if key not in _kept:
        _kept[key] = Spectrum.of(kernel)
        if len(_kept) * _kept[key].vectors.nbytes > MOST_KEPT_BYTES and len(_kept) > 1:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    return _kept[key]


def shared_dual(kernel: FloatArray, signs: FloatArray, box: float) -> SvmSolution:
    """Return the SVM on a projected kernel, solved once for all callers.

    What is kept are two short vectors, so that none is ever thrown out before its seed is done.
    """
    key = hash(kernel.tobytes()), hash(signs.tobytes()), box
    if key not in _duals:
        _duals[key] = solve_dual(shared_spectrum(kernel).kernel(), signs, box)
    return _duals[key]
