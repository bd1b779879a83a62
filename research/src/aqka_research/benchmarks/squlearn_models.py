"""Our regressions beside sQUlearn's QGPR, QKRR and QSVR: same data, same map, same shots.

How its projected kernel fares with shots is in
:mod:`aqka_research.benchmarks.projected_squlearn`.

First exact kernels on both sides, where the same model must predict the same. Then shots: sQUlearn
spends as many on every pair of training points and of new and training points; ours get the same
number in all, to divide between training and new points as they see fit. sQUlearn's regularisation
is its default, and the best of a grid for the new points' targets, in hindsight; ours is chosen
from the training points. QKRR and QSVR get the kernel with its negative eigenvalues cut off
(``"thresholding"``), without which QKRR fails.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from aqka import QuantumRidge
from aqka._util.arrays import FloatArray
from aqka.backends import StatevectorBackend
from aqka.estimates.projected import gaussian_projected_kernel
from aqka.estimates.reduced_states import exact_reduced_states
from aqka.learners.ridge import RidgeLoo
from aqka_research.benchmarks.bars import Bar, bar_table, faster, fastest
from aqka_research.benchmarks.target_coverage import Regression, drawn
from aqka_research.figures.page import PageRun
from aqka_research.markdown import table
from aqka_research.suite import SUITE
from aqka_research.sweep.store import Cell, Result, stable_name

TASKS = (
    "friedman, IQP 4 qubits, 100 points, half width",
    "diabetes, hardware-efficient 3 qubits, 60 points, full width",
)
N_TRAIN, N_NEW = 40, 30
RIDGE, C = 0.05, 1.0
GRID = (1e-6, 1e-3, 0.01, 0.1, 1.0, 10.0)
WIDTHS = (0.03, 0.1, 0.3, 1.0)  # γ of the classical RBF, in units of 1 / columns
SHOTS_A_PAIR = (4, 32, 256)
SEEDS = range(3)
ALLOWED = 1e-6


def small(name: str, seed: int = 0) -> Regression:
    """Return some points of a task, with targets of mean 0 and deviation 1 in training."""
    found = drawn(SUITE[name], seed, N_NEW)
    keep = np.r_[:N_TRAIN, found.n_train : found.n_train + N_NEW]
    y = found.y[keep]
    y = (y - y[:N_TRAIN].mean()) / y[:N_TRAIN].std()
    return Regression(found.task, found.X[keep], y, N_TRAIN)


def their_kernel(kind: str, circuit: Any, shots: int | None = None, seed: int = 0) -> Any:
    """Return a kernel of sQUlearn's for a Qiskit circuit."""
    from squlearn import Executor, kernel
    from squlearn.encoding_circuit import QiskitEncodingCircuit

    executor = Executor("pennylane", shots=shots, seed=seed)
    return getattr(kernel, kind)(QiskitEncodingCircuit(circuit, mode="features"), executor)


def remembered(matrix: FloatArray, regularization: str | None = None) -> Any:
    """Return a kernel that sQUlearn's models take, of points that are numbers of rows."""
    from squlearn.kernel.lowlevel_kernel.kernel_matrix_base import KernelMatrixBase

    class Remembered(KernelMatrixBase):  # type: ignore[misc]
        def __init__(self) -> None:
            self._parameters, self._is_trainable = np.zeros(0), False
            self._regularization = regularization

        def evaluate(self, x: FloatArray, y: FloatArray | None = None) -> FloatArray:
            columns = x if y is None else y
            found = np.asarray(matrix[np.ix_(x[:, 0].astype(int), columns[:, 0].astype(int))])
            if self._regularization is None or not np.array_equal(x, columns):
                return found
            return np.asarray(self._regularize_matrix(found))

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {}

        def set_params(self, **params: Any) -> None:
            pass

    return Remembered()


