"""Shots for prediction: what allocation and stopping save, and how often intervals cover."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aqka import MatrixBackend, Problem, Training, acquire
from aqka._util.arrays import FloatArray
from aqka.backends.statevector import zz_kernel
from aqka.core.blocks import BlockTable
from aqka.core.plans import ShotPlan
from aqka.demo.tasks import Task, breast_cancer, planted_sparse
from aqka.designs import KernelEstimate, Settle
from aqka.insight.intervals import with_total_interval
from aqka.learners import FittedHead, make_learner
from aqka.sessions import Prediction, predict
from aqka_research.benchmarks.bars import Bar

TRAINING_SHOTS = 16  # a pair
SHOTS_A_PAIR = 4.0 ** np.arange(6)
AGREEMENTS = (0.9, 0.95)
SPLITS = 5  # into training and test points, over which agreement is averaged
FEW_SPLITS = 4
WAYS = ("equally, as measured", "equally, linear Bayes", "allocated", "with stopping at 5 %")
NEVER = 1e-300  # an error rate at which no point is settled


def digits(n_train: int = 100, n_test: int = 40, seed: int = 0) -> Task:
    """Return threes against eights on four principal components under the ZZ map."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    X, y = load_digits(return_X_y=True)
    X, y = X[np.isin(y, (3, 8))], y[np.isin(y, (3, 8))]
    train_x, test_x, train_y, test_y = train_test_split(
        X, y, train_size=n_train, test_size=n_test, stratify=y, random_state=seed
    )
    scaling = make_pipeline(PCA(4, random_state=0), MinMaxScaler((0, np.pi / 2), clip=True))
    train_x, test_x = scaling.fit_transform(train_x), scaling.transform(test_x)
    return Task(
        name="digits 3 and 8, ZZ kernel",
        kernel=zz_kernel(train_x),
        test_kernel=zz_kernel(test_x, train_x),
        y=np.where(train_y == 8, 1.0, -1.0),
        test_labels=np.where(test_y == 8, 1.0, -1.0),
        ridge=0.5,
        anchors=np.empty(0, dtype=np.int64),
    )


def train_equally(task: Task, shots_a_pair: int = TRAINING_SHOTS, seed: int = 0) -> Training:
    """Return a session that spent its shots equally on the training pairs."""
    n_pairs = len(task.y) * (len(task.y) - 1) // 2
    backend = MatrixBackend(task.kernel, seed=seed)
    return acquire(backend, task.y, shots_a_pair * n_pairs, "uniform", ridge=task.ridge, seed=seed)


def measure_equally(task: Task, shots_a_pair: int, seed: int) -> BlockTable:
    """Return a test block with the same shots on every pair."""
    table = BlockTable(*task.test_kernel.shape)
    rows, cols = (axis.ravel() for axis in np.indices(task.test_kernel.shape))
    plan = ShotPlan(rows, cols, np.full(len(rows), shots_a_pair))
    backend = MatrixBackend(task.test_kernel, rectangular=True, seed=seed)
    table.add(plan, backend.collect(backend.submit(plan, "equal")))
    return table


def spend(head: FittedHead, task: Task, shots: float, error_rate: float, seed: int) -> Prediction:
    """Return the prediction of one budget, in shots a pair."""
    backend = MatrixBackend(task.test_kernel, rectangular=True, seed=seed)
    budget, stop = int(shots * task.test_kernel.size), Settle(error_rate)
    found: Prediction = predict(head, backend, budget, stop=stop)
    return found


@dataclass(frozen=True)
class Savings:
    """Test shots a pair that each way needs for the same agreement with exact test entries.

    Attributes
    ----------
    task, learner, training_shots
        What was trained, and with how many shots a pair.
    shots
        Of each way in :data:`WAYS`, one number for each of :data:`AGREEMENTS`; NaN: not reached.
    error_ratio
        Mean squared error of f at as many test shots as training shots, equally spread: entries
        as measured over linear Bayes.
    """

    task: str
    learner: str
    training_shots: int
    shots: dict[str, FloatArray]
    error_ratio: float


