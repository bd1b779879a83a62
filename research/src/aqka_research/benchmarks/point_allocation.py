"""Whether shots over points that follow a sensitivity beat even ones.

Training states are measured with S shots a point on average; test states are exact, so that only
the training shots differ. Two figures for each allocator: its mean squared error of the
predictions divided by that of even shots, with the ridge that the exact kernel's leave-one-out
error chooses (what the derivation minimises), and the share of labels that agree with the exact
kernel's, each method with the ridge that its own kernel chooses.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray, IntArray
from aqka.allocators import make_allocator
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import PointPlan
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.core.settings import choose_settings
from aqka.estimates.states import fit_states
from aqka.learners.ridge import best_loo_ridge
from aqka.maths.product_bases import ProductBases
from aqka.maths.spectrum import Spectrum
from aqka_research.benchmarks.classical import (
    MAJORITY,
    best_and_majority,
    labels_without_shots,
)
from aqka_research.benchmarks.point_law import iqp_map, zz_map
from aqka_research.figures.page import PageRun
from aqka_research.markdown import table
from aqka_research.sweep.store import Cell, Result, stable_name

TASKS = (("moons", 2), ("iris", 2), ("iris", 4), ("breast cancer", 4), ("breast cancer", 5))
MAPS: dict[str, Callable[[FloatArray], ComplexArray]] = {"ZZ": zz_map, "IQP": iqp_map}
SHOTS = (32, 128, 512)
SEEDS = range(8)
N_TEST = 140
STEERED = ("aqka", "predictive")


@dataclass(frozen=True, eq=False)
class _Problem:
    states: ComplexArray
    new_states: ComplexArray
    y: FloatArray

    @property
    def kernel(self) -> FloatArray:
        return np.asarray(np.abs(self.states @ self.states.conj().T) ** 2)

    @property
    def rows(self) -> FloatArray:
        return self.rows_against(self.states)

    def rows_against(self, states: ComplexArray) -> FloatArray:
        return np.asarray(np.abs(self.new_states @ states.conj().T) ** 2)

    def exact(self) -> tuple[float, FloatArray]:
        """Return the ridge that the exact kernel chooses, and its decisions on new points."""
        ridge = _best_ridge(self.kernel, self.y)
        return ridge, self.rows @ Spectrum.of(self.kernel).solve(self.y, ridge)


def _points(name: str, n_qubits: int, seed: int) -> tuple[FloatArray, FloatArray, int]:
    """Return features within [0, 1], labels and the number of training points."""
    from sklearn.datasets import load_breast_cancer, load_iris, make_moons
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import MinMaxScaler

    if name == "moons":
        X, y = make_moons(240, noise=0.15, random_state=seed)
    elif name == "iris":  # the two classes that are hard to tell apart
        X, y = load_iris(return_X_y=True)
        X, y = X[50:], y[50:] == 2
    else:
        X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    n_train = 60 if name == "iris" else 100
    X, y = X[order[: n_train + N_TEST]], y[order[: n_train + N_TEST]]
    if X.shape[1] > n_qubits:
        X = PCA(n_qubits, random_state=0).fit(X[:n_train]).transform(X)
    X = MinMaxScaler((0, 1), clip=True).fit(X[:n_train]).transform(X)
    return X, np.where(y, 1.0, -1.0), n_train


def _spread_over_settings(shots: IntArray, letters: IntArray) -> PointPlan:
    """Return a plan of the points' shots, each spread evenly over the settings."""
    n_settings = len(letters)
    rest = shots % n_settings
    first = np.cumsum(rest) - rest
    turn = (np.arange(n_settings) - first[:, None]) % n_settings
    table = shots[:, None] // n_settings + (turn < rest[:, None])
    points, settings = np.nonzero(table)
    return PointPlan(points, settings, table[points, settings], letters)


def _acquire(problem: _Problem, name: str, budget: int, random: np.random.Generator) -> PointTable:
    settings = choose_settings(int(np.log2(problem.states.shape[1])), seed=0)
    p = np.abs(ProductBases(settings).amplitudes(problem.states)) ** 2
    p /= p.sum(axis=2, keepdims=True)
    allocator, table = make_allocator(name).over("point"), PointTable(len(p), settings)
    labels = Problem(problem.y)
    for end in allocator.schedule.milestones(budget):
        shots = allocator.ask(table, labels, end - table.total, random).shots
        plan = _spread_over_settings(shots, settings)
        counts = random.multinomial(plan.shots, p[plan.points, plan.settings])
        table.add(plan, OutcomeCounts.of_dense(counts))
    return table


