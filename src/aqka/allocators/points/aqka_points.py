"""AQKA over points: shots where a state's noise moves the training loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.allocators.points._base import PointFill
from aqka.allocators.points._fit import fit_points, fit_ridge
from aqka.allocators.schedule import EVEN_START, Schedule
from aqka.core.points import PointTable
from aqka.maths.sensitivity import loss_variances
from aqka.maths.spectrum import FeatureSpectrum, Spectrum
from aqka.maths.state_features import overlap_kernel, state_features


@dataclass(frozen=True)
class AqkaPoints(PointFill):
    """Shots ∝ sqrt(Var_i(G_i)), G_i = ∂L/∂ρ_i = Σ_j g_ij ρ_j with the paper's g (Eq. 6)."""

    ledger_name: ClassVar[str] = "aqka-points"

    schedule: ClassVar[Schedule] = EVEN_START

    def variances(self, table: PointTable, y: FloatArray) -> FloatArray:
        """Return the loss's variance of each point at one shot, all outputs together."""
        fit = fit_points(table)
        vectors = fit.states[None]
        # Neither the loss nor its gradient needs the kernel where its features are fewer.
        if 4**table.n_qubits < table.n_points:
            head = fit_ridge(FeatureSpectrum.of(state_features(vectors)), y)
        else:
            head = fit_ridge(Spectrum.of(overlap_kernel(vectors)), y)
        return np.asarray(loss_variances(fit.states, fit.roots, head.alpha, head.beta).sum(axis=1))