def shots_needed(outcome: Callable[[float, int], tuple[float, float]], splits: int) -> FloatArray:
    """Return the mean shots a pair at which each mean agreement is reached, interpolated.

    ``outcome`` returns shots a pair and agreement of one budget on one of the splits.
    """
    points = [np.mean([outcome(n, s) for s in range(splits)], axis=0) for n in SHOTS_A_PAIR]
    shots, agreement = np.array(points).T
    rising = np.maximum.accumulate(agreement)
    found = np.exp(np.interp(AGREEMENTS, rising, np.log(shots)))
    return np.where(np.asarray(AGREEMENTS) <= rising[-1], found, np.nan)


def savings(
    make_task: Callable[[int], Task],
    learner: str,
    splits: int = SPLITS,
    training_shots: int = TRAINING_SHOTS,
) -> Savings:
    """Return the shots that each way needs for the same agreement with exact test entries."""
    tasks = [make_task(seed) for seed in range(splits)]
    heads = [train_equally(t, training_shots, seed).fit(learner) for seed, t in enumerate(tasks)]
    exact = [h.predict(t.test_kernel) for h, t in zip(heads, tasks, strict=True)]

    def equally(as_measured: bool) -> Callable[[float, int], tuple[float, float]]:
        def outcome(n: float, seed: int) -> tuple[float, float]:
            table = measure_equally(tasks[seed], int(n), seed)
            labels = heads[seed].labels(_decided(heads[seed], table, as_measured))
            return n, float(np.mean(labels == exact[seed]))

        return outcome

    def by_session(error_rate: float) -> Callable[[float, int], tuple[float, float]]:
        def outcome(n: float, seed: int) -> tuple[float, float]:
            found = spend(heads[seed], tasks[seed], n, error_rate, seed)
            return float(found.table.shots.mean()), float(np.mean(found.labels == exact[seed]))

        return outcome

    outcomes = (equally(True), equally(False), by_session(NEVER), by_session(0.05))
    shots = {
        way: shots_needed(outcome, splits) for way, outcome in zip(WAYS, outcomes, strict=True)
    }
    ratio = _error_ratio(tasks, heads, training_shots)
    return Savings(tasks[0].name, learner, training_shots, shots, ratio)


def _decided(head: FittedHead, table: BlockTable, as_measured: bool) -> FloatArray:
    """Return f by linear Bayes, or from the entries as they were measured."""
    if not as_measured:
        return head.decide(table).f
    plain = KernelEstimate(head.kernel, rows_are_alike=False)
    return plain.decide(head, table).f


def _error_ratio(tasks: list[Task], heads: list[FittedHead], shots: int) -> float:
    errors = np.zeros(2)
    for seed, (head, task) in enumerate(zip(heads, tasks, strict=True)):
        f = head.decision_function(task.test_kernel)
        table = measure_equally(task, shots, seed)
        for k, as_measured in enumerate((True, False)):
            errors[k] += np.mean((_decided(head, table, as_measured) - f) ** 2)
    return float(errors[0] / errors[1])


def savings_bar(found: Savings) -> Bar:
    """Return the savings as one figure."""
    texts = []
    for k, agreement in enumerate(AGREEMENTS):
        ways = ", ".join(f"{shots[k]:.0f} {way}" for way, shots in found.shots.items())
        texts.append(f"{agreement:.0%}: {ways}")
    return Bar(
        f"{found.task}, {found.learner}: test shots a pair for a share of the exact labels",
        "; ".join([*texts, f"squared error of f, linear Bayes: {found.error_ratio:.1f} × smaller"]),
    )


