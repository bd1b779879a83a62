"""Other models on a run's test points, against other ways to get them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from aqka.backends import StatevectorBackend
from aqka.core.problem import Problem
from aqka.designs import KernelEstimate
from aqka.learners import make_learner
from aqka.report.answers import answer_questions, can_learn, decide
from aqka.report.run_report import run_report
from aqka.report.tested import ValueResults, rivals_beside
from aqka.study import results as module
from aqka.study.results import Beside, ExactKernel, ValueScores, plain_predictions
from aqka.study.schema import parse_study, read_stored
from aqka.study.store import RunStore
from tests.report.runs import finished_run
from tests.study.helpers import small


def circles(n_points, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n_points, 2))
    return X, (np.linalg.norm(X - 0.5, axis=1) > 0.4).astype(int)


def exact_kernel(feature_map, train, test, labels, *, svm):
    study = parse_study(small(method='learner = "svm"\nC = 1.0' if svm else ""))
    points = SimpleNamespace(train=train, test=test, train_labels=labels)
    return module.exact_kernel(study, points, feature_map)


def test_the_exact_kernel_is_the_simulators(run):
    points = RunStore(run).points
    found = exact_kernel("zz", points.train, points.test, points.train_labels, svm=False)
    kernel = StatevectorBackend(points.train).kernel()
    block = StatevectorBackend(points.test, columns=points.train).kernel()
    head = make_learner("ridge-loo").fit(KernelEstimate(kernel), Problem(points.train_labels))
    assert np.array_equal(found.predicted, head.predict(block))
    assert found.n_trained == len(points.train)


def test_whether_it_learns_is_seen_by_cross_validation():
    X, y = circles(120)
    found = exact_kernel("zz", X, X[:5], y, svm=False)
    assert found.learns is True
    noise = np.random.default_rng(1).integers(0, 2, 120)
    assert exact_kernel("zz", X, X[:5], noise, svm=True).learns is False
    assert exact_kernel("z", X, X[:5], y, svm=True).learns is True
    lonely = np.array([0] * 119 + [1])
    assert exact_kernel("zz", X, X[:5], lonely, svm=False).learns is None


def test_what_is_too_large_is_sampled_or_said(monkeypatch):
    X, y = circles(60)
    assert "15 qubits" in exact_kernel("zz", np.ones((60, 15)), X, y, svm=False).unknown
    monkeypatch.setattr(module, "MAX_AMPLITUDES", 30 * 4)
    found = exact_kernel("zz", X, X[:40], y, svm=False)
    assert (found.n_trained, found.predicted) == (30, None)
    assert len(exact_kernel("zz", X, X[:20], y, svm=False).predicted) == 20


def test_plain_models_see_training_labels_only():
    X, y = circles(100)
    predicted, n_trained = plain_predictions(X[:80], X[80:], y[:80])
    assert n_trained == 80
    assert np.mean(np.array(predicted["RBF SVM"]) == y[80:]) > 0.85  # the border is round
    assert np.mean(np.array(predicted["logistic regression"]) == y[80:]) < 0.85


def test_rivals_are_compared_point_by_point(report):
    truth, trained = np.array(list("aabbbbaa")), np.array(list("aab"))
    tested = replace(report.tested, right=truth == "b")
    exact = ExactKernel("", truth.tolist(), 8)
    found = rivals_beside(tested, truth, trained, Beside(exact, {"never": ["c"] * 8}, 5))
    perfect, never, majority = found
    assert (perfect.score, perfect.against.only_second, perfect.learnt) == (1.0, 4, False)
    assert (never.score, never.against.only_first, never.n_trained) == (0.0, 4, 5)
    assert (majority.against.only_first, majority.against.only_second) == (4, 4)
    unknown = rivals_beside(tested, truth, trained, Beside(ExactKernel("why")))
    assert [one.kind for one in unknown] == ["guessing"]


def test_rivals_of_values_are_compared_by_their_errors():
    truth, trained = np.arange(8.0), np.full(30, 4.0)
    scores = ValueScores.of(truth, truth + 0.1, 4.0)
    spent, shots = np.zeros((2, 8)), np.zeros(8, int)
    tested = ValueResults([], truth + 0.1, spent, None, "", shots, truth, scores, None)
    ruler = Beside(ExactKernel("", truth.tolist(), 8), {"ruler": list(truth + 3.0)}, 20)
    found = rivals_beside(tested, truth, trained, ruler)
    assert [(one.name, round(one.score, 1), one.worse, one.n_trained) for one in found] == [
        ("ruler", 3.0, True, 20),
        ("the training points' mean", 2.3, True, 30),
    ]


def test_a_kernel_that_is_given_noise_is_told_from_data_that_can_be_learnt(tmp_path):
    """The label is in the column with the smallest spread, which no component keeps."""
    rng = np.random.default_rng(3)
    label = np.arange(120) % 2
    columns = [rng.normal(0, 10, 120), rng.normal(0, 10, 120), label + rng.normal(0, 0.05, 120)]
    rows = [
        f"s{k},{a},{b},{c},{y}" for k, (a, b, c, y) in enumerate(zip(*columns, label, strict=True))
    ]
    (tmp_path / "data.csv").write_text("\n".join(["name,a,b,c,kind", *rows, ""]))
    source = '"data.csv"\ntarget = "kind"\nid = "name"'
    text = small().replace('"moons"', source).replace("train = 12", "train = 60")
    run = finished_run(tmp_path, text.replace("test = 6", "test = 40"))
    report = run_report(run)
    plain = next(one for one in report.rivals if one.name == "RBF SVM")
    assert plain.score == 1.0
    assert can_learn(report) is False
    assert decide(report).outcome == "guessing"
    assert answer_questions(report)["What to do next?"].startswith("No more shots:")
    assert all(name.startswith("s") for name in [*report.ids, *report.tested.ids])
    assert len({*report.ids, *report.tested.ids}) == 100


@pytest.mark.parametrize("width", [2, 15])
def test_the_number_of_qubits_of_a_circuit_counts(width):
    from qiskit import QuantumCircuit
    from qiskit.circuit import ParameterVector

    X, y = circles(20)
    circuit, x = QuantumCircuit(width), ParameterVector("x", 2)
    circuit.rx(x[0], 0)
    circuit.ry(x[1], 1)
    found = exact_kernel(circuit, X, X[:3], y, svm=False)
    assert bool(found.unknown) == (width > 14)


@pytest.mark.parametrize(("columns", "n_trained"), [(2, 500), (40, 400), (400, 200)])
def test_plain_models_of_a_large_run_learn_from_a_sample(monkeypatch, columns, n_trained):
    def silent(_, y):
        return {"silent": lambda fold: np.full(len(fold.held), y[fold.kept][0])}

    monkeypatch.setattr(module, "baselines", silent)
    X, y = np.zeros((600, columns)), np.arange(600) % 2
    assert plain_predictions(X, X[:3], y)[1] == n_trained


def test_a_report_reads_the_models_that_its_run_worked_out(run, monkeypatch):
    """Tuning plain models takes most of the time of a report, and all of scikit-learn."""
    found = read_stored(Beside, RunStore(run).results["beside"])
    assert set(found.plain) == {"RBF SVM", "logistic regression", "gradient boosting"}
    monkeypatch.setattr("aqka.report.run_report.models_beside", None)  # must not be called
    assert run_report(run).best_plain is not None
    assert read_stored(Beside, {"plain": 3}) is None
