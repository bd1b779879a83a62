"""Points of shallow circuits of any width, drawn from their exact one- and two-qubit states."""

from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, digest
from aqka.backends._bulk.light_cones import LightCones
from aqka.backends._drawing import check_shots_one_by_one, count_bits
from aqka.backends.circuits import as_data, as_feature_map, circuit_digest
from aqka.backends.simulated import PointsOnly
from aqka.core.calibration import CalibrationPlan
from aqka.core.outcomes import OutcomeCounts, outcomes_of_bits, outcomes_shape
from aqka.core.point_plans import PointPlan
from aqka.core.settings import line_edges
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

BATCH_SHOTS = 2**14
"""Shots that are drawn together; what is drawn depends on it."""


class LightConeBackend(PointsOnly):
    """Draws outcomes of points from exact reduced states, up to 256 qubits on a laptop.

    The state of one or two qubits of a shallow circuit depends on few others, its light cone, and
    is computed exactly from them, with depolarising and readout errors if wanted. A cone of more
    than 14 qubits, with depolarising noise 7, is refused.

    Each shot's bits are drawn along the neighbours that :attr:`joint_pairs` lists, each given the
    one before. So every bit and every one of these pairs has its exact probabilities, which is all
    that a projected kernel reads of a line or a tree. Bits further apart do not have their exact
    correlations, nor do pairs that would close a loop, as a lattice has: do not use them for
    anything but reduced states.

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
    depolarising
        Rate λ of ρ → (1 - λ) ρ + λ I/d after every gate of two qubits or more.
    readout
        Probability that a bit is read wrongly.

    Examples
    --------
    >>> from aqka.core.point_plans import even_plan
    >>> from aqka.core.settings import choose_settings
    >>> backend = LightConeBackend([[0.5] * 100, [0.7] * 100])
    >>> plan = even_plan([0, 1], choose_settings(100, seed=0), shots_per_point=30)
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
        depolarising: float = 0.0,
        readout: float = 0.0,
    ) -> None:
        points = as_data(X)
        circuit = as_feature_map(feature_map, points.shape[1], backwards=False)
        super().__init__(points, circuit, columns, seed)
        for name, rate in (("depolarising", depolarising), ("readout", readout)):
            if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate < 0.5:
                raise InputError(f"{name} must be a rate from 0 to below 0.5, got {rate!r}.")
        self._depolarising, self._readout = float(depolarising), float(readout)
        for qubit in range(self.n_qubits):
            self._cones.check((qubit,))

    @cached_property
    def _cones(self) -> LightCones:
        return LightCones(self._feature_map, self._points, self._depolarising)

    @cached_property
    def _parents(self) -> dict[int, int | None]:
        """Each qubit with the one that it is drawn after, in the order of drawing."""
        cones, edges = self._cones, [*self._cones.edges, *line_edges(self.n_qubits).tolist()]
        near: list[list[int]] = [[] for _ in range(self.n_qubits)]
        for a, b in edges:
            if len(cones.cone((a, b))[0]) <= cones.largest:
                near[a].append(b)
                near[b].append(a)
        parents: dict[int, int | None] = {}
        for root in range(self.n_qubits):
            parents.setdefault(root, None)
            waiting = deque([root])
            while waiting:
                qubit = waiting.popleft()
                new = [other for other in near[qubit] if other not in parents]
                parents.update(dict.fromkeys(new, qubit))
                waiting.extend(new)
        return parents

    @property
    def joint_pairs(self) -> IntArray:
        """Pairs of qubits whose bits are drawn together, the smaller one first."""
        pairs = [sorted((q, p)) for q, p in self._parents.items() if p is not None]
        return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)

    def expectations(self, edges: IntArray) -> FloatArray:
        """Return the exact expectations of one qubit each, and of the edges, before readout."""
        return self._cones.expectations(np.asarray(edges).reshape(-1, 2))

    def _identity(self) -> list[str]:
        return [
            f"X={digest(self._points)}",
            f"feature_map={circuit_digest(self._feature_map)}",
            f"depolarising={self._depolarising!r}",
            f"readout={self._readout!r}",
            "joint=neighbours",
        ]

    def _draw_points(self, plan: PointPlan, rng: Generator) -> OutcomeCounts:
        check_shots_one_by_one(plan)
        edges = self.joint_pairs
        single, double = np.split(self.expectations(edges), [3 * self.n_qubits], axis=1)
        single = single.reshape(-1, self.n_qubits, 3)
        double = double.reshape(-1, len(edges), 3, 3)
        number = {tuple(edge): k for k, edge in enumerate(edges.tolist())}
        shots = np.repeat(np.arange(len(plan)), plan.shots)
        seen = [np.zeros(outcomes_shape(0, self.n_qubits), dtype=np.int64)]
        for start in range(0, len(shots), BATCH_SHOTS):
            some = shots[start : start + BATCH_SHOTS]
            points, letters = plan.points[some], plan.letters[plan.settings[some]]
            signs = np.empty((len(some), self.n_qubits))
            for qubit, parent in self._parents.items():
                mean = single[points, qubit, letters[:, qubit]]
                if parent is not None:  # ⟨q⟩ where the parent's sign z was seen
                    a, b = sorted((qubit, parent))
                    joint = double[points, number[a, b], letters[:, a], letters[:, b]]
                    z = signs[:, parent]
                    seen_before = 1 + z * single[points, parent, letters[:, parent]]
                    mean = (mean + z * joint) / np.maximum(seen_before, 1e-15)
                signs[:, qubit] = np.where(2 * rng.random(len(some)) < 1 + mean, 1, -1)
            seen.append(self._read((signs < 0).astype(np.int64), rng))
        return count_bits(shots, np.concatenate(seen))

    def _draw_references(self, plan: CalibrationPlan, rng: Generator) -> OutcomeCounts:
        shots = np.repeat(np.arange(len(plan)), plan.shots)
        bits = np.repeat(plan.references[shots, None], self.n_qubits, axis=1)
        return count_bits(shots, self._read(bits, rng))

    def _read(self, bits: IntArray, rng: Generator) -> IntArray:
        """Return the outcomes of bits, each read wrongly with the readout's rate."""
        if self._readout:
            bits = bits ^ (rng.random(bits.shape) < self._readout)
        return outcomes_of_bits(bits)
