"""Angles of a circuit, computed for all data points at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends._bulk.gates import Angle, is_varying
from aqka.errors import InputError


def evaluate(angles: Sequence[Angle], parameters: Sequence[Any], X: FloatArray) -> FloatArray:
    """Return the angles' values, one row per angle and one column per point.

    Parameters
    ----------
    angles
        Numbers or Qiskit ParameterExpressions.
    parameters
        The parameters that the columns of ``X`` stand for, in this order.
    X
        Data, one row per point.
    """
    columns = dict(zip(parameters, np.ascontiguousarray(X.T), strict=True))
    values = np.empty((len(angles), len(X)))
    for row, angle in zip(values, angles, strict=True):
        row[:] = _value(angle, columns)
    if not np.isfinite(values).all():
        bad = angles[int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])]
        raise InputError(
            f"feature_map's angle {bad} is not finite for some points of the data; "
            "scale the data into the domain of the expression."
        )
    return values


def _value(angle: Angle, columns: dict[Any, FloatArray]) -> FloatArray | float:
    """Return an angle's value at every point.

    Feature maps are almost always affine in each parameter on its own (x, 2x + 1, x·y, ...),
    and then f(p, rest) = f(0, rest) + p · f'(rest), by Qiskit's own derivative: a few array
    operations. Whatever else an author writes is bound point by point.
    """
    if not is_varying(angle):
        return float(angle)
    parameter = min(angle.parameters, key=lambda p: str(p.name))
    try:
        slope = angle.gradient(parameter)
        curvature = slope.gradient(parameter) if is_varying(slope) else 0
    except (RuntimeError, NotImplementedError):  # no derivative known: abs, sign, ...
        return _pointwise(angle, columns)
    if is_varying(curvature) or curvature != 0:
        return _pointwise(angle, columns)
    if is_varying(slope):
        slope = slope.bind({parameter: 0.0})
    rest = angle.bind({parameter: 0.0})
    return _value(rest, columns) + columns[parameter] * _value(slope, columns)


def _pointwise(angle: Angle, columns: dict[Any, FloatArray]) -> FloatArray:
    names = sorted(angle.parameters, key=lambda p: str(p.name))
    rows = np.stack([columns[name] for name in names], axis=1).tolist()
    try:
        return np.array([float(angle.bind(dict(zip(names, row, strict=True)))) for row in rows])
    except (TypeError, ArithmeticError) as error:
        raise InputError(
            f"feature_map's angle {angle} has no real value at some point of the data: {error}; "
            "scale the data into the domain of the expression."
        ) from error
