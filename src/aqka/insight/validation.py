"""Did the device prepare the states it was meant to? Measured points against exact ones.

The expectation a of a Pauli operator is exact by light cones or the whole state, and e its mean
over s shots. Without noise z² = s (e - a)² / (1 - a²) has the mean 1 and the variance
2 + (1/pq - 6)/s, p and q being the chances of the two signs. The operators of one qubit are read
from different shots, so that their z² are independent and χ², their sum over letters and points,
has a known mean and variance; its tail is that of the Gamma distribution with these. A device that
loses part of its state shows e = d a with a damping d below 1, fitted by least squares, which tells
a weak noise much better than χ² does: a qubit differs by either.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray, IntArray, as_count
from aqka._util.shown import Shown
from aqka._util.text import percent
from aqka.backends.tiles import draw_on_chip
from aqka.core.points import PointTable
from aqka.core.settings import LETTERS
from aqka.errors import InputError
from aqka.estimates.reduced_states import Operators, readable_points, reduced_states
from aqka.insight.exact_kernels import FeatureMap, map_features
from aqka.maths.angle_prior import spread_evenly

FALSE_ALARMS = 0.01  # share of noiseless runs in which any qubit is said to differ
LEAST_VARIANCE = 5.0  # s (1 - a²) of an operator that counts: 1 gives twice as many false alarms


@dataclass(frozen=True, eq=False, repr=False)
class Validation(Shown):
    """Measured points against their exact states, qubit by qubit.

    Attributes
    ----------
    n_points : int
        Points that were compared.
    chi_squares, degrees : array of shape (qubits, 3)
        χ² of X, Y and Z of each qubit, and how many points it is the sum of.
    p_values : array of shape (qubits,)
        Chance that a noiseless qubit shows a χ² as large, or a damping as far from 1.
    damping, damping_errors : array of shape (qubits,)
        What is left of each qubit's expectations, readout errors included, and its standard error.
    """

    n_points: int
    chi_squares: FloatArray
    degrees: IntArray
    p_values: FloatArray
    damping: FloatArray
    damping_errors: FloatArray

    @property
    def ratios(self) -> FloatArray:
        """χ² per degree of freedom of X, Y and Z of each qubit."""
        return np.asarray(self.chi_squares / np.maximum(self.degrees, 1))

    @property
    def ratio(self) -> float:
        """χ² per degree of freedom of all qubits together: about 1 without noise."""
        return float(self.chi_squares.sum() / max(int(self.degrees.sum()), 1))

    @property
    def differing(self) -> IntArray:
        """Qubits that differ from the exact states, with 1 % of false alarms for all together."""
        return np.flatnonzero(self.p_values < FALSE_ALARMS / len(self.p_values))

    @property
    def sentence(self) -> str:
        """What was found."""
        low, high = int(np.argmin(self.damping)), int(np.argmax(self.damping))
        return (
            f"χ² per degree of freedom is {self.ratio:.2f}, about 1 without noise: "
            f"{len(self.differing)} of {len(self.damping)} qubits differ from the exact states "
            f"(by chance, {percent(FALSE_ALARMS)} of noiseless runs show one or more). "
            f"Damping is {self.damping.mean():.3f} on average, from {self.damping[low]:.3f} on "
            f"qubit {low} to {self.damping[high]:.3f} on qubit {high}."
        )

    def _figures(self) -> dict[str, object]:
        return {"points": self.n_points, "qubits": len(self.damping), "χ²/dof": f"{self.ratio:.2f}"}

    def facts(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON."""
        per_qubit = [
            {
                "qubit": qubit,
                "chi_square": dict(zip(LETTERS, self.chi_squares[qubit].tolist(), strict=True)),
                "degrees": dict(zip(LETTERS, self.degrees[qubit].tolist(), strict=True)),
                "p_value": float(self.p_values[qubit]),
                "damping": float(self.damping[qubit]),
                "damping_error": float(self.damping_errors[qubit]),
            }
            for qubit in range(len(self.damping))
        ]
        return {
            "points": self.n_points,
            "chi_square_per_degree": self.ratio,
            "false_alarms": FALSE_ALARMS,
            "differing": self.differing.tolist(),
            "sentence": self.sentence,
            "qubits": per_qubit,
        }

    def draw(self, path: str | Path, device: Any, places: Sequence[int]) -> None:
        """Draw each qubit's damping at its place on a chip into a picture file."""
        marks = [((place,), float(d)) for place, d in zip(places, self.damping, strict=True)]
        title = f"χ² per degree of freedom {self.ratio:.2f}, {len(self.differing)} qubits differ"
        draw_on_chip(device, marks, title, "damping", path)


def validate_points(
    table: PointTable, angles: FloatArray, feature_map: FeatureMap, n_points: int = 20
) -> Validation:
    """Compare some measured points, evenly spread, with their exact one-qubit states.

    Parameters
    ----------
    table : PointTable
        What was measured.
    angles : array of shape (points, features)
        The points as the circuit takes them.
    feature_map : str, QuantumCircuit or callable
        As for :func:`~aqka.preflight`: whole states up to 14 qubits, light cones above.
    n_points : int, default=20
        Points to compare, at most.
    """
    known = readable_points(table)
    if not known.size:
        raise InputError("no point has two shots or more of each of X, Y and Z of every qubit.")
    chosen = known[spread_evenly(len(known), as_count(n_points, "n_points"))]
    part = table.subset(chosen)
    exact = map_features(angles[chosen], feature_map).expectations
    shots = Operators.of(table.n_qubits).shots(part)
    return compare(reduced_states(part).expectations, shots, exact)


def compare(means: FloatArray, shots: IntArray, exact: FloatArray) -> Validation:
    """Return how means over shots compare with exact expectations, points × (3 a qubit)."""
    from scipy.special import erfc
    from scipy.stats import gamma

    shape = (len(means), -1, 3)
    e, s, a = means.reshape(shape), shots.reshape(shape), exact.reshape(shape)
    variance = np.maximum(1 - a**2, 0.0)
    counted = s * variance >= LEAST_VARIANCE
    inverse = np.where(counted, 1 / np.where(counted, variance, 1.0), 0.0)
    chi_squares = np.sum(s * (e - a) ** 2 * inverse, axis=0)
    degrees = counted.sum(axis=0)
    spread = np.sum(np.where(counted, 2 + (4 * inverse - 6) / s, 0.0), axis=(0, 2))
    some, mean = spread > 0, np.maximum(degrees.sum(axis=1), 1)
    spread = np.where(some, spread, 1.0)
    tail = gamma.sf(chi_squares.sum(axis=1), mean**2 / spread, scale=spread / mean)

    weight = np.maximum(np.sum(s * a**2, axis=(0, 2)), 1e-12)
    damping = np.sum(s * a * e, axis=(0, 2)) / weight
    noise = np.sum(s * a**2 * np.maximum(1 - (damping[:, None] * a) ** 2, 0.0), axis=(0, 2))
    # Without damping it would have this variance, which must be some shots' for a normal law.
    at_one = np.sum(s * a**2 * variance, axis=(0, 2))
    z = weight * np.abs(damping - 1) / np.sqrt(at_one + 1e-12)
    z = np.where(at_one >= LEAST_VARIANCE, z, 0)
    either = np.minimum(np.where(some, tail, 1.0), erfc(z / np.sqrt(2)))
    return Validation(
        n_points=len(means),
        chi_squares=chi_squares,
        degrees=degrees,
        p_values=np.minimum(2 * either, 1.0),
        damping=damping,
        damping_errors=np.sqrt(noise) / weight,
    )
