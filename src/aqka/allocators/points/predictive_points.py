"""Shots where they steady the predictions, instead of the training loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.allocators.points._base import PointFill
from aqka.allocators.points._fit import fit_points, fit_ridge
from aqka.allocators.schedule import EVEN_START, Schedule
from aqka.core.points import PointTable
from aqka.maths.sensitivity import prediction_variances
from aqka.maths.spectrum import Spectrum
from aqka.maths.state_features import overlap_kernel


@dataclass(frozen=True)
class PredictivePoints(PointFill):
    """Shots ∝ sqrt(v_i), v_i the variance that a point's noise gives to all predictions."""

    ledger_name: ClassVar[str] = "predictive-points"

    schedule: ClassVar[Schedule] = EVEN_START

    def variances(self, table: PointTable, y: FloatArray) -> FloatArray:
        """Return the predictions' variance of each point at one shot, all outputs together."""
        fit = fit_points(table)
        # Every state moves the predictions of every point, so this one needs the kernel.
        spectrum = Spectrum.of(overlap_kernel(fit.states[None]))
        head = fit_ridge(spectrum, y)
        v = prediction_variances(fit.states, fit.roots, spectrum, head.alpha, head.ridge)
        return np.asarray(v.sum(axis=1))