def false_decisions(task: Task, repetitions: int = 40) -> Bar:
    """Return how often a settled class is wrong, over budgets small and large."""
    head = train_equally(task).fit("ridge-kfold")
    exact = head.predict(task.test_kernel)
    found = [spend(head, task, n, 0.05, seed) for n in (2, 8) for seed in range(repetitions)]
    wrong = float(np.mean([np.mean(p.settled & (p.labels != exact)) for p in found]))
    settled = float(np.mean([p.settled.mean() for p in found]))
    return Bar(
        f"{task.name}: points settled with the wrong class, 12 looks, 2 and 8 shots a pair",
        f"{wrong:.2%} of all ({settled:.0%} settled)",
        "≤ 5 %",
        wrong <= 0.05,
    )


def coverage(low: FloatArray, high: FloatArray, truth: FloatArray) -> float:
    """Return the share of intervals that hold the truth."""
    return float(np.mean((low <= truth) & (truth <= high)))


def shot_coverage(task: Task, repetitions: int = 200) -> Bar:
    """Return how often the interval from the test shots covers, at 10 shots a pair."""
    head = train_equally(task).fit("ridge-kfold")
    exact = head.decision_function(task.test_kernel)
    found = [spend(head, task, 10, 0.05, seed) for seed in range(repetitions)]
    share = float(np.mean([coverage(p.low, p.high, exact) for p in found]))
    return Bar(
        f"{task.name}: 90 % interval from 10 test shots a pair, {repetitions} repetitions",
        f"covers in {share:.1%}",
        "85 to 95 %",
        0.85 <= share <= 0.95,
    )


def total_coverage(task: Task, learner: str, shots: int, repetitions: int = 40) -> Bar:
    """Return how often the total interval covers the same learner's f on the exact kernel."""
    exact = make_learner(learner).fit(KernelEstimate(task.kernel), Problem(task.y, task.ridge))
    truth = exact.decision_function(task.test_kernel)
    shares = []
    for seed in range(repetitions):
        session = train_equally(task, shots, seed)
        found = spend(session.fit(learner), task, 10, 0.05, seed)
        found = with_total_interval(found, session, learner, repetitions=12, seed=seed)
        assert found.total_low is not None
        assert found.total_high is not None
        shares.append(coverage(found.total_low, found.total_high, truth))
    share = float(np.mean(shares))
    return Bar(
        f"{task.name}, {len(task.y)} points, {learner}, {shots} training shots a pair: total 90 % "
        f"interval, {repetitions} repetitions",
        f"covers in {share:.1%}",
        "≥ 85 %",
        share >= 0.85,
    )


def zz_task(seed: int) -> Task:
    """Return breast cancer with enough test points to see small differences."""
    return breast_cancer(80, 100, seed)


def digits_task(seed: int) -> Task:
    """Return digits with enough test points."""
    return digits(100, 100, seed)


def planted_task(seed: int) -> Task:
    """Return a planted problem with enough test points."""
    return planted_sparse(80, 100, 8, seed, largest_class=0.7)


def circles_task(seed: int) -> Task:
    """Return circles on two qubits under the ZZ map, with enough test points."""
    from sklearn.datasets import make_circles

    X, y = make_circles(180, noise=0.1, factor=0.5, random_state=seed)
    low, high = X[:80].min(axis=0), X[:80].max(axis=0)
    angles = np.pi * np.clip((X - low) / (high - low), 0, 1)
    signs = np.where(y == 1, 1.0, -1.0)
    return Task(
        name="circles, ZZ kernel",
        kernel=zz_kernel(angles[:80]),
        test_kernel=zz_kernel(angles[80:], angles[:80]),
        y=signs[:80],
        test_labels=signs[80:],
        ridge=0.5,
        anchors=np.empty(0, dtype=np.int64),
    )


def measure() -> list[Bar]:
    """Measure a selection, in a minute; the module ``prediction_page`` measures all."""
    zz, small_zz = breast_cancer(), breast_cancer(60, 10)
    return [
        savings_bar(savings(zz_task, "svm", FEW_SPLITS)),
        savings_bar(savings(digits_task, "svm", FEW_SPLITS)),
        false_decisions(zz),
        shot_coverage(zz),
        total_coverage(small_zz, "ridge", 16),
        total_coverage(small_zz, "ridge-kfold", 16),
    ]
