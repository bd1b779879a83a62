"""Readout errors of points: what correcting them wins, and how many shots a calibration needs.

Run it with ``python -m aqka_research.benchmarks.point_readout``; it takes about two minutes. Each
qubit reads wrongly with chances of its own around the given one, and the calibration's shots come
on top of the points'. Errors are root mean squares of the purified kernel's entries, of 30 points
and four seeds.
"""

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends.statevector import zz_states
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.estimates.readout import confusion_matrices
from aqka.estimates.states import fit_states
from aqka.maths.likelihood import confuse
from aqka.maths.product_bases import ProductBases

N_POINTS = 30
SEEDS = range(4)
CALIBRATIONS = 3  # drawn for each seed
CASES = ((2, 512, 0.03), (4, 512, 0.01), (4, 512, 0.03), (4, 2048, 0.03), (6, 1024, 0.03))
SHARES = (0.25, 0.5, 1, 2, 4)
"""Shots of a calibration circuit, in units of those of a point."""


def readout_errors(chance: float, n_qubits: int, random: np.random.Generator) -> FloatArray:
    """Return confusion matrices: a 0 is read wrongly less often than a 1, as on most devices."""
    up, down = chance * random.uniform(0.5, 1, n_qubits), chance * random.uniform(1, 1.5, n_qubits)
    return np.array([[[1 - u, d], [u, 1 - d]] for u, d in zip(up, down, strict=True)])


def square_errors(n_qubits: int, shots: int, chance: float, seed: int) -> list[list[float]]:
    """Return mean square errors: uncorrected, by calibrations of all shares, by the truth."""
    random = np.random.default_rng(seed)
    states = zz_states(random.uniform(0, 2, (N_POINTS, n_qubits)))
    true = readout_errors(chance, n_qubits, random)
    settings = choose_settings(n_qubits, seed=0)
    plan = even_plan(np.arange(N_POINTS), settings, shots)
    exact = np.abs(ProductBases(settings).amplitudes(states)) ** 2
    p = confuse(exact[plan.points, plan.settings], true)
    table = PointTable(N_POINTS, settings)
    counts = random.multinomial(plan.shots, p / p.sum(axis=1, keepdims=True))
    table.add(plan, OutcomeCounts.of_dense(counts))
    kernel, upper = np.abs(states @ states.conj().T) ** 2, np.triu_indices(N_POINTS, k=1)
    references = confuse(np.eye(2**n_qubits)[[0, -1]], true)

    def error(confusion: FloatArray | None) -> float:
        found = fit_states(table, confusion=confusion).kernel()
        return float(np.mean((found - kernel)[upper] ** 2))

    def calibrated(share: float) -> list[float]:
        each = [round(share * shots)] * 2
        drawn = [random.multinomial(each, references) for _ in range(CALIBRATIONS)]
        return [error(confusion_matrices(OutcomeCounts.of_dense(d), n_qubits)) for d in drawn]

    return [[error(None)], *(calibrated(share) for share in SHARES), [error(true)]]


def main() -> None:
    """Measure and print a Markdown table."""
    header = ["qubits", "S", "error of a bit", "not corrected", *(f"{s:g} S" for s in SHARES)]
    header.append("known exactly")
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))
    for n_qubits, shots, chance in CASES:
        found = [square_errors(n_qubits, shots, chance, seed) for seed in SEEDS]
        columns = zip(*found, strict=True)
        errors = [np.sqrt(np.mean(np.concatenate(column))) for column in columns]
        cells = [str(n_qubits), str(shots), f"{chance:.0%}", *(f"{error:.4f}" for error in errors)]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
