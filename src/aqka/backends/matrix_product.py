"""Points of many qubits that are little entangled, without a vector of 2^n amplitudes."""

from typing import TYPE_CHECKING

from numpy.random import Generator
from numpy.typing import ArrayLike

from aqka._util.arrays import IntArray, digest
from aqka.backends._bulk.matrix_products import evolve
from aqka.backends._points.matrix_product import draw_by_matrix_product
from aqka.backends.base import check_measures_pairs
from aqka.backends.circuits import as_data, as_feature_map, circuit_digest
from aqka.backends.simulated import SimulatedBackend
from aqka.core.calibration import CalibrationPlan
from aqka.core.outcomes import OutcomeCounts
from aqka.core.plans import Plan, ShotPlan
from aqka.core.point_plans import PointPlan
from aqka.core.settings import MAX_QUBITS
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


class MatrixProductBackend(SimulatedBackend):
    """Draws outcomes of points from their states as matrix products, without noise.

    A vector of 2^n amplitudes is never formed: time grows with the qubits and with how much
    they are entangled. A map with two or three layers of gates between neighbours runs on 62
    qubits, of which each point takes milliseconds; one that entangles every qubit with every other
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
        super().__init__(seed)
        if columns is not None:
            check_measures_pairs(self)
        self._points = as_data(X)
        self._feature_map = as_feature_map(feature_map, self._points.shape[1])
        if self.n_qubits > MAX_QUBITS:
            raise InputError(
                f"feature_map has {self.n_qubits} qubits; an outcome holds {MAX_QUBITS} at most."
            )
        evolve(self._feature_map, self._points[:1])

    @property
    def measures_pairs(self) -> bool:
        """Never: only points."""
        return False

    @property
    def shape(self) -> tuple[int, int]:
        """Points that a plan may name."""
        return len(self._points), len(self._points)

    @property
    def n_qubits(self) -> int:
        """Qubits of the feature map."""
        return int(self._feature_map.num_qubits)

    def submit(self, plan: Plan, tag: str) -> str:
        """Keep a plan of points; the tag is the ticket."""
        if isinstance(plan, ShotPlan):
            check_measures_pairs(self)
        return super().submit(plan, tag)

    def _identity(self) -> list[str]:
        return [
            f"X={digest(self._points)}",
            f"feature_map={circuit_digest(self._feature_map)}",
        ]

    def _draw(self, plan: ShotPlan, rng: Generator) -> IntArray:
        raise TypeError("pairs are refused when they are submitted.")

    def _draw_points(self, plan: PointPlan, rng: Generator) -> OutcomeCounts:
        return draw_by_matrix_product(self._feature_map, self._points, plan, rng)

    def _draw_references(self, plan: CalibrationPlan, rng: Generator) -> OutcomeCounts:
        return plan.no_errors()
