"""Regression from the study file to predictions and report, in the target's units."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm, ttest_rel
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aqka import InputError, StatevectorBackend
from aqka.backends.feature_maps import DEFAULT_REPS
from aqka.backends.statevector import fidelities
from aqka.core.problem import TargetScale
from aqka.insight.exact_kernels import map_states
from aqka.report.answers import decide
from aqka.report.run_page import run_page
from aqka.report.run_report import run_report
from aqka.sessions import Prediction
from aqka.study.carry_out import carry_out, resume
from aqka.study.directory import prepare
from aqka.study.method import target_interval
from aqka.study.model_file import export_model
from aqka.study.new_points import predict_new_points
from aqka.study.points import load_table
from aqka.study.schema import DataSection, parse_study
from aqka.study.store import RunStore
from tests.study.helpers import write_study
from tests.study.test_new_points import call, read_csv, write_csv

GUESS = "the training points' mean"
STUDY = """
output = "run"
[data]
source = "houses.csv"
task = "regression"
target = "price"
id = "house"
[split]
train = 30
test = 10
[feature_map]
map = "z"
qubits = 2
range = [0.0, 1.0]
[budget]
train = "60000 shots"
test_shots = 200
[method]
design = "pairs"
rounds = 3
"""


def houses(n_points=40, seed=0):
    """Prices in the hundreds, a smooth function of two columns."""
    X = np.random.default_rng(seed).uniform(0, 1, (n_points, 2))
    price = 300 + 80 * np.cos(3 * X[:, 0]) + 40 * X[:, 1]
    return X, price


def carried_out(base, study):
    X, price = houses()
    rows = [[f"no. {k}", *X[k], price[k]] for k in range(len(X))]
    write_csv(base / "houses.csv", ["house", "size", "age", "price"], rows)
    return carry_out(prepare(write_study(base, study)), base / "run")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return carried_out(tmp_path_factory.mktemp("regression"), STUDY)


def test_results_are_values_in_the_units_of_the_target(run):
    found = run.results["results"]
    assert found["task"] == "regression"
    assert not {"classes", "settled", "accuracy"} & set(found)
    truth = run.points.test_labels
    predicted = np.array(found["predictions"])
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((predicted - truth) ** 2)))
    assert found["mean_rmse"] == pytest.approx(
        np.sqrt(np.mean((run.points.train_labels.mean() - truth) ** 2))
    )
    assert found["rmse"] < found["mean_rmse"] / 3
    new, known = (map_states(x, "z", DEFAULT_REPS) for x in (run.points.test, run.points.train))
    exact = fidelities(new, known)
    scale = TargetScale.of(run.points.train_labels)
    f = run.head.decision_function(exact) * scale.spread + scale.centre
    inside = (np.array(found["low"]) <= f) & (f <= np.array(found["high"]))
    assert inside.sum() >= 6
    assert run.found.shots.sum() == 10 * 30 * 200
    assert not isinstance(run.found, Prediction)


def test_the_run_is_read_and_reported_as_it_was(run):
    report = run_report(run.directory)
    np.testing.assert_array_equal(report.tested.value, run.found.f)
    assert np.all(report.tested.wide[0] <= report.tested.narrow[0])
    assert np.all(report.tested.wide[1] >= report.tested.narrow[1])
    verdict = decide(report)
    assert verdict.outcome == "learnt"
    page = run_page(report)
    assert "Predicted values against targets" in page
    assert "root mean square error" in page
    assert "majority" not in page.split("Glossary")[0]
    by_name = {one.name: one for one in report.rivals}
    assert set(by_name) == {"RBF SVM", "linear ridge", "gradient boosting", GUESS}
    # By scikit-learn itself, on the user's own columns and the run's own split.
    columns, truth = run.points, run.points.test_labels
    line = make_pipeline(StandardScaler(), RidgeCV([0.1, 1.0, 10.0, 100.0], cv=KFold(3)))
    line.fit(columns.train_columns, run.points.train_labels)
    errors = line.predict(columns.test_columns) - truth
    ridge = by_name["linear ridge"]
    assert ridge.score == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-2)
    run_errors = run.found.f - truth
    expected = ttest_rel(errors**2, run_errors**2).pvalue * 3
    assert ridge.p_value == pytest.approx(min(1.0, expected), rel=0.05)
    guess = by_name[GUESS]
    assert guess.score == pytest.approx(report.tested.scores.mean_rmse)
    assert guess.worse
    assert guess.against.difference == pytest.approx(report.tested.scores.gain)
    assert "linear ridge" in page
    assert report.tested.ids[0].startswith("no. ")


def test_the_interval_of_the_target_is_that_of_a_gaussian_process(run):
    """Amplitude by a search for the largest likelihood, variances by plain matrix inversion."""
    found, points = run.found, run.points
    scale = TargetScale.of(points.train_labels)
    y = scale.scaled(points.train_labels)
    noisy = run.head.kernel + run.head.regularisation * np.eye(len(y))

    def loss(log_a):
        covariance = np.exp(log_a) * noisy
        return y @ np.linalg.solve(covariance, y) + np.linalg.slogdet(covariance)[1]

    amplitude = np.exp(minimize_scalar(loss, bounds=(-12, 12), options={"xatol": 1e-9}).x)
    entries = replace(run.head, alpha=np.eye(len(y)), intercept=np.zeros(len(y)))
    rows = entries.decide(found.table).f
    known = np.einsum("ij,jk,ik->i", rows, np.linalg.inv(noisy), rows)
    around = amplitude * (np.maximum(1 - known, 0) + run.head.regularisation)
    deviation = np.sqrt(around + found.decided.deviation**2) * scale.spread
    low, high = target_interval(found, points)
    np.testing.assert_allclose(high - low, 2 * norm.ppf(0.95) * deviation, rtol=1e-4)
    np.testing.assert_allclose((high + low) / 2, found.f)
    results = run.results["results"]
    np.testing.assert_array_equal([results["target_low"], results["target_high"]], [low, high])
    assert np.mean((low <= points.test_labels) & (points.test_labels <= high)) >= 0.8
    page = run_page(run_report(run.directory))
    assert "90 %, the target" in page
    assert "should hold 90 % of the targets and hold" in page


def test_the_total_interval_is_in_the_units_of_the_target(run):
    """Scaled once too often or too seldom it would be off by their spread, a factor of 60."""
    report = run_report(run.directory)
    width = np.median(np.diff(report.tested.wide, axis=0))
    assert 0.3 < width / np.std(run.points.train_labels) < 18


def test_new_points_keep_their_names_and_are_scored(run, tmp_path, monkeypatch, capsys):
    X, price = houses(6, seed=5)
    rows = [[f"=new {k}", *X[k], price[k] if k else "", "x"] for k in range(6)]
    file = write_csv(tmp_path / "new.csv", ["house", "size", "age", "price", "value"], rows)
    found = predict_new_points(run.directory, file, 300)
    with pytest.raises(InputError, match="prior 'angles' answers classes, and the run is a"):
        predict_new_points(run.directory, file, 300, prior="angles")
    with pytest.raises(InputError, match="cannot be exported: it is a regression, and a model"):
        export_model(run.directory, tmp_path / "model.aqka")
    assert found.others["house"] == [f"=new {k}" for k in range(6)]
    assert found.truth[0] is None
    scores = found.scores()
    assert scores["points"] == 5
    errors = found.prediction.f[1:] - price[1:]
    assert scores["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    target = tmp_path / "out.csv"
    code, out, _ = call(
        monkeypatch, capsys, "predict", run.directory, file, "--shots", 300, "--output", target
    )
    assert code == 0
    assert "root mean square error" in out
    assert "=new 2" in out
    assert "value (file)" not in out
    table = read_csv(target)
    assert table[2]["house"] == "'=new 2"  # no spreadsheet takes it for a formula
    assert float(table[2]["truth"]) == pytest.approx(price[2], abs=1e-3)
    assert table[2]["value (file)"] == "x"
    assert "settled" not in table[0]
    _, out, _ = call(monkeypatch, capsys, "predict", run.directory, file, "--shots", 300, "--json")
    answer = json.loads(out)
    assert "classes" not in answer
    assert answer["scores"] == scores
    assert answer["points"][1]["low"] < answer["points"][1]["value"] < answer["points"][1]["high"]


def test_the_command_prints_the_error_and_the_verdict(run, tmp_path, monkeypatch, capsys):
    directory = run.directory
    code, out, _ = call(monkeypatch, capsys, "report", directory, "--json")
    assert code == 0
    told = json.loads(out)["runs"][0]
    assert told["test_values"]["rmse"] == run.results["results"]["rmse"]
    assert told["rivals"][-1]["worse"]


def test_a_resumed_run_gives_the_same(run):
    expected = (run.directory / "results.json").read_bytes()
    (run.directory / "results.json").unlink()
    again = resume(RunStore(run.directory))
    assert (run.directory / "results.json").read_bytes() == expected
    np.testing.assert_array_equal(again.found.f, run.found.f)


def test_built_in_data_say_which_task_they_are_for(tmp_path):
    table = load_table(DataSection(source="diabetes", task="regression"), tmp_path)
    assert table.y.dtype == np.float64
    with pytest.raises(InputError, match=r"data\.task must be 'regression'"):
        load_table(DataSection(source="diabetes"), tmp_path)
    with pytest.raises(InputError, match=r"data\.task must be 'classification'"):
        load_table(DataSection(source="iris", task="regression"), tmp_path)


def test_mistakes_are_told(tmp_path):
    text = STUDY.replace("[method]\n", '[method]\nlearner = "svm"\n')
    with pytest.raises(InputError, match="'svm' is for classes"):
        parse_study(text)
    with pytest.raises(InputError, match=r"method\.prior 'angles' answers classes"):
        parse_study(STUDY.replace("[method]\n", '[method]\nprior = "angles"\n'))
    write_csv(tmp_path / "houses.csv", ["house", "size", "price"], [[k, k, "dear"] for k in "1234"])
    with pytest.raises(InputError, match=r"row 1: the target holds 'dear', not a number"):
        prepare(write_study(tmp_path, STUDY))
    write_csv(tmp_path / "houses.csv", ["house", "size", "price"], [[k, k, 2.5] for k in "1234"])
    with pytest.raises(InputError, match=r"holds 2\.5 for every point"):
        prepare(write_study(tmp_path, STUDY.replace("qubits = 2", "qubits = 1")))
    rows = [[k, k, float(k) + 0.5] for k in "1234"]
    write_csv(tmp_path / "houses.csv", ["house", "size", "price"], rows)
    with pytest.raises(InputError, match=r"set data\.task = 'regression'"):
        prepare(write_study(tmp_path, STUDY.replace('task = "regression"\n', "")))


def test_values_of_points_from_run_to_new_points(tmp_path, monkeypatch, capsys):
    text = STUDY.replace("60000", "12000").replace('design = "pairs"\nrounds = 3', "")
    run = carried_out(tmp_path, text.replace("test_shots = 200\n", ""))
    assert run.results["design"] == "points"
    found = run.results["results"]
    assert found["task"] == "regression"
    assert not {"classes", "settled", "accuracy"} & set(found)
    assert found["rmse"] < found["mean_rmse"] / 2
    # Values do not settle on the way, so one job is quoted for them, and one was submitted.
    assert [part["submissions"] for part in run.results["quote"]["parts"]] == [1]
    assert run.results["actual"]["test_submissions"] == 1
    np.testing.assert_array_equal(run.found.shots, np.full(10, 400))  # what a training point got
    # The head on exact states, in the target's units: what the intervals are for.
    scale = TargetScale.of(run.points.train_labels)
    backend = StatevectorBackend(run.points.test, "z")
    exact = run.head.estimate.decide_exactly(run.head, backend)
    exact = exact * scale.spread + scale.centre
    assert np.sum((run.found.low <= exact) & (exact <= run.found.high)) >= 6
    expected = (run.directory / "results.json").read_bytes()
    (run.directory / "results.json").unlink()
    resume(RunStore(run.directory))
    assert (run.directory / "results.json").read_bytes() == expected
    report = run_report(run.directory)
    np.testing.assert_array_equal(report.tested.value, run.found.f)
    assert decide(report).outcome == "learnt"
    page = run_page(report)
    assert "Predicted values against targets" in page
    assert "4,000 more went to 10 test points: 16,000 in all" in page
    X, price = houses(6, seed=5)
    rows = [["", *X[k], price[k]] for k in range(6)]
    file = write_csv(tmp_path / "new.csv", ["house", "size", "age", "price"], rows)
    code, out, _ = call(monkeypatch, capsys, "predict", run.directory, file, "--json")
    answer = json.loads(out)
    assert code == 0
    assert "classes" not in answer
    assert answer["scores"]["rmse"] < answer["scores"]["mean_rmse"] / 2
    first = answer["points"][0]
    assert first["low"] < first["value"] < first["high"]
    assert first["shots"] == 400
    target = tmp_path / "out.csv"
    code, out, _ = call(monkeypatch, capsys, "predict", run.directory, file, "--output", target)
    assert code == 0
    assert "6 values with 2,400 of 2,400 shots" in out
    assert float(read_csv(target)[0]["value"]) == pytest.approx(first["value"], abs=1e-3)
