"""`aqka check`, and `aqka init` with a file, as a user meets them."""

import json

import pytest

from aqka.study.directory import prepare
from aqka.study.new_study import example
from aqka.study.schema import load_study
from tests.cli.in_process import call
from tests.study.helpers import small, write_study
from tests.study.test_check import write_csv


@pytest.fixture
def few_settings(monkeypatch):
    """Two ranges instead of seven and few trees, so that a check takes a moment."""
    monkeypatch.setattr("aqka.study.check.RANGES", ((0.0, 0.7854), (0.0, 6.2832)))
    monkeypatch.setattr("aqka.study.check.REPS", (2,))
    monkeypatch.setattr("aqka.insight.baselines.TREES", {"n_estimators": [5]})
    monkeypatch.setattr("aqka.insight.preflight.MAX_POINTS", 60)


def test_a_check_prints_scores_and_one_sentence_and_writes_nothing(
    tmp_path, monkeypatch, capsys, few_settings
):
    monkeypatch.setenv("COLUMNS", "120")
    path = write_study(tmp_path)
    before = path.read_bytes()
    code, out, _ = call(monkeypatch, capsys, "check", path)
    assert code == 0
    for words in ("exact kernel", "at this budget", "RBF SVM", "majority class", "(yours)"):
        assert words in out
    for words in ("inflates its score", "shots a pair", "effective rank", "Geometric difference"):
        assert words in out
    assert out.splitlines()[-1].startswith(("Buy", "Change this first", "Don't buy"))
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["study.toml"]


def test_a_check_of_many_qubits_judges_their_features(tmp_path, monkeypatch, capsys, few_settings):
    monkeypatch.setattr("aqka.study.check.RANGES", ())
    monkeypatch.setattr("aqka.insight.preflight.MAX_POINTS", 30)
    text = small(backend="light-cone", method='design = "points"', test_shots=80)
    text = text.replace('"moons"', '"breast-cancer"').replace("qubits = 2", "qubits = 16")
    path = write_study(tmp_path, text.replace("train = 12", "train = 24"))
    code, out, _ = call(monkeypatch, capsys, "check", path)
    assert code == 0
    assert "as 50 shots on every point show them" in out
    assert "A linear model of the columns explains" in out
    assert "Against the features of permuted points the kernel is" in out
    assert "without any shots" in out


def test_write_puts_the_best_settings_into_the_file(tmp_path, monkeypatch, capsys, few_settings):
    text = small().replace("qubits = 2", "qubits = 2  # all there are\nrange = [0.0, 40.0]")
    path = write_study(tmp_path, text)
    code, out, _ = call(monkeypatch, capsys, "check", path, "--write", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["decision"] in ("change", "don't")
    best = found["scan"]["best"][0]["settings"]
    section = load_study(path)[0].feature_map
    assert section.range == best["feature_map.range"] == found["written"]["feature_map.range"]
    assert section.map == best["feature_map.map"]
    assert "qubits = 2  # all there are" in path.read_text()
    assert found["scan"]["nested"]["balanced accuracy"]["mean"] <= 1
    assert found["geometric_difference"]["largest"] == pytest.approx(60**0.5)


def test_init_starts_from_a_file(tmp_path, monkeypatch, capsys, few_settings):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path)
    code, out, _ = call(monkeypatch, capsys, "init", "--data", "my data.csv", "--target", "y")
    assert code == 0
    assert "the best of the settings" in out
    assert "aqka check study.toml && aqka run study.toml" in out
    study, text = load_study(tmp_path / "study.toml")
    assert (study.data.source, study.data.target) == ("my data.csv", "y")
    assert (study.split.train, study.split.test) == (0.75, 0.25)
    assert study.feature_map.range in ([0.0, 0.7854], [0.0, 6.2832])  # of the scan
    assert text.count("#") == example().count("#") - 1  # target is no comment any more
    prepared = prepare(tmp_path / "study.toml")
    assert prepared.points.train.shape == (45, study.feature_map.qubits)
    code, _, err = call(monkeypatch, capsys, "init", "--data", "my data.csv", "--target", "y")
    assert code == 2
    assert "exists already" in err
    code, _, err = call(monkeypatch, capsys, "init", "other.toml", "--target", "y")
    assert code == 2
    assert "--data" in err


def test_a_cone_of_too_many_qubits_is_one_line_that_names_pca(tmp_path, monkeypatch, capsys):
    text = small().replace('"moons"', '"breast-cancer"').replace("qubits = 2", "qubits = 20")
    text = text.replace("qubits = 20", 'qubits = 20\nmap = "zz-full"')
    path = write_study(tmp_path, text.replace("train = 12", "train = 40"))
    code, out, err = call(monkeypatch, capsys, "check", path)
    assert (code, out) == (2, "")
    assert "depends on 20 qubits, at most 14" in err
    assert "PCA" in err
    assert err.count("\n") == 1
