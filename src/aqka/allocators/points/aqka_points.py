"""AQKA over points: shots where a state's noise moves the training loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.allocators.points._base import PointFill
from aqka.allocators.points._fit import fit_points
from aqka.allocators.schedule import EVEN_START, Schedule
from aqka.core.points import PointTable
from aqka.maths.point_sensitivity import loss_variances


@dataclass(frozen=True)
class AqkaPoints(PointFill):
    """Shots ∝ sqrt(Var_i(G_i)), G_i = ∂L/∂ρ_i = Σ_j g_ij ρ_j with the paper's g (Eq. 6)."""

    ledger_name: ClassVar[str] = "aqka.allocators.points.aqka_points.AqkaPoints"

    schedule: ClassVar[Schedule] = EVEN_START

    def variances(self, table: PointTable, y: FloatArray) -> FloatArray:
        """Return the loss's variance of each point at one shot, all outputs together."""
        fit = fit_points(table, y)
        beta = fit.spectrum.solve(fit.alpha, fit.ridge)
        return np.asarray(loss_variances(fit.states, fit.roots, fit.alpha, beta).sum(axis=1))
