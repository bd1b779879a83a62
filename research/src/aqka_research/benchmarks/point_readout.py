"""Readout errors of points: what correcting them wins, and how many shots a calibration needs.

Each qubit reads wrongly with chances of its own around the given one, and the calibration's shots
come on top of the points'. Errors are root mean squares of the purified kernel's entries.
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
from aqka_research.figures.page import PageRun
from aqka_research.markdown import table
from aqka_research.sweep.store import Cell, Result, stable_name

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


@stable_name("benchmarks.point_readout:measure")
def measure(cell: Cell) -> Result:
    """Return the square errors of one seed of a case."""
    n_qubits, shots, chance = cell["case"]
    return {"errors": square_errors(n_qubits, shots, chance, cell["seed"])}


def section(run: PageRun) -> list[str]:
    """Return the section of the page of points."""
    cases, seeds = run.pick((CASES, SEEDS), (CASES[:2], range(1)), (CASES[:1], range(1)))
    cells: list[Cell] = [{"case": list(case), "seed": seed} for case in cases for seed in seeds]
    found = run.cells(measure, cells)
    rows = []
    for k, (n_qubits, shots, chance) in enumerate(cases):
        mine = [one["errors"] for one in found[k * len(seeds) : (k + 1) * len(seeds)]]
        columns = zip(*mine, strict=True)
        errors = (f"{np.sqrt(np.mean(np.concatenate(column))):.4f}" for column in columns)
        rows.append((str(n_qubits), f"{shots:,}", f"{chance:.0%}", *errors))
    header = ("qubits", "S", "error of a bit", "not corrected", *(f"{s:g} S" for s in SHARES))
    return [
        "## Shots of a calibration",
        f"Root mean square error of the purified kernel of {N_POINTS} points, by shots of a "
        "calibration circuit; S is the shots of a point.",
        table((*header, "known exactly"), rows),
    ]
