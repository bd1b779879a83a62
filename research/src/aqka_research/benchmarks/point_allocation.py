"""Whether shots over points that follow a sensitivity beat even ones.

Run it with ``python -m aqka_research.benchmarks.point_allocation``; it takes about four minutes.

Training states are measured with S shots a point on average; test states are exact, so that only
the training shots differ. Two figures for each allocator: its mean squared error of the
predictions divided by that of even shots, with the ridge that the exact kernel's leave-one-out
error chooses (what the derivation minimises), and the share of labels that agree with the exact
kernel's, each method with the ridge that its own kernel chooses.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.allocators import make_allocator
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import PointPlan
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.core.settings import choose_settings
from aqka.estimates.states import fit_states
from aqka.learners.ridge import best_loo_ridge
from aqka.maths.product_bases import ComplexArray, ProductBases
from aqka.maths.spectrum import Spectrum
from aqka_research.benchmarks.point_law import iqp_map, zz_map

TASKS = (("moons", 2), ("iris", 2), ("iris", 4), ("breast cancer", 4), ("breast cancer", 5))
MAPS: dict[str, Callable[[FloatArray], ComplexArray]] = {"ZZ": zz_map, "IQP": iqp_map}
SHOTS = (32, 128, 512)
SEEDS = range(8)
N_TEST = 140


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
    ridge = _best_ridge(problem.kernel, problem.y)
    exact = problem.rows @ Spectrum.of(problem.kernel).solve(problem.y, ridge)
    random = np.random.default_rng([seed, shots])
    table = _acquire(problem, name, shots * len(problem.y), random)
    fitted = fit_states(table)
    rows, spectrum = problem.rows_against(fitted.vectors[0]), Spectrum.of(fitted.kernel())
    error = np.mean((rows @ spectrum.solve(problem.y, ridge) - exact) ** 2)
    own = rows @ spectrum.solve(problem.y, _best_ridge(fitted.kernel(), problem.y))
    return float(error), float(np.mean(np.sign(own) == np.sign(exact)))


def _problems(
    n_qubits: int, data: str, states_of: Callable[..., ComplexArray]
) -> Iterator[_Problem]:
    for seed in SEEDS:
        X, y, n_train = _points(data, n_qubits, seed)
        states = states_of(X)
        yield _Problem(states[:n_train], states[n_train:], y[:n_train])


def main() -> None:
    """Measure and print a Markdown table, and the means over all its rows."""
    steered = ["aqka", "predictive"]
    header = ["task", "S", "even: agreement"]
    header += [f"{name}: {what}" for name in steered for what in ("error ratio", "agreement gain")]
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))
    everything: dict[str, list[FloatArray]] = {name: [] for name in steered}
    for data, n_qubits in TASKS:
        for map_name, states_of in MAPS.items():
            problems = list(_problems(n_qubits, data, states_of))
            for shots in SHOTS:
                even = _measured(problems, "uniform", shots)
                cells = [
                    f"{data}, {map_name} {n_qubits} qubits",
                    str(shots),
                    f"{even[:, 1].mean():.3f}",
                ]
                for name in steered:
                    found = _measured(problems, name, shots)
                    gain = np.column_stack(
                        [np.log(found[:, 0] / even[:, 0]), found[:, 1] - even[:, 1]]
                    )
                    everything[name].append(gain)
                    cells += [f"{np.exp(gain[:, 0].mean()):.2f}", f"{gain[:, 1].mean():+.3f}"]
                print("| " + " | ".join(cells) + " |", flush=True)
    for name, gains in everything.items():
        means = np.array([gain.mean(axis=0) for gain in gains])
        error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        print(
            f"{name}: error ratio {np.exp(means[:, 0].mean()):.3f} (× {np.exp(error[0]):.3f}), "
            f"agreement {means[:, 1].mean():+.4f} ± {error[1]:.4f}, standard errors over rows."
        )


def _measured(problems: list[_Problem], name: str, shots: int) -> FloatArray:
    return np.array([compare(problem, name, shots, k) for k, problem in enumerate(problems)])


if __name__ == "__main__":
    main()
