"""How far a head lies from that of the same readout on the exact kernel, by drawing shots anew."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import FloatArray
from aqka.core.problem import Problem
from aqka.insight.redraw import hit_chances, redraw_counts
from aqka.maths.spectrum import Spectrum
from aqka.readouts import FittedHead, Readout
from aqka.readouts.ridge_loo import RIDGE_GRID
from aqka.sessions.acquisition import Acquisition

PLAUSIBLE = 2.0  # standard errors of the held-out error within which a ridge may be the best one
BEYOND = 0.5  # of the targets' range: no head that learnt predicts farther outside it


@dataclass(frozen=True, eq=False)
class HeadErrors:
    """Errors of f at test rows that come from the training shots, a column per output.

    Attributes
    ----------
    redrawn
        Of heads trained on redrawn shots: redraws by rows by outputs.
    other_ridges
        Of heads with the other ridges that held-out points cannot tell from the best: ridges by
        rows by outputs. None of them where the readout is given its ridge, or has none.
    """

    redrawn: FloatArray
    other_ridges: FloatArray

    @classmethod
    def of(
        cls,
        session: Acquisition,
        readout: Readout,
        rows: FloatArray,
        repetitions: int,
        rng: Generator,
    ) -> "HeadErrors":
        """Draw the session's shots anew, from a kernel like the measured one but without noise."""
        table, problem, landmarks = session.table, session.problem, session.landmarks
        chances = hit_chances(table, problem, landmarks)
        without_noise = readout.fit_kernel(table.square(chances), problem)
        heads = [
            readout.fit(redraw_counts(table, chances, rng), problem, landmarks)
            for _ in range(repetitions)
        ]
        truth = _outputs(without_noise, rows)
        redrawn = np.stack([_outputs(head, rows) for head in heads]) - truth
        # A readout that is given its ridge, or its C, never uses another.
        chooses = any(head.regularisation != without_noise.regularisation for head in heads)
        other = np.zeros((0, *truth.shape))
        if chooses:
            other = _plausible_outputs(table.square(chances), problem, rows) - truth
        return cls(redrawn, other)

    def variance(self, mixture: FloatArray) -> FloatArray:
        """Return the mean square error of a mixture of the outputs, for each row.

        Redrawn shots count by their mean, the readout's bias included, which is known too poorly
        to correct for; a ridge that may be the best one counts in full.
        """
        redrawn = np.einsum("rxc,xc->rx", self.redrawn, mixture)
        found = np.mean(redrawn**2, axis=0)
        if len(self.other_ridges):
            found += np.max(np.einsum("rxc,xc->rx", self.other_ridges, mixture) ** 2, axis=0)
        return np.asarray(found)


def _outputs(head: FittedHead, rows: FloatArray) -> FloatArray:
    return head.decision_function(rows).reshape(len(rows), -1)


def _plausible_outputs(kernel: FloatArray, problem: Problem, rows: FloatArray) -> FloatArray:
    """Return f of every ridge whose leave-one-out error is that of the best one, but for chance."""
    y, spectrum = problem.outputs, Spectrum.of(kernel)
    ridges = np.asarray(RIDGE_GRID)
    errors = np.stack([_held_out_errors(spectrum, y, ridge) for ridge in ridges])
    more = errors - errors[np.argmin(errors.mean(axis=1))]
    spread = more.std(axis=1) / np.sqrt(len(y))
    plausible = ridges[more.mean(axis=1) <= PLAUSIBLE * spread]
    found = np.stack([rows @ spectrum.solve(y, ridge) for ridge in plausible])
    beyond = BEYOND * (y.max() - y.min())
    return np.clip(found, y.min() - beyond, y.max() + beyond)


def _held_out_errors(spectrum: Spectrum, y: FloatArray, ridge: float) -> FloatArray:
    """Return the squared leave-one-out error of each point, over all outputs."""
    inverse_diagonal = spectrum.vectors**2 @ (1.0 / (spectrum.values + ridge))
    return np.asarray(np.sum((spectrum.solve(y, ridge) / inverse_diagonal[:, None]) ** 2, axis=1))
