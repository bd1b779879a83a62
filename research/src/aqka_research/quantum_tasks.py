"""Which quantum-labelled candidates are kept: classical models against the exact quantum kernel.

Run it with ``python -m aqka_research.quantum_tasks``; it takes five minutes and writes
``quantum_tasks.json``. Seeds are its own: no experiment draws the same points.
"""

from dataclasses import asdict, dataclass

import numpy as np

from aqka._util.arrays import FloatArray
from aqka._util.files import as_json, write_atomically
from aqka.core.problem import Problem
from aqka.designs import KernelEstimate
from aqka.insight.baselines import baselines
from aqka.learners import make_learner
from aqka.maths.metrics import Fold
from aqka_research.suite import PointTask, QuantumTask
from aqka_research.suite_quantum import CANDIDATES, KEPT
from aqka_research.sweep.cells import run_cells
from aqka_research.sweep.store import Cell, Result, stable_name

SEEDS = range(1000, 1003)
MARGIN = 0.05
"""By how much the exact quantum kernel must be more accurate than the best classical model."""
GP = "Gaussian process"


@dataclass(frozen=True)
class Control:
    """What needs no shots on a task's test points.

    Attributes
    ----------
    accuracy
        That of a Gaussian process on the features and labels.
    agreement
        How often it gives the label of the exact quantum kernel.
    exact
        Accuracy of the leave-one-out ridge on the exact kernel.
    majority
        Accuracy of the training points' larger class.
    """

    accuracy: float
    agreement: float
    exact: float
    majority: float


def exact_labels(task: PointTask) -> FloatArray:
    """Return the test labels of a leave-one-out ridge on the exact kernel: endless shots."""
    y = np.where(task.y >= 0, 1.0, -1.0)
    head = make_learner("ridge-loo").fit(KernelEstimate(task.kernel), Problem(y))
    return np.where(head.decision_function(task.test_kernel) >= 0, 1.0, -1.0)


def gp_labels(task: PointTask) -> FloatArray:
    """Return the test labels of a Gaussian process on the labels, a width for each feature."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(task.X)
    widths = np.full(task.X.shape[1], np.sqrt(task.X.shape[1]))
    kernel = ConstantKernel(1.0) * RBF(widths, (0.05, 1e3)) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, n_restarts_optimizer=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # widths of useless features diverge
        model.fit(scaler.transform(task.X), np.where(task.y >= 0, 1.0, -1.0))
    return np.where(model.predict(scaler.transform(task.test_X)) >= 0, 1.0, -1.0)


def classical_control(task: QuantumTask) -> Control:
    """Return what a Gaussian process on the labels reaches without a shot."""
    exact, classical = exact_labels(task), gp_labels(task)
    return Control(
        accuracy=float(np.mean(classical == task.test_labels)),
        agreement=float(np.mean(classical == exact)),
        exact=float(np.mean(exact == task.test_labels)),
        majority=task.majority_accuracy,
    )


def classical_accuracies(task: QuantumTask) -> dict[str, float]:
    """Return the accuracy of tuned classical models on the features that the circuit encodes."""
    from sklearn.ensemble import RandomForestClassifier

    X = np.concatenate([task.X, task.test_X])
    n, y = len(task.y), np.concatenate([task.y, task.test_labels]).astype(np.int64)
    fold = Fold(kept=np.arange(n), held=np.arange(n, len(X)))
    answers = {name: predict(fold) for name, predict in baselines(X, y).items()}
    forest = RandomForestClassifier(200, random_state=0).fit(task.X, y[:n])
    answers["random forest"] = forest.predict(task.test_X)
    answers[GP] = gp_labels(task)
    return {name: float(np.mean(found == task.test_labels)) for name, found in answers.items()}


@stable_name("aqka.quantum_tasks:measure")
def measure(cell: Cell) -> Result:
    """Return the accuracies on one seed of a candidate, and the classical control."""
    task = CANDIDATES[cell["task"]].draw(cell["seed"])
    return {"classical": classical_accuracies(task), **asdict(classical_control(task))}


def main() -> None:
    """Measure all candidates and write the kept ones."""
    cells: list[Cell] = [{"task": name, "seed": seed} for name in CANDIDATES for seed in SEEDS]
    results = run_cells(measure, cells, workers=1, on_cell=lambda cell, _: print(cell))
    kept = {}
    for name in CANDIDATES:
        found = [r for cell, r in zip(cells, results, strict=True) if cell["task"] == name]
        means = {
            model: float(np.mean([result["classical"][model] for result in found]))
            for model in found[0]["classical"]
        }
        best = max(means, key=lambda model: means[model])
        control = {
            what: round(float(np.mean([result[what] for result in found])), 4)
            for what in ("accuracy", "agreement", "exact", "majority")
        }
        if control["exact"] - means[best] >= MARGIN:
            kept[name] = {"best classical": best, "classical": round(means[best], 4), **control}
    write_atomically(KEPT, as_json(kept))
    print(f"kept {len(kept)} of {len(CANDIDATES)}: {KEPT}")


if __name__ == "__main__":
    main()
