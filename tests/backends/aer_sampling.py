"""Shots of a noisy circuit drawn by Aer's own sampler, pair by pair."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Union

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import FloatArray, IntArray, digest
from aqka._util.optional import require
from aqka.backends._drawing import as_numbers, count_bits
from aqka.backends._noisy.models import noise_digest
from aqka.backends._noisy.noisy_circuit import NoisyCircuit, Transpiled
from aqka.backends.circuits import circuit_digest, reference_angles
from aqka.backends.simulated import SimulatedBackend
from aqka.core.calibration import CalibrationPlan
from aqka.core.outcome_plans import OutcomePlan
from aqka.core.outcomes import OutcomeCounts
from aqka.core.plans import ShotPlan
from aqka.core.point_plans import PointPlan

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.providers import BackendV2
    from qiskit_aer.noise import NoiseModel

# Aer returns every shot as a string, so the shots of one run are bounded.
_SHOTS_A_RUN = 2**20


class AerSamplingBackend(SimulatedBackend):
    """Draws shots with Aer's ``SamplerV2``: slower than ``AerBackend``, independent of it.

    The circuit is the one of :class:`~aqka.backends.aer.AerBackend`, transpiled once, and both
    draw from the same distribution. Here Aer simulates it for every pair of a plan. Pairs with
    equal shots share one run, with one row of parameter values a pair, so each pair gets the
    shots of the plan exactly and is simulated once.

    Aer's seeded sampler begins the same random stream at every run, so every run gets its own
    seed, derived from ``seed`` and the tag.

    Parameters
    ----------
    X, feature_map, columns, noise, optimization_level, initial_layout
        As for ``AerBackend``.
    seed
        The hits depend on it, on the tag and on the plan, and on nothing else.

    Examples
    --------
    >>> from aqka.core import ShotPlan
    >>> from aqka.backends.aer import depolarising_noise
    >>> backend = AerSamplingBackend([[0.1, 0.2], [1.0, 2.0]], noise=depolarising_noise())
    >>> ticket = backend.submit(ShotPlan([0, 0], [0, 1], [100, 50]), tag="first")
    >>> hits = backend.collect(ticket)
    >>> bool(hits[0] > hits[1])
    True
    """

    def __init__(
        self,
        X: ArrayLike,
        feature_map: "QuantumCircuit | str | None" = None,
        *,
        noise: Union["NoiseModel", "BackendV2"],
        columns: ArrayLike | None = None,
        seed: int = 0,
        optimization_level: int = 1,
        initial_layout: list[int] | None = None,
    ) -> None:
        super().__init__(seed)
        self._noisy = NoisyCircuit(
            X, feature_map, columns, noise, optimization_level, initial_layout
        )
        self._circuit = self._noisy.circuit.copy()
        # It means nothing to the hits, and binding parameters inside Aer needs it to be fixed.
        self._circuit.global_phase = 0

    @property
    def circuit(self) -> "QuantumCircuit":
        """The transpiled circuit whose shots are drawn."""
        return self._circuit

    @property
    def shape(self) -> tuple[int, int]:
        """Points that a plan's rows and columns may name."""
        return self._noisy.shape

    def _identity(self) -> list[str]:
        return [
            f"X={digest(self._noisy.rows)}",
            f"columns={digest(self._noisy.columns)}",
            f"circuit={circuit_digest(self._circuit)}",
            f"noise={noise_digest(self._noisy.model)}",
        ]

    def _draw(self, plan: ShotPlan, rng: Generator) -> IntArray:
        hits = np.zeros(len(plan), dtype=np.int64)
        sent = Transpiled(self._circuit, self._noisy.parameters, self._noisy.model)
        for pairs in _runs(plan.shots):
            first = self._noisy.rows[plan.rows[pairs]]
            second = self._noisy.columns[plan.cols[pairs]]
            values, seed = np.hstack([first, second]), int(rng.integers(2**62))
            outcomes = _run(sent, values, int(plan.shots[pairs[0]]), seed)
            hits[pairs] = np.sum(~outcomes.any(axis=-1), axis=-1)
        return hits

    @property
    def n_qubits(self) -> int:
        """Qubits of the feature map."""
        return int(self._noisy.feature_map.num_qubits)

    def _draw_points(self, plan: PointPlan, rng: Generator) -> OutcomeCounts:
        letters = plan.letters[plan.settings]
        values = self._noisy.point_values(plan.points, letters)
        return _sampled(plan, self._noisy.point, values, rng)

    def _draw_references(self, plan: CalibrationPlan, rng: Generator) -> OutcomeCounts:
        return _sampled(plan, self._noisy.reference, reference_angles(plan.references), rng)


def _sampled(
    plan: OutcomePlan, sent: Transpiled, values: FloatArray, rng: Generator
) -> OutcomeCounts:
    """Return the outcomes of every row of a plan, which has a row of values each."""
    circuit = sent.circuit.copy()
    circuit.global_phase = 0
    sent = sent._replace(circuit=circuit)
    rows, outcomes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for which in _runs(plan.shots):
        shots = plan.shots[which]
        seen = as_numbers(_run(sent, values[which], int(shots[0]), int(rng.integers(2**62))))
        rows.append(np.repeat(which, shots))
        outcomes.append(seen.reshape(-1))
    return count_bits(np.concatenate(rows), np.concatenate(outcomes))


def _run(sent: Transpiled, values: FloatArray, shots: int, seed: int) -> NDArray[np.uint8]:
    """Return the packed bits of each row's shots."""
    options = {
        "noise_model": sent.model,
        "method": "density_matrix",
        "runtime_parameter_bind_enable": True,
        # Aer's threads wait for each other by spinning: beside other work on the machine
        # two of them took up to fourteen times as long as one.
        "max_parallel_threads": 1,
    }
    primitives = require("qiskit_aer.primitives", "aer")
    sampler = primitives.SamplerV2(seed=seed, options={"backend_options": options})
    columns = [sent.parameters.index(p) for p in sent.circuit.parameters]
    job = sampler.run([(sent.circuit, values[:, columns])], shots=shots)
    outcomes: NDArray[np.uint8] = job.result()[0].data.meas.array
    return outcomes


def _runs(shots: IntArray) -> Iterator[IntArray]:
    """Yield the pairs of each run: equal shots, and not too many in all."""
    for count in np.unique(shots[shots > 0]):
        pairs = np.flatnonzero(shots == count)
        size = max(1, _SHOTS_A_RUN // int(count))
        for start in range(0, len(pairs), size):
            yield pairs[start : start + size]
