"""Points of many qubits with little entanglement, without a vector of 2^n amplitudes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, digest, threads_for
from aqka.backends._bulk.gates import ComplexArray
from aqka.backends._bulk.matrix_products import MAX_BOND, evolve
from aqka.backends._drawing import check_shots_one_by_one, count_bits
from aqka.backends.circuits import as_data, as_feature_map, circuit_digest
from aqka.backends.simulated import PointsOnly
from aqka.core.outcomes import OutcomeCounts, outcomes_of_bits, outcomes_shape
from aqka.core.point_plans import PointPlan
from aqka.core.settings import ROTATIONS
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

BATCH_POINTS = 32
"""Points that are evolved together: at the largest bond and 256 qubits they take 1.1 GB."""
BATCH_SHOTS = 2**14
"""Shots of a point that are drawn together; what is drawn depends on it."""


def draw_by_matrix_product(
    feature_map: "QuantumCircuit", X: ArrayLike, plan: PointPlan, random: Generator
) -> OutcomeCounts:
    """Return outcomes of every row of a plan, without noise.

    Parameters
    ----------
    feature_map
        The circuit; its parameters, by name, are the columns of ``X``.
    X
        Data, one row per point.
    plan
        Points, settings and shots.
    random
        All that is random comes from it.
    """
    data = as_data(X)
    if feature_map.num_qubits != plan.n_qubits or feature_map.num_parameters != data.shape[1]:
        raise InputError(
            f"feature_map must have the {plan.n_qubits} qubits of the plan and a parameter for "
            f"each of {data.shape[1]} columns of X, got {feature_map.num_qubits} qubits and "
            f"{feature_map.num_parameters} parameters."
        )
    check_shots_one_by_one(plan)
    none = np.zeros(0, dtype=np.int64)
    rows, outcomes = [none], [none.reshape(outcomes_shape(0, plan.n_qubits))]
    measured = np.unique(plan.points[plan.shots > 0])
    for point, tensors in _each_state(feature_map, data, measured):
        of_point = np.flatnonzero(plan.points == point)
        shots = np.repeat(of_point, plan.shots[of_point])
        for start in range(0, len(shots), BATCH_SHOTS):
            some = shots[start : start + BATCH_SHOTS]
            rows.append(some)
            with threads_for(MAX_BOND):
                outcomes.append(_draw(tensors, plan.letters[plan.settings[some]], random))
    return count_bits(np.concatenate(rows), np.concatenate(outcomes))


def _each_state(
    feature_map: "QuantumCircuit", data: FloatArray, points: IntArray
) -> Iterator[tuple[int, list[ComplexArray]]]:
    """Yield each point with the tensors of its state, the centre at the first qubit."""
    for start in range(0, len(points), BATCH_POINTS):
        some = points[start : start + BATCH_POINTS]
        states = evolve(feature_map, data[some])
        states.move_centre(0)
        for k, point in enumerate(some):
            yield int(point), [tensor[k] for tensor in states.tensors]


def _draw(tensors: list[ComplexArray], letters: IntArray, random: Generator) -> IntArray:
    """Return an outcome for each row of letters.

    Beyond the centre tensors are isometries, so that what the qubits measured so far leave of the
    state, carried to the next bond, has the probabilities of the next qubit as its norms.
    """
    outcomes = np.zeros(letters.shape, dtype=np.int64)
    left = np.ones((len(letters), 1), dtype=np.complex128)
    for qubit, tensor in enumerate(tensors):
        bond, _, right = tensor.shape
        both = (left @ tensor.reshape(bond, 2 * right)).reshape(-1, 2, right)
        turned = ROTATIONS[letters[:, qubit]] @ both
        p = np.sum(turned.real**2 + turned.imag**2, axis=2)
        bits = (random.random(len(letters)) * p.sum(axis=1) >= p[:, 0]).astype(np.int64)
        # Where a bit has no chance at all, rounding must not choose it.
        bits = np.where(p[:, 1] == 0, 0, bits)
        each = np.arange(len(bits))
        left = turned[each, bits] / np.sqrt(p[each, bits])[:, None]
        outcomes[:, qubit] = bits
    return outcomes_of_bits(outcomes)


class MatrixProductBackend(PointsOnly):
    """Draws outcomes of points from their states as matrix products, without noise.

    A vector of 2^n amplitudes is never formed: time grows with the qubits and with how much
    they are entangled. A map with two or three layers of gates between neighbours runs on 62
    qubits in milliseconds a point; one that entangles every qubit with every other
    does so on 12. What cannot be drawn exactly is refused: first here, by the first point.

    It measures points and no pairs: above eight qubits ``design="points"`` learns from the
    projected kernel.

    Parameters
    ----------
    X
        Data, one row per point.
    feature_map
        A Qiskit circuit, or a built-in map's name; None is the ZZ map, one qubit a feature.
    columns
        Must be None: pairs are not measured.
    seed
        The outcomes depend on it, on the tag and on the plan, and on nothing else.

    Examples
    --------
    >>> from aqka.core.point_plans import even_plan
    >>> from aqka.core.settings import uniform_settings
    >>> backend = MatrixProductBackend([[0.5] * 40, [0.7] * 40])
    >>> plan = even_plan([0, 1], uniform_settings(40), shots_per_point=30)
    >>> int(backend.collect(backend.submit(plan, tag="first")).counts.sum())
    60
    """

    def __init__(
        self,
        X: ArrayLike,
        feature_map: "QuantumCircuit | str | None" = None,
        *,
        columns: ArrayLike | None = None,
        seed: int = 0,
    ) -> None:
        points = as_data(X)
        super().__init__(points, as_feature_map(feature_map, points.shape[1]), columns, seed)
        evolve(self._feature_map, self._points[:1])

    def _identity(self) -> list[str]:
        return [
            f"X={digest(self._points)}",
            f"feature_map={circuit_digest(self._feature_map)}",
        ]

    def _draw_points(self, plan: PointPlan, rng: Generator) -> OutcomeCounts:
        return draw_by_matrix_product(self._feature_map, self._points, plan, rng)
