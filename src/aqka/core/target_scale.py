"""Real targets in the units that heads learn in, and back."""

import math
from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.errors import InputError


@dataclass(frozen=True)
class TargetScale:
    """Targets y are learnt as (y - centre) / spread, which lies between -1 and 1.

    Attributes
    ----------
    centre
        Their mean; of two values the middle, which makes -1 and +1 of them as a Problem does.
    spread
        How far the farthest lies from it.

    Examples
    --------
    >>> scale = TargetScale.of(np.array([10.0, 12.0, 17.0]))
    >>> scale.centre, scale.spread, scale.scaled(np.array([17.0, 9.0])).tolist()
    (13.0, 4.0, [1.0, -1.0])
    """

    centre: float
    spread: float

    @classmethod
    def of(cls, targets: FloatArray) -> "TargetScale":
        """Fit the training targets."""
        two = np.unique(targets).size == 2
        # An exactly rounded sum is the same on any processor, and so are the labels of a run.
        mean = math.fsum(targets.tolist()) / len(targets)
        centre = float((targets.min() + targets.max()) / 2) if two else mean
        spread = float(np.abs(targets - centre).max())
        if spread == 0:
            raise InputError(f"y has a single value, {targets[0]}; there is nothing to learn.")
        return cls(centre, spread)

    def scaled(self, targets: FloatArray) -> FloatArray:
        """Return targets as heads learn them."""
        return np.asarray((targets - self.centre) / self.spread)
