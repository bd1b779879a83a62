"""Files as people have them: aqka init finds out what their columns are for, and says so."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from aqka.errors import InputError
from aqka.study.directory import prepare
from aqka.study.new_study import study_of_data, with_settings
from aqka.study.schema import parse_study
from aqka.study.tables import read_table
from tests.cli.in_process import call
from tests.study.helpers import section


def written(directory, data, **given):
    """Return the text that init would write and what it says, without trying settings."""

    def own_settings(check):
        return SimpleNamespace(scan=SimpleNamespace(candidates=check.candidates, best=0))

    text, _, said = study_of_data(directory / "study.toml", data, own_settings, **given)
    return text, said


def columns_of(directory, data, **given):
    return parse_study(written(directory, data, **given)[0])


@pytest.fixture
def passengers(tmp_path):
    """A name in every row, numbers with gaps, texts of two, three and many kinds."""
    rng = np.random.default_rng(0)
    lines = ["Id,Name,Sex,Age,Fare,Cabin,Port,Survived"]
    for k in range(40):
        sex = ("male", "female")[k % 2]
        age = "" if k % 7 == 0 else f"{rng.uniform(1, 80):.0f}"
        cabin = f"C{k}" if k % 3 == 0 else ""
        port = "SCQ"[k % 3]
        fare = f"{rng.uniform(5, 90):.2f}"
        lines.append(f'{k + 1},"Doe, {k}",{sex},{age},{fare},{cabin},{port},{k % 2}')
    path = tmp_path / "passengers.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_names_categories_and_gaps_are_recognised(tmp_path, passengers, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text, said = written(tmp_path, passengers, target="Survived")
    out = "\n".join(said)
    assert "Column Id names the points" in out
    assert "Column Name is left out: it holds a different value in every row" in out
    assert "Column Cabin is left out: it holds 14 different texts" in out
    assert "Column Port: 3 texts become columns of 0 and 1" in out
    assert "Column Sex: 2 texts become one column of 0 and 1" in out
    assert "Missing values in Age take the training points' median" in out
    # Comments stay in their column, below a list that leaves no room for them.
    lines = text.splitlines()
    below = lines.index(next(line for line in lines if line.startswith("features = "))) + 1
    assert lines[below] == " " * 30 + lines[below].strip()
    assert lines[below].strip().startswith("# columns of a file")
    assert all(line.find("# ") == 30 for line in lines if line.startswith(("output", "seed")))
    study = parse_study(text)
    assert study.data.id == "Id"
    assert study.data.features == ["Sex=male", "Age", "Fare", "Port=C", "Port=Q", "Port=S"]
    assert study.data.missing == "median"
    # Run, and predict points of which one lacks its age and one has a port never seen.
    (tmp_path / "study.toml").write_text(with_settings(text, {"budget.train": "3000 shots"}))
    assert call(monkeypatch, capsys, "run", "study.toml")[0] == 0
    page = (tmp_path / "runs" / "study" / "report.html").read_text()
    assert "Missing values of features were filled with the median of the training points" in page
    (tmp_path / "new.csv").write_text("Sex,Age,Fare,Port\nmale,,7.5,S\nfemale,30,20,X\n")
    code, out, err = call(monkeypatch, capsys, "predict", "runs/study", "new.csv", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert [row["point"] for row in found["points"]] == [0, 1]
    assert found["unseen"] == [{"column": "Port", "value": "X", "points": 1}]
    warning = "column 'Port' holds 'X' in 1 point, a category that is not in the run's data"
    assert warning in err
    # 'female' is no feature, but a text of the run's data: no warning.
    code, out, _ = call(monkeypatch, capsys, "predict", "runs/study", "new.csv")
    assert warning in out
    assert "female" not in out
    for text, words in (
        ("Sex,Age,Fare\nmale,3,7.5\n", "new.csv has no column 'Port'. It has"),
        ("Sex,Age,Fare,Port\nmale,3,cheap,S\n", "holds 'cheap', not a number. Write a number"),
    ):
        (tmp_path / "new.csv").write_text(text)
        code, _, err = call(monkeypatch, capsys, "predict", "runs/study", "new.csv")
        assert code == 2
        assert words in err
        assert "data." not in err


def test_an_indicator_is_one_where_the_column_has_the_text(passengers):
    table = read_table(passengers, section("Survived", ["Sex=male", "Port=C"]))
    assert table.X[:6].tolist() == [[1, 0], [0, 1], [1, 0], [0, 0], [1, 1], [0, 0]]
    with pytest.raises(InputError, match="has no column 'Sax'"):
        read_table(passengers, section("Survived", ["Sax=male"]))
    with pytest.raises(InputError, match="texts of others as 'column=text'"):
        read_table(passengers, section("Survived", ["Sex"]))


def test_columns_are_named_or_dropped_by_the_user(tmp_path, passengers):
    found = columns_of(tmp_path, passengers, target="Survived", features=["Fare", "Sex"], id="Name")
    assert found.data.features == ["Fare", "Sex=male"]
    assert (found.data.id, found.data.missing) == ("Name", "refuse")
    found = columns_of(tmp_path, passengers, target="Survived", drop=["Age", "Port", "Sex"])
    assert found.data.features == ["Fare"]
    with pytest.raises(InputError, match="has no column 'Prot'"):
        columns_of(tmp_path, passengers, target="Survived", drop=["Prot"])


def test_many_numbers_are_a_regression_unless_the_user_says_otherwise(tmp_path):
    lines = ["rooms,area,price"]
    lines += [f"{k % 5},{k * 3.5:.1f},{1000 + 7 * (k // 8)}" for k in range(200)]
    data = tmp_path / "homes.csv"
    data.write_text("\n".join(lines) + "\n")
    found = columns_of(tmp_path, data, target="price")
    assert found.data.task == "regression"
    assert found.data.features is None  # all others, as they are
    assert columns_of(tmp_path, data, target="price", task="classification").data.task == (
        "classification"
    )
    assert columns_of(tmp_path, data, target="rooms").data.task == "classification"


def test_a_large_file_says_how_many_of_its_points_are_used(tmp_path):
    X = np.random.default_rng(1).normal(size=(600, 2))
    lines = ["a,b,kind"] + [f"{a:.3f},{b:.3f},{'xy'[int(a > b)]}" for a, b in X]
    (tmp_path / "many.csv").write_text("\n".join(lines) + "\n")
    text, said = written(tmp_path, tmp_path / "many.csv", target="kind")
    assert said == ["90 of 600 points are used; change [split] for others."]
    (tmp_path / "study.toml").write_text(text)
    assert len(prepare(tmp_path / "study.toml").points.train) == 60


def test_options_about_columns_need_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for option in ("--target", "--id", "--features", "--drop"):
        code, _, err = call(monkeypatch, capsys, "init", option, "x")
        assert code == 2
        assert "name the file with --data" in err
