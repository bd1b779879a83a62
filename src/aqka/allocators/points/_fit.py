"""What an allocator over points needs of the counts: states, their noise, and a ridge head."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.estimates.states import fit_states
from aqka.maths.product_bases import ComplexArray, ProductBases
from aqka.maths.spectrum import FeatureSpectrum, Spectrum
from aqka.maths.state_errors import tangent_roots
from aqka.readouts.ridge_loo import RIDGE_GRID, loo_residuals


@dataclass(frozen=True, eq=False)
class PointFit:
    """Pure states of all points, and how one shot moves them."""

    states: ComplexArray
    roots: FloatArray


@dataclass(frozen=True, eq=False)
class PointRidge:
    """The ridge head of the states' kernel: α = (K + λI)⁻¹ y and β = (K + λI)⁻¹ α."""

    alpha: FloatArray
    beta: FloatArray
    ridge: float


def fit_points(table: PointTable) -> PointFit:
    """Return the states of all points."""
    states = fit_states(table).vectors[0]
    share = np.full((table.n_points, table.n_settings), 1 / table.n_settings)
    return PointFit(states, tangent_roots(ProductBases(table.settings), states, share))


def fit_ridge(spectrum: Spectrum | FeatureSpectrum, y: FloatArray) -> PointRidge:
    """Return the head with the ridge of the smallest leave-one-out error; ``y`` has columns."""
    ridges = np.asarray(RIDGE_GRID)
    errors = np.zeros(len(ridges))
    for output in y.T:
        if isinstance(spectrum, FeatureSpectrum):
            residuals = spectrum.loo_residuals(output, ridges)
        else:
            residuals = loo_residuals(spectrum, output, ridges)
        errors += np.mean(residuals**2, axis=0)
    ridge = float(ridges[np.argmin(errors)])
    alpha = spectrum.solve(y, ridge)
    return PointRidge(alpha, spectrum.solve(alpha, ridge), ridge)
