"""A ridge whose border is moved where that serves the rarer classes."""

from dataclasses import dataclass, replace

import numpy as np

from aqka._util.arrays import BoolArray, FloatArray
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.learners._base import Estimate, FittedHead, Learner, winner_of
from aqka.maths.metrics import balanced_accuracy
from aqka.maths.spectrum import left_out


@dataclass(frozen=True)
class Balanced(Learner):
    """Another learner with the border between its classes chosen by held-out balanced accuracy.

    Ridge regression on few points of a class shrinks f toward the other's label, and predicts that
    one too often. So f is kept, or lowered by the value that leaves equal tails of both classes
    behind it, whichever is better in balanced accuracy on left-out points. Plain accuracy may fall.

    Parameters
    ----------
    learner : str or Learner, default="ridge-noise"
        The learner whose border is moved, a ridge.
    """

    learner: str | Learner = "ridge-noise"  # a ridge learner

    def fit(self, estimate: Estimate, problem: Problem) -> FittedHead:
        """Fit the other learner's head, then move its border."""
        from aqka.learners import make_learner  # which finds this file among others

        head = make_learner(self.learner).fit(estimate, problem)
        held_out, truth = _left_out_decisions(head, problem), winner_of(problem.outputs)
        columns = zip(held_out.T, problem.outputs.T, strict=True)
        shift = np.array([_equal_tails(f, y >= 0) for f, y in columns])
        both = (held_out, held_out - shift)
        as_is, moved = (balanced_accuracy(truth, winner_of(f)) for f in both)
        if moved > as_is:
            shift = shift.reshape(head.intercept.shape)
            head = replace(head, intercept=head.intercept - shift)
        return replace(head, fitted_by=f"Balanced({head.fitted_by})")


def _left_out_decisions(head: FittedHead, problem: Problem) -> FloatArray:
    """Return f of every point by a ridge that has not seen it, outputs as columns."""
    spectrum, ridge = head.spectrum, head.regularisation
    if spectrum is None or not np.allclose(spectrum.solve(problem.y, ridge), head.alpha, rtol=1e-6):
        raise InputError(
            "learner of 'balanced' must be a ridge, such as 'ridge-noise', whose left-out "
            "predictions are known in closed form."
        )
    return left_out(spectrum, problem.outputs, ridge)


def _equal_tails(f: FloatArray, positive: BoolArray) -> float:
    """Return the value that as many deviations of either class lie beyond; 0 of a single class."""
    if positive.all() or not positive.any():
        return 0.0
    (high, above), (low, below) = ((g.mean(), g.std()) for g in (f[positive], f[~positive]))
    if above + below == 0:
        return float((high + low) / 2)
    return float((high * below + low * above) / (above + below))
