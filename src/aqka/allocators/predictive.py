"""Shots where they steady the predictions, instead of the training loss."""

from dataclasses import dataclass
from typing import ClassVar

from aqka._util.arrays import FloatArray
from aqka.allocators._base import TargetFill
from aqka.allocators.schedule import EVEN_START, Schedule
from aqka.core.defaults import DEFAULT_READOUT
from aqka.core.pairs import PairTable
from aqka.core.problem import Problem
from aqka.maths.sensitivity import prediction_sensitivity
from aqka.readouts import FittedHead, make_readout


@dataclass(frozen=True)
class Predictive(TargetFill):
    """Half of the shots ∝ sqrt(G k(1-k)), the variance of the predictions; half uniform.

    The coefficients and the ridge are those of the default readout, which match the noise: at the
    paper's tiny ridge the sensitivities follow noise that the readout will filter out.
    """

    ledger_name: ClassVar[str] = "predictive"

    floor: float = 0.0  # the uniform half is the floor
    schedule: ClassVar[Schedule] = EVEN_START

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return how far each pair moves the predictions."""
        return head_sensitivity(make_readout(DEFAULT_READOUT).fit(table, problem), table)

    def score(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return half of the predictions' shares, and half of equal ones."""
        return half_uniform(super().score(table, problem))


def head_sensitivity(head: FittedHead, table: PairTable) -> FloatArray:
    """Return how far each pair of the table moves the predictions of a head trained on it."""
    assert head.spectrum is not None, "a ridge keeps its decomposition"
    alpha = head.alpha.reshape(table.n_points, -1)
    return table.condense(prediction_sensitivity(head.spectrum, alpha, head.regularisation))


def half_uniform(score: FloatArray) -> FloatArray:
    """Return a score mixed half and half with an equal one, up to a factor."""
    return score / score.mean() + 1 if score.any() else score
