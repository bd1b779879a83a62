"""What an allocator over points needs of the counts: states, their noise, and a ridge head."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.estimates.states import fit_states
from aqka.maths.product_bases import ComplexArray, ProductBases
from aqka.maths.spectrum import Spectrum
from aqka.maths.state_errors import tangent_roots
from aqka.readouts.ridge_loo import RIDGE_GRID, loo_residuals


@dataclass(frozen=True, eq=False)
class PointFit:
    """Pure states of all points, how one shot moves them, and the ridge head of their kernel."""

    states: ComplexArray
    roots: FloatArray
    spectrum: Spectrum
    alpha: FloatArray
    ridge: float


def fit_points(table: PointTable, y: FloatArray) -> PointFit:
    """Return the fit, with the ridge of the smallest leave-one-out error; ``y`` has columns."""
    fitted = fit_states(table)
    states = fitted.vectors[0]
    share = np.full((table.n_points, table.n_settings), 1 / table.n_settings)
    roots = tangent_roots(ProductBases(table.settings), states, share)
    spectrum = Spectrum.of(fitted.kernel())
    ridges = np.asarray(RIDGE_GRID)
    errors = sum(np.mean(loo_residuals(spectrum, output, ridges) ** 2, axis=0) for output in y.T)
    ridge = float(ridges[np.argmin(errors)])
    return PointFit(states, roots, spectrum, spectrum.solve(y, ridge), ridge)