def _best_ridge(kernel: FloatArray, y: FloatArray) -> float:
    return best_loo_ridge(Spectrum.of(kernel), y[:, None])


def compare(problem: _Problem, name: str, shots: int, seed: int) -> tuple[float, float]:
    """Return the squared error of the predictions at the exact ridge, and the agreement."""
    ridge, exact = problem.exact()
    random = np.random.default_rng([seed, shots])
    table = _acquire(problem, name, shots * len(problem.y), random)
    fitted = fit_states(table)
    rows, spectrum = problem.rows_against(fitted.vectors[0]), Spectrum.of(fitted.kernel())
    error = np.mean((rows @ spectrum.solve(problem.y, ridge) - exact) ** 2)
    own = rows @ spectrum.solve(problem.y, _best_ridge(fitted.kernel(), problem.y))
    return float(error), float(np.mean(np.sign(own) == np.sign(exact)))


@stable_name("benchmarks.point_allocation:measure")
def measure(cell: Cell) -> Result:
    """Return error and agreement of every allocator at every S, for one seed of a task."""
    X, y, n_train = _points(cell["data"], cell["qubits"], cell["seed"])
    states = MAPS[cell["map"]](X)
    problem = _Problem(states[:n_train], states[n_train:], y[:n_train])
    exact = np.sign(problem.exact()[1])
    free = labels_without_shots(X[:n_train], y[:n_train], X[n_train:])
    found = {
        name: [compare(problem, name, shots, cell["seed"]) for shots in cell["shots"]]
        for name in ("uniform", *STEERED)
    }
    return {
        "found": found,
        "free": {name: float(np.mean(labels == exact)) for name, labels in free.items()},
    }


def section(run: PageRun) -> list[str]:
    """Return the section of the page of points."""
    tasks, seeds = run.pick((TASKS, SEEDS), (TASKS[:2], range(2)), (TASKS[1:2], range(1)))
    levels = run.pick(SHOTS, SHOTS[:2], SHOTS[:1])
    groups: list[Cell] = [
        {"data": data, "qubits": n, "map": name, "shots": list(levels)}
        for data, n in tasks
        for name in MAPS
    ]
    found = run.cells(measure, [{**group, "seed": seed} for group in groups for seed in seeds])
    rows = []
    everything: dict[str, list[FloatArray]] = {name: [] for name in STEERED}
    for k, group in enumerate(groups):
        mine = found[k * len(seeds) : (k + 1) * len(seeds)]
        values = {name: np.array([one["found"][name] for one in mine]) for name in mine[0]["found"]}
        free = best_and_majority([one["free"] for one in mine])
        even = values["uniform"]
        row = [f"{group['data']}, {group['map']} {group['qubits']} qubits"]
        row.append(" / ".join(f"{a:.3f}" for a in even[:, :, 1].mean(axis=0)))
        row += [f"{share:.3f}" for share in free]
        for name in STEERED:
            ratio = np.log(values[name][:, :, 0] / even[:, :, 0]).mean(axis=0)
            gain = (values[name][:, :, 1] - even[:, :, 1]).mean(axis=0)
            everything[name].append(np.array([ratio, gain]))
            row += [" / ".join(f"{r:.2f}" for r in np.exp(ratio))]
            row += [" / ".join(f"{g:+.3f}" for g in gain)]
        rows.append(row)
    words = []
    for name, gains in everything.items():
        every = np.concatenate(gains, axis=1)
        error = (
            every.std(axis=1, ddof=1) / np.sqrt(every.shape[1]) if every.shape[1] > 1 else (0, 0)
        )
        words.append(
            f"`{name}` has {np.exp(every[0].mean()):.2f} times the error (standard error "
            f"{np.expm1(error[0]):.1%}) and {100 * every[1].mean():+.1f} ± {100 * error[1]:.1f} "
            "points of agreement"
        )
    shown = " / ".join(map(str, levels))
    header = ["task", "even, agreement", "classical, no shots", MAJORITY]
    for name in STEERED:
        header += [f"{name}: error", "agreement"]
    return [
        "## Allocation over points",
        "Development tasks. Compared with even shots: the ratio of mean squared errors of the "
        "predictions at one ridge, and the gain in labels that agree with the exact kernel's, each "
        f"at {shown} shots per point, means of {len(seeds)} seeds. The classical model is the best "
        f"of {len(found[0]['free']) - 1} in hindsight, without the Gaussian process that "
        "[other tables](classical.md) have.",
        table(header, rows),
        "Over all rows " + "; ".join(words) + ".",
    ]
