"""A judge of AerBackend: the same circuits, whose shots Aer's own sampler draws row by row."""

from collections.abc import Iterator

import numpy as np
from qiskit_aer.primitives import SamplerV2

from aqka.backends import AerBackend
from aqka.backends._noisy.models import noise_on_circuit
from aqka.backends._programs import program_of
from aqka.backends.simulated import as_outcomes, count_bits

# Aer returns every shot as a string, so the shots of one run are bounded.
_SHOTS_A_RUN = 2**20


class AerSamplingBackend(AerBackend):
    """Draws through Aer's ``SamplerV2``, and so slower than AerBackend and independent of it.

    Rows with equal shots share one run. Aer's seeded sampler begins the same random stream at
    every run, so every run has a seed of its own.
    """

    def _draw(self, plan, rng):
        hits = np.zeros(len(plan), dtype=np.int64)
        for which, outcomes in self._runs(plan, rng):
            hits[which] = np.sum(~outcomes.any(axis=-1), axis=-1)
        return hits

    def _draw_points(self, plan, rng):
        rows, seen = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for which, outcomes in self._runs(plan, rng):
            rows.append(np.repeat(which, plan.shots[which]))
            seen.append(as_outcomes(outcomes.reshape(-1, outcomes.shape[-1]), plan.n_qubits))
        return count_bits(np.concatenate(rows), np.concatenate(seen))

    _draw_references = _draw_points

    def _runs(self, plan, rng) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield some rows of equal shots, and the packed bits of these shots."""
        program = program_of(plan)
        sent = self._circuits.of(program)
        circuit = sent.circuit.copy()
        # It means nothing to the hits, and binding parameters inside Aer needs it to be fixed.
        circuit.global_phase = 0
        options = {
            "noise_model": noise_on_circuit(self._noise, circuit),
            "method": "density_matrix",
            "runtime_parameter_bind_enable": True,
            "max_parallel_threads": 1,
        }
        for shots in np.unique(plan.shots[plan.shots > 0]):
            rows = np.flatnonzero(plan.shots == shots)
            size = max(1, _SHOTS_A_RUN // int(shots))
            for start in range(0, len(rows), size):
                which = rows[start : start + size]
                values = program.values(plan, which, self._rows, self._columns)[:, sent.order]
                sampler = SamplerV2(
                    seed=int(rng.integers(2**62)), options={"backend_options": options}
                )
                job = sampler.run([(circuit, values)], shots=int(shots))
                yield which, job.result()[0].data.meas.array