def agreement_bars(timed: bool) -> list[Bar]:
    """Compare the same models on exact kernels: largest difference, and time."""
    from squlearn.kernel import QGPR, QKRR, QSVR

    task = small(TASKS[0])
    n, circuit = task.n_train, task.task.feature_map()
    train, new, y = task.X[:n], task.X[n:], task.y[:n]

    def fidelity() -> FloatArray:
        return StatevectorBackend(task.X, circuit).kernel()

    def projected() -> FloatArray:
        states = exact_reduced_states(StatevectorBackend(task.X, circuit).states())
        return gaussian_projected_kernel(states, 2.0)  # sQUlearn's γ = 1 of expectations

    def ridge(kernel: FloatArray) -> QuantumRidge:
        model = QuantumRidge(backend="precomputed", learner=RidgeLoo((RIDGE,)))
        return model.fit(kernel[:n, :n], y)

    def process(kernel: FloatArray) -> FloatArray:
        """Return means and the process's own deviations, in units of its amplitude."""
        model = ridge(kernel)
        mean, deviation = model.predict(kernel[n:, :n], return_std=True)
        variance = (deviation / model.scale_) ** 2 / model.amplitude_ - RIDGE
        return np.stack([mean, np.sqrt(variance)])

    def theirs(kind: Any, kernel: str, **options: Any) -> Any:
        return kind(their_kernel(kernel, circuit), **options).fit(train, y)

    ridge_options, process_options = (
        {"alpha": RIDGE},
        {"sigma": RIDGE, "full_regularization": False},
    )
    Way = Callable[[], Any]
    ways: dict[str, tuple[Way, Way]] = {
        "QKRR": (
            lambda: theirs(QKRR, "FidelityKernel", **ridge_options).predict(new),
            lambda: ridge(kernel := fidelity()).predict(kernel[n:, :n]),
        ),
        "QGPR, means and deviations": (
            lambda: theirs(QGPR, "FidelityKernel", **process_options).predict(new, return_std=True),
            lambda: process(fidelity()),
        ),
        "QSVR": (
            lambda: theirs(QSVR, "FidelityKernel", C=C).predict(new),
            lambda: (
                SVR(kernel="precomputed", C=C)
                .fit((kernel := fidelity())[:n, :n], y)
                .predict(kernel[n:, :n])
            ),
        ),
        "QKRR on ProjectedQuantumKernel": (
            lambda: theirs(QKRR, "ProjectedQuantumKernel", **ridge_options).predict(new),
            lambda: ridge(kernel := projected()).predict(kernel[n:, :n]),
        ),
    }
    bars = []
    for name, (their_way, our_way) in ways.items():
        difference = float(np.abs(np.asarray(their_way()) - np.asarray(our_way())).max())
        measured = ""
        if timed:
            seconds, own = fastest([their_way, our_way], repeats=2)
            measured = f"{difference:.0e}; {faster(seconds / own)} here"
        bars.append(
            Bar(
                f"{name}, exact, {n} + {len(new)} points: largest difference of predictions",
                measured,
                f"≤ {ALLOWED:.0e}",
                difference <= ALLOWED,
            )
        )
    return bars


@stable_name("benchmarks.squlearn_models:errors_with_shots")
def errors_with_shots(cell: Cell) -> Result:
    """Return each model's root mean square error of the new targets, at equal shots in all."""
    from squlearn.kernel import QGPR, QKRR, QSVR

    shots, seed = cell["shots"], cell["seed"]
    task = small(cell["task"], seed)
    n, y, wanted = task.n_train, task.y[: task.n_train], task.y[task.n_train :]
    circuit = task.task.feature_map()
    # QKRR and QSVR use all of this matrix but the entries among new points, QGPR all.
    matrix = their_kernel("FidelityKernel", circuit, shots, seed).evaluate(task.X)
    train, new = np.arange(n).reshape(-1, 1), np.arange(n, len(task.X)).reshape(-1, 1)

    def error(predicted: FloatArray) -> float:
        return float(np.sqrt(np.mean((predicted - wanted) ** 2)))

    def best(kind: Any, option: str, grid: tuple[float, ...] = GRID) -> float:
        # Without it QKRR fails on a kernel that noise made indefinite; QGPR has its own.
        kernel = remembered(matrix, None if kind is QGPR else "thresholding")
        models = [kind(kernel, **{option: value}) for value in grid]
        return min(error(model.fit(train, y).predict(new)) for model in models)

    pairs = n * (n - 1) // 2 + n * len(new)
    ours = QuantumRidge(circuit, budget=shots * pairs, new_points=len(new), seed=seed)
    exact = StatevectorBackend(task.X, circuit).kernel()
    given = QuantumRidge(backend="precomputed").fit(exact[:n, :n], y)
    settings = {
        "kernelridge__alpha": GRID,
        "kernelridge__gamma": [width / task.X.shape[1] for width in WIDTHS],
    }
    classical = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))
    tuned = GridSearchCV(classical, settings, cv=5).fit(task.X[:n], y)
    return {
        "QKRR, default α": best(QKRR, "alpha", GRID[:1]),
        "QKRR, best α": best(QKRR, "alpha"),
        "QGPR, best σ": best(QGPR, "sigma"),
        "QSVR, best C": best(QSVR, "C"),
        "QuantumRidge": error(ours.fit(task.X[:n], y).predict(task.X[n:])),
        "RBF kernel ridge": error(tuned.predict(task.X[n:])),
        "exact kernel": error(given.predict(exact[n:, :n])),
        "mean of y": error(np.zeros(len(new))),
    }


def _three_digits(error: float) -> str:
    return f"{error:.3g}" if error < 1000 else f"{error:,.0f}"


def shots_table(run: PageRun) -> str:
    """Measure the errors at equal shots, and return a Markdown table of means over seeds."""
    tasks, levels, seeds = run.pick(
        (TASKS, SHOTS_A_PAIR, SEEDS), (TASKS[1:], (4,), range(1)), (TASKS[1:], (4,), range(1))
    )
    rows: list[tuple[str, ...]] = []
    for name in tasks:
        for shots in levels:
            cells: list[Cell] = [{"task": name, "shots": shots, "seed": seed} for seed in seeds]
            found = run.cells(errors_with_shots, cells)
            means = [_three_digits(np.mean([f[key] for f in found])) for key in found[0]]
            rows.append((name.split(" points")[0].rsplit(", ", 1)[0], str(shots), *means))
    return table(("task", "shots a pair", *found[0]), rows)


def sections(run: PageRun) -> list[str]:
    """Return both comparisons in Markdown."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer's deprecations are not the subject
        return [bar_table(agreement_bars(timed=run.size == "full")), shots_table(run)]
