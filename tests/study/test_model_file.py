"""Model files: what they answer without a backend, and what they refuse."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import aqka
from aqka import InputError, LedgerError, QuantumRidgeClassifier
from aqka.cli.app import app
from aqka.report.run_report import study_report
from aqka.study.carry_out import carry_out
from aqka.study.directory import prepare
from aqka.study.model_file import export_model, load_model
from aqka.study.new_points import predict_new_points
from aqka.study.results import prior_facts
from aqka.study.store import RunStore, load_study_run
from tests.study.helpers import write_study

STUDY = """
output = "run"
[data]
source = "moons"
[split]
train = 30
test = 40
[feature_map]
qubits = 2
range = [0.0, 1.57]
[budget]
train = "3000 shots"
test_shots = 64
[method]
design = "points"
prior = "angles"
"""


def command(*arguments):
    """Run a command in this process."""
    found = CliRunner().invoke(app, [str(one) for one in arguments])
    assert found.exit_code == 0, found.output
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    carry_out(prepare(write_study(folder, STUDY)), folder / "run")
    export_model(folder / "run", folder / "model.aqka")
    return folder


@pytest.fixture(scope="module")
def new(run):
    points = np.random.default_rng(3).uniform([-1, -0.5], [2, 1], (50, 2))
    np.savez(run / "new.npz", X=points)
    return points


def test_a_study_says_what_cost_no_shot_and_why(run):
    results = json.loads((run / "run" / "results.json").read_text())
    prior, actual = results["prior"], results["actual"]
    assert prior["answered_by"].count("prior") == prior["without_shots"] > 10
    assert prior["answered_by"].count("audit") == len(prior["audit"]["points"]) == 10
    assert actual["test_shots"] == (40 - prior["without_shots"]) * 64
    assert 0.5 < prior["control"]["agreement"] <= 1
    assert prior["control"]["accuracy"] > 0.7
    again = load_study_run(RunStore(run / "run"))
    assert again.found.answered_by == prior["answered_by"]
    words = study_report(again).tested.certainty_words()
    assert f"The prior answers {prior['without_shots']} of 40 points without a shot" in words
    assert "Audit of the prior" in words
    assert "A Gaussian process on the labels alone" in words


def test_the_model_without_shots_is_compared_on_points_whose_class_is_known(run, monkeypatch):
    again = load_study_run(RunStore(run / "run"))
    labels = again.found.labels
    control = np.where(np.arange(40) == 0, labels, 1 - labels)  # right of the first alone
    monkeypatch.setattr("aqka.study.results.process_labels", lambda *given: control)
    truth = [*labels[:2].tolist(), *[None] * 38]
    said = prior_facts(again.found, again.points, again.points.test, truth)
    assert said["control"] == {"agreement": 1 / 40, "accuracy": 0.5}
    assert not any("buy no shots" in sentence for sentence in said["sentences"])


def test_a_model_file_answers_as_the_run_would_and_abstains_from_the_rest(run, new):
    bought = predict_new_points(run / "run", run / "new.npz", 16)
    model = aqka.load_model(run / "model.aqka")
    found = model.predict(new)
    by_prior = [row["answered_by"] != "shots" for row in bought.rows()]
    assert np.array_equal(found.settled, by_prior)
    free = bought.prediction.by_prior
    assert np.array_equal(found.labels[free], bought.prediction.labels[free])
    assert np.allclose(found.mean[free, 0], bought.prediction.f[free])
    assert 0 < found.settled.sum() < 50
    assert [row["label"] == "" for row in found.rows()] == (~found.settled).tolist()
    assert bought.prior["without_shots"] == free.sum()
    said = command("predict", str(run / "model.aqka"), str(run / "new.npz"))
    assert f"{found.settled.sum()} of 50 points answered" in said.stdout
    clipped = model.encoding.n_outside(new)
    assert clipped > 0
    assert f"{clipped} points lie outside the training points' range" in said.stdout
    said = command("predict", str(run / "model.aqka"), str(run / "new.npz"), "--json")
    assert json.loads(said.stdout)["points"] == found.rows()
    refused = CliRunner().invoke(
        app, ["predict", str(run / "model.aqka"), str(run / "new.npz"), "--shots", "9"]
    )
    assert refused.exit_code != 0
    assert "buys no" in str(refused.exception)


def test_the_command_says_how_many_points_cost_nothing_before_the_first_shot(run, new):
    arguments = ["predict", str(run / "run"), str(run / "new.npz"), "--shots", "16"]
    said = command(*arguments, "--output", str(run / "out.csv"))
    assert "the prior answers" in said.stderr
    assert "Audit of the prior" in said.stdout
    header, *rows = (run / "out.csv").read_text().splitlines()
    place = header.split(",").index("answered_by")
    assert {row.split(",")[place] for row in rows} >= {"prior", "audit"}
    said = command(*arguments, "--prior", "none", "--json")
    found = json.loads(said.stdout)
    assert "prior" not in found
    assert found["shots"] == 16 * 50
    with pytest.raises(InputError, match="prior must be one of"):
        predict_new_points(run / "run", run / "new.npz", 16, prior="some")


def test_a_plan_promises_a_range(run):
    said = command("plan", str(run / "study.toml"), "--json")
    low, high = json.loads(said.stdout)["share_of_new_points"]
    assert 0 <= low < high <= 1
    results = json.loads((run / "run" / "results.json").read_text())
    cost = results["prior"]["answered_by"].count("shots") / 40
    cost += 0.05 * (1 - cost)  # the audit of many points
    assert low <= cost <= high
    said = command("plan", str(run / "study.toml"))
    assert f"between {100 * low:.0f} % and {100 * high:.0f} % of new points" in " ".join(
        said.stdout.split()
    )


PATIENTS = STUDY.replace('"moons"', '"t.csv"\ntarget = "kind"\nid = "who"')
CITIES = '\nfeatures = ["a", "b", "city=Bonn"]\n[split]'


def write_patients(path, cities, n_points, labelled=True):
    rng = np.random.default_rng(len(cities))
    lines = ["who,a,b,city,note" + ",kind" * labelled]
    for k in range(n_points):
        a, b = rng.normal([k % 2, -(k % 2)], 0.3)
        kind = "," + ("well", "ill")[k % 2] if labelled else ""
        lines.append(f"pat-{k},{a:.3f},{b:.3f},{cities[k % len(cities)]},a note{kind}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    folder = tmp_path_factory.mktemp("patients")
    write_patients(folder / "t.csv", ["Bonn", "Rome", "Rome"], 80)
    text = PATIENTS.replace("\n[split]", CITIES).replace("qubits = 2", "qubits = 3")
    carry_out(prepare(write_study(folder, text)), folder / "run")
    export_model(folder / "run", folder / "model.aqka")
    write_patients(folder / "new.csv", ["Bonn", "Rome", "Rome", "Paris"], 5, labelled=False)
    return folder


@pytest.mark.parametrize("name", ["run", "model.aqka"])
def test_a_table_names_the_points_and_unseen_texts_and_fits_a_terminal(patients, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = command("predict", patients / name, patients / "new.csv")
    table = said.stdout.split("\n \n")[0].splitlines()
    rows = [line.split() for line in table if line.strip().startswith(("who", "pat-"))]
    assert [row[0] for row in rows] == ["who", *(f"pat-{k}" for k in range(5))]
    assert "note" not in said.stdout
    assert "A decision above 0 means well, below 0 ill" in said.stdout
    assert "column 'city' holds 'Paris' in 1 point, a category" in said.stdout
    said = command("predict", patients / name, patients / "new.csv", "--json")
    found = json.loads(said.stdout)
    assert found["unseen"] == [{"column": "city", "value": "Paris", "points": 1}]
    assert [row["who"] for row in found["points"]] == [f"pat-{k}" for k in range(5)]


def test_a_few_points_say_that_the_audit_takes_all(patients):
    said = command("predict", patients / "run", patients / "new.csv")
    sure = load_model(patients / "model.aqka").predict(
        np.loadtxt(
            patients / "new.csv",
            delimiter=",",
            skiprows=1,
            usecols=(1, 2, 3),
            converters={3: lambda city: float(city == "Bonn")},
        )
    )
    count = int(sure.settled.sum())
    assert count > 0
    words = f"would answer {count} of 5 points without a shot, but its audit measures at least 10"
    assert words in said.stdout
    assert f"the prior would answer {count} of them, but its audit" in said.stderr
    one = patients / "one.csv"
    first = int(np.flatnonzero(sure.settled)[0])
    lines = (patients / "new.csv").read_text().splitlines()
    one.write_text("\n".join([lines[0], lines[1 + first]]) + "\n")
    said = command("predict", patients / "model.aqka", one)
    assert "1 of 1 point answered without a shot\n" in said.stdout


def test_export_needs_a_run(run, tmp_path):
    with pytest.raises((InputError, LedgerError)):
        export_model(tmp_path, tmp_path / "model.aqka")
    assert not (tmp_path / "model.aqka").exists()
    with pytest.raises(InputError, match=r"model file .* cannot be read"):
        load_model(tmp_path / "model.aqka")


def changed(path, target, **arrays):
    with np.load(path) as archive:
        held = {name: archive[name] for name in archive.files}
    about = json.loads(str(held["about"]))
    about |= arrays.pop("about", {})
    held["about"] = np.array(json.dumps(about))
    np.savez(target, **(held | arrays))
    return target.rename(target.with_suffix(".aqka"))


@pytest.mark.parametrize(
    "change",
    [
        {"about": {"format": "aqka model 9"}},
        {"about": {"terms": [[[1.0, [7]]]]}},
        {"about": {"terms": "x"}},
        {"about": {"terms": [[[np.nan, [0]]]] * 3}},
        {"about": {"terms": [[[1.0, [np.inf]]]] * 3}},
        {"about": {"periodic": "yes"}},
        {"about": {"error_rate": 2.0}},
        {"widths": np.array([np.nan])},
        {"widths": np.ones(2)},
        {"widths": np.full(3, 1e-320)},
        {"values": np.full((30, 1), 1e308)},
        {"scales": np.zeros(3)},
        {"used": np.array([0, 1, 99])},
        {"used": np.array([0.0, 1.0, 2.0])},
        {"angles": np.ones((3, 3), dtype=np.float32)},
        {"amplitudes": np.array([-1.0])},
        {"classes": np.array([0, 1, 2])},
        {"components": np.ones(4)},
        {"range": np.ones(3)},
    ],
)
def test_a_damaged_model_is_refused(run, tmp_path, change):
    with pytest.raises(InputError):
        load_model(changed(run / "model.aqka", tmp_path / "bad.npz", **change))


def test_pickles_and_missing_arrays_are_refused(run, tmp_path):
    np.savez(tmp_path / "a.npz", about=np.array({"x": 1}, dtype=object))
    with pytest.raises(InputError, match="objects are never loaded"):
        load_model(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", X=np.ones(3))
    with pytest.raises(InputError, match="not a model that aqka export-model wrote"):
        load_model(tmp_path / "b.npz")
    (tmp_path / "c.aqka").write_text("nothing")
    with pytest.raises(InputError, match=r"not a readable model file.*with aqka export-model"):
        load_model(tmp_path / "c.aqka")
    with pytest.raises(InputError, match="X must have 2 columns"):
        load_model(run / "model.aqka").predict(np.ones((2, 3)))


def test_gaps_are_filled_where_the_study_fills_them(run):
    model = load_model(run / "model.aqka")
    gap = np.array([[np.nan, 0.2]])
    with pytest.raises(InputError, match="NaN"):
        model.predict(gap)
    filled = replace(model, fills_gaps=True).predict(gap)
    whole = model.predict([[float(model.encoding.fill[0]), 0.2]])
    assert np.array_equal(filled.mean, whole.mean)


def test_estimators_pass_the_prior_on():
    assert QuantumRidgeClassifier(prior="angles").get_params()["prior"] == "angles"
