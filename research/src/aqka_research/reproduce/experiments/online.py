"""Adaptive rounds against a noisy simulator."""

from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from aqka_research.reproduce.claims import Claim, factor, within
from aqka_research.reproduce.experiments._base import Experiment, Parameters
from aqka_research.reproduce.experiments._notes import levels_note
from aqka_research.reproduce.experiments._two_arms import (
    ARMS,
    arm_rows,
    exact_device,
    fake_device,
    online_task,
)
from aqka_research.reproduce.measured_kernel import FAKE_HERON
from aqka_research.results import Estimate, Results
from aqka_research.spending import EXACT, MAJORITY, baseline_rows, n_pairs
from aqka_research.sweep.store import Cell, Result, stable_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_TRAIN, N_TEST, N_ANCHORS = 30, 30, 6
SEEDS = 6  # of the paper
PLACE = "App. C.9; Fig. 9, caption"


@stable_name("aqka.experiments.online:measure")
def measure(cell: Cell) -> Result:
    """Measure one seed: both arms at every budget."""
    protocol, seed = cell["protocol"], cell["seed"]
    task, x = online_task(N_TRAIN, N_TEST, N_ANCHORS, seed, protocol)
    backend = exact_device(x, "depolarising", seed)
    rows = baseline_rows(task, protocol)
    rows += arm_rows(task, backend, cell["ratios"], protocol, seed)
    noise = {"diagonal": float(backend.kernel().diagonal().mean()), "two_qubit_error": cz_error()}
    return {"rows": [*rows, {"method": "noise", **noise}]}


@lru_cache(maxsize=1)
def cz_error() -> float:
    """Return the median error of the two-qubit gates of a calibrated Heron, in percent."""
    gates = fake_device(str(FAKE_HERON["device"])).target["cz"]
    return 100 * float(np.median([gate.error for gate in gates.values()]))


def _why(results: Results, ratio: object = 4) -> str:
    return (
        f"{levels_note(results, ARMS, shots_per_pair=ratio)} Noise lowers the diagonal of the "
        f"measured kernel to {results.mean('diagonal', method='noise').value:.2f}."
    )


def _level(method: str, stated: float, error: float) -> Claim:
    return Claim(
        "App. C.9",
        f"B = 4 n_pairs: {method} has an accuracy of {stated}",
        Estimate(stated, error, SEEDS),
        lambda r: r.mean("accuracy", method=method, shots_per_pair=4),
        within(),
        _why,
    )


def _close(where: str, low: float, high: float) -> Claim:
    def inside(ratio: float) -> bool:
        return low <= ratio <= high

    return Claim(
        "Fig. 9, caption",
        f"at {where} budgets the two are within 3 pts: AQKA's gain",
        Estimate(0.0),
        lambda r: r.gain("aqka", "uniform", shots_per_pair=inside),
        within(3.0),
        lambda r: _why(r, inside),
        unit="pts",
    )


CLAIMS = (
    Claim(
        f"Sec. 5.4; {PLACE}",
        "B = 4 n_pairs: AQKA gains +20.0 pts over uniform",
        Estimate(20.0, 4.0, SEEDS),
        lambda r: r.gain("aqka", "uniform", shots_per_pair=4),
        within(),
        _why,
        reference=0.0,
        unit="pts",
    ),
    _level("aqka", 0.789, 0.045),
    _level("uniform", 0.589, 0.044),
    _close("sub-n_pairs", 0.0, 0.99),
    _close("saturating (from 16 n_pairs)", 16.0, 1e9),
    Claim(
        "App. C.9",
        "B = 4 n_pairs: uniform's test MSE is 9 times AQKA's",
        Estimate(9.0, count=SEEDS),
        lambda r: r.ratio("mse", "uniform", "aqka", shots_per_pair=4),
        factor(1.5),
        lambda r: (
            f"Mean squared errors: {r.mean('mse', method='uniform', shots_per_pair=4)} (uniform), "
            f"{r.mean('mse', method='aqka', shots_per_pair=4)} (AQKA)."
        ),
        reference=1.0,
        unit="times",
    ),
    Claim(
        "App. C.9",
        "B = 4 n_pairs: the operator-norm errors are within 20 %: AQKA's over uniform's",
        Estimate(1.0),
        lambda r: r.ratio("operator_error", "aqka", "uniform", shots_per_pair=4),
        within(0.2),
        lambda r: (
            f"Distances from the noiseless kernel: "
            f"{r.mean('operator_error', method='aqka', shots_per_pair=4)} (AQKA), "
            f"{r.mean('operator_error', method='uniform', shots_per_pair=4)} (uniform)."
        ),
        unit="times",
    ),
    Claim(
        PLACE,
        "4 n_pairs are 1860 shots",
        Estimate(1860),
        lambda r: Estimate(float(4 * n_pairs(N_TRAIN))),
        within(),
        lambda r: f"{N_TRAIN} points have {n_pairs(N_TRAIN)} pairs.",
        unit="shots",
    ),
    Claim(
        "App. C.9",
        "4 % is the two-qubit gate error of current Herons",
        Estimate(4.0),
        lambda r: Estimate(r.mean("two_qubit_error").value),
        factor(2.0),
        lambda r: (
            f"The median of {FAKE_HERON['device']}'s calibrated CZ gates, from "
            "qiskit-ibm-runtime, is far lower: the simulated noise is stronger than a Heron's."
        ),
        unit="%",
    ),
)


class Online(Experiment):
    """Uniform in one go and AQKA in five rounds on depolarising noise."""

    title = "Adaptive rounds against a noisy simulator"
    place = "Section 5.4; Appendix C.9, Figure 9"
    full: ClassVar[Parameters] = {"seeds": 20, "ratios": [0.25, 0.5, 1, 2, 4, 8, 16, 64]}
    quick: ClassVar[Parameters] = {"seeds": 2, "ratios": [0.5, 4, 16]}
    claims = CLAIMS
    by = ("method", "shots_per_pair")
    measures = (
        "accuracy",
        "balanced_accuracy",
        "correlation",
        "mse",
        "operator_error",
        "diagonal",
        "two_qubit_error",
    )

    def figures(self, results: Results) -> "dict[str, Figure]":
        """Draw both arms, and the gain."""
        from aqka_research import style

        label = "budget, shots per pair"
        accuracy = style.method_panels(
            results, ARMS, "shots_per_pair", label, levels=(EXACT, MAJORITY)
        )
        accuracy.suptitle(f"depolarising noise, N = {N_TRAIN}, m = {N_ANCHORS}")
        gain, (axes,) = style.new_figure()
        style.level(axes, 0.0, "uniform")
        gains = results.along("shots_per_pair", lambda r: r.gain("aqka", "uniform"))
        style.curve(axes, gains, "aqka")
        style.budget_axis(axes, label)
        axes.set_ylabel("accuracy gain over uniform, pts")
        return {"accuracy": accuracy, "gain": gain}
