"""The angles of a feature map's gates as functions of the data: what its states vary with."""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray
from aqka.backends._bulk.gates import FixedGate, is_varying, primitives
from aqka.backends.circuits import as_data
from aqka.backends.feature_maps import check_map_name

MAX_POWER = 2
"""The highest of a feature. Derivatives tell; the fourth of an arc cosine takes Qiskit a second."""
Terms = tuple[tuple[float, tuple[int, ...]], ...]
"""A polynomial: coefficients, each with the numbers of the features it is multiplied by."""


@dataclass(frozen=True)
class GateAngles:
    """The distinct angles of a circuit's gates, as polynomials of the features.

    Where they are unknown they are the features themselves, which are not ``periodic``: of a
    PennyLane function, of a lab's own protocol, and of a circuit with an angle that is no
    polynomial.

    Examples
    --------
    >>> GateAngles.of("zz", 2)(np.array([[0.5, 1.0]])).round(3).tolist()
    [[1.0, 2.0, 11.314]]
    """

    terms: tuple[Terms, ...]
    periodic: bool = True

    @classmethod
    def of(cls, feature_map: Any, n_features: int) -> "GateAngles":
        """Return those of a feature map as estimators and backends take it."""
        if feature_map is None or isinstance(feature_map, str):
            return cls(_built_in(check_map_name(feature_map or "zz"), n_features))
        unknown = cls(tuple(((1.0, (k,)),) for k in range(n_features)), periodic=False)
        if callable(feature_map) or not hasattr(feature_map, "parameters"):
            return unknown
        numbers = {parameter: k for k, parameter in enumerate(feature_map.parameters)}
        # Those without qubits are global phases.
        gates = [g for g in primitives(feature_map) if g.qubits and not isinstance(g, FixedGate)]
        distinct = dict.fromkeys(gate.angle for gate in gates if is_varying(gate.angle))
        found = [_polynomial(angle, numbers) for angle in distinct]
        known = tuple(terms for terms in found if terms is not None)
        return cls(known) if len(known) == len(found) else unknown

    def __call__(self, X: ArrayLike) -> FloatArray:
        """Return the angles of points, one column per angle."""
        points = as_data(X)
        angles = np.zeros((len(points), len(self.terms)))
        for g, terms in enumerate(self.terms):
            for coefficient, features in terms:
                angles[:, g] += coefficient * np.prod(points[:, list(features)], axis=1)
        return angles


def _built_in(name: str, n_features: int) -> tuple[Terms, ...]:
    """Return 2x_i of each qubit, and 2(π - x_i)(π - x_j) of those that are entangled."""
    pi, found = math.pi, [((2.0, (i,)),) for i in range(n_features)]
    apart = {"z": 0, "zz": 1, "zz-full": n_features}[name]
    pairs = [(i, j) for i, j in combinations(range(n_features), 2) if j - i <= apart]
    return (
        *found,
        *(((2 * pi**2, ()), (-2 * pi, (i,)), (-2 * pi, (j,)), (2.0, (i, j))) for i, j in pairs),
    )


def _polynomial(angle: Any, numbers: dict[Any, int]) -> Terms | None:
    """Return an angle's terms by its derivatives at 0; None where they do not come to an end."""
    if not is_varying(angle):
        return ((float(angle), ()),) if float(angle) else ()
    parameter = min(angle.parameters, key=lambda p: str(p.name))
    terms: list[tuple[float, tuple[int, ...]]] = []
    for power in range(MAX_POWER + 1):
        try:
            at_zero = angle.bind({parameter: 0.0}) if is_varying(angle) else angle
            inner = _polynomial(at_zero, numbers)
            slope = angle.gradient(parameter) if is_varying(angle) else 0.0
        except (RuntimeError, NotImplementedError, ArithmeticError, TypeError):
            return None  # no derivative is known, or none at 0
        if inner is None:
            return None
        own = (numbers[parameter],) * power
        terms += [(c / math.factorial(power), own + rest) for c, rest in inner]
        if not is_varying(slope) and complex(slope) == 0:
            return tuple(terms)
        angle = slope
    return None
