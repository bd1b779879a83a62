"""Points of many qubits, without a vector of 2^n amplitudes: by light cones."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, digest
from aqka.backends._bulk.light_cones import LightCones, Rates
from aqka.backends._programs import FeatureMapBackend
from aqka.backends.base import check_measures_pairs
from aqka.backends.circuits import as_data, as_feature_map, circuit_digest
from aqka.backends.simulated import SimulatedBackend, check_shots_one_by_one, count_bits
from aqka.core.calibration import CalibrationPlan
from aqka.core.outcomes import OutcomeCounts, outcomes_of_bits, outcomes_shape
from aqka.core.point_plans import PointPlan
from aqka.core.settings import MAX_QUBITS
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

BATCH_SHOTS = 2**14  # shots that are drawn together; what is drawn depends on it


class LightConeBackend(FeatureMapBackend, SimulatedBackend):
    """Draws outcomes of points from exact reduced states, up to 256 qubits on a laptop.

    The state of one or two qubits of a shallow circuit depends on few others, its light cone, and
    is computed exactly from them, with depolarising and readout errors if wanted. A cone of more
    than 14 qubits, with depolarising noise 7, is refused.

    Each shot's bits are drawn along the neighbours that :attr:`joint_pairs` lists, each given the
    one before. So every bit and every one of these pairs has its exact probabilities, which is all
    that a projected kernel reads of a line or a tree. Bits further apart do not have their exact
    correlations, nor do pairs that would close a loop, as a lattice has: do not use them for
    anything but reduced states.

    It measures points, no pairs: above eight qubits they are read as the projected kernel.

    Parameters
    ----------
    X : array-like
        Data, one row per point.
    feature_map : QuantumCircuit or str, default=None
        A Qiskit circuit, or a built-in map's name; None is the ZZ map, one qubit a feature.
    columns : None, default=None
        Must be None: pairs are not measured.
    seed : int, default=0
        The outcomes depend on it, on the tag and on the plan, and on nothing else.
    noise : sequence of float, default=None
        Depolarising rates of one- and two-qubit gates, λ of ρ → (1 - λ) ρ + λ I/d after every gate
        of the map, as :func:`depolarising_noise` has them; and a third, the probability that a bit
        is read wrongly. None: no errors.

    Examples
    --------
    >>> from aqka.core.point_plans import even_plan
    >>> from aqka.core.settings import choose_settings
    >>> backend = LightConeBackend([[0.5] * 100, [0.7] * 100])
    >>> plan = even_plan([0, 1], choose_settings(100, seed=0), shots_per_point=30)
    >>> int(backend.collect(backend.submit(plan, tag="first")).counts.sum())
    60
    """

    measures_pairs = False

    def __init__(
        self,
        X: ArrayLike,
        feature_map: "QuantumCircuit | str | None" = None,
        *,
        columns: ArrayLike | None = None,
        seed: int = 0,
        noise: Sequence[float] | None = None,
    ) -> None:
        super().__init__(seed)
        self._noise = as_rates(noise)
        if columns is not None:
            check_measures_pairs(self)
        self._rows = self._columns = as_data(X)
        self._map = as_feature_map(feature_map, self._rows.shape[1], backwards=False)
        if self.n_qubits > MAX_QUBITS:
            raise InputError(
                f"feature_map has {self.n_qubits} qubits; an outcome holds {MAX_QUBITS} at most. "
                "Reduce the data to fewer columns first (PCA), one qubit each."
            )
        rates = Rates.even(self.n_qubits, *self._noise)
        self._cones = LightCones(self._map, self._rows, rates)
        self._cones.check_all()

    @property
    def joint_pairs(self) -> IntArray:
        """Pairs of qubits whose bits are drawn together, the smaller one first."""
        return self._cones.joint_pairs

    def expectations(self, edges: IntArray) -> FloatArray:
        """Return the exact expectations of one qubit each, and of the edges, before readout."""
        return self._cones.expectations(np.asarray(edges).reshape(-1, 2))

    def _identity(self) -> list[str]:
        circuit = f"feature_map={circuit_digest(self._map)}"
        return [f"X={digest(self._rows)}", circuit, f"noise={self._noise!r}", "joint=neighbours"]

    def _draw_points(self, plan: PointPlan, rng: Generator) -> OutcomeCounts:
        check_shots_one_by_one(plan)
        shots = np.repeat(np.arange(len(plan)), plan.shots)
        shots = shots[np.argsort(plan.points[shots], kind="stable")]
        seen = [np.zeros(outcomes_shape(0, self.n_qubits), dtype=np.int64)]
        for start in range(0, len(shots), BATCH_SHOTS):
            some = shots[start : start + BATCH_SHOTS]
            bits = self._cones.draw(plan.points[some], plan.letters[plan.settings[some]], rng)
            seen.append(outcomes_of_bits(bits))
        return count_bits(shots, np.concatenate(seen))

    def _draw_references(self, plan: CalibrationPlan, rng: Generator) -> OutcomeCounts:
        shots = np.repeat(np.arange(len(plan)), plan.shots)
        bits = np.repeat(plan.references[shots, None], self.n_qubits, axis=1)
        return count_bits(shots, outcomes_of_bits(self._cones.read(bits, rng)))


def as_rates(noise: Sequence[float] | None) -> tuple[float, ...]:
    """Return the rates of one-qubit gates, two-qubit gates and readout; None has no errors."""
    rates = () if noise is None else tuple(noise)
    if len(rates) not in (0, 2, 3) or not all(
        isinstance(rate, (int, float)) and not isinstance(rate, bool) and 0 <= rate <= 1
        for rate in rates
    ):
        raise InputError(
            "noise must be the depolarising rates of one- and two-qubit gates and, if wanted, the "
            f"probability of a wrong bit, each within [0, 1], such as (0.001, 0.01); got {noise!r}."
        )
    return (*map(float, rates), 0.0, 0.0, 0.0)[:3]
