"""New points for a finished run: from a file to labels, each shot bought once."""

import csv
import json
import sys

import numpy as np
import pytest

from aqka import InputError
from aqka._util.text import spreadsheet_cell
from aqka.backends.statevector import zz_kernel
from aqka.cli import app as cli
from aqka.designs import PairEstimate
from aqka.errors import JobError
from aqka.runs.export import table_of
from aqka.study.carry_out import carry_out
from aqka.study.directory import prepare
from aqka.study.method import learner_of, problem_of
from aqka.study.new_points import predict_new_points
from aqka.study.points import load_table
from aqka.study.schema import DataSection
from aqka.study.store import RunStore
from tests.report.runs import HOSTILE_COLUMNS, finished_run, hostile_run, interrupted_run
from tests.study.helpers import small, write_study


def call(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["aqka", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    return stop.value.code or 0, shown.out, shown.err


def write_csv(path, header, rows):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def read_csv(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("predict"))


@pytest.fixture
def moons(tmp_path):
    table = load_table(DataSection(source="moons"), tmp_path)
    rows = [[*point, "unread"] for point in table.X[:8]]
    return write_csv(tmp_path / "new.csv", ["x", "y", "note"], rows)


def test_test_points_as_new_points_are_encoded_as_the_run_did(tmp_path):
    path = write_study(
        tmp_path, small().replace('"moons"', '"wine"').replace("train = 12", "train = 20")
    )
    prepared = prepare(path)
    carry_out(prepared, tmp_path / "run")
    table = load_table(DataSection(source="wine"), tmp_path)
    file = write_csv(tmp_path / "all.csv", table.columns[::-1], table.X[:, ::-1].tolist())
    stored = RunStore(tmp_path / "run").points
    encoded = stored.encoding.features(table.X)
    for point in stored.test:  # every test point is among them, to the last bit
        assert (encoded == point).all(axis=1).any()
    found = predict_new_points(tmp_path / "run", file, 2)  # columns in another order
    assert len(found.prediction.labels) == len(table.X)


def test_points_outside_the_training_range_are_counted(run, tmp_path):
    centre = RunStore(run).points.encoding
    middle = ((centre.lowest + centre.highest) / 2).tolist()
    file = write_csv(tmp_path / "far.csv", ["x", "y"], [middle, [99, 0.1], [-99, 99]])
    found = predict_new_points(run, file, 3)
    assert found.clipped == 2


def test_with_many_shots_labels_are_those_of_the_exact_kernel(run, moons):
    found = predict_new_points(run, moons, 3000)
    prepared = RunStore(run).prepared()
    problem = problem_of(prepared.study, prepared.points)
    table, landmarks, _ = table_of(run)
    head = learner_of(prepared.study).fit(PairEstimate(table, problem, landmarks), problem)
    features = prepared.points.encoding.features(
        np.loadtxt(moons, delimiter=",", skiprows=1, usecols=(0, 1))
    )
    exact = zz_kernel(features, prepared.points.train)
    settled = found.prediction.settled
    assert settled.sum() >= 6
    assert (found.prediction.labels == head.predict(exact))[settled].all()
    f = head.decision_function(exact)
    assert ((found.prediction.low <= f) & (f <= found.prediction.high)).sum() >= 5


def test_nothing_is_bought_twice(run, moons, monkeypatch):
    first = predict_new_points(run, moons, 7)
    ledger = first.directory / "ledger.sqlite"
    assert ledger.parent.parent == run / "new-points"

    def refuse(*_):
        raise AssertionError("a shot was bought again")

    with monkeypatch.context() as patch:
        patch.setattr("aqka.backends.simulated.SimulatedBackend.submit", refuse)
        again = predict_new_points(run, moons, 7)
    assert again.rows() == first.rows()
    other = predict_new_points(run, moons, 8)
    assert other.directory != first.directory


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz"])
def test_every_kind_of_file_gives_the_same(run, moons, tmp_path, ending):
    points = np.loadtxt(moons, delimiter=",", skiprows=1, usecols=(0, 1))
    file = tmp_path / f"other{ending}"
    if ending == ".npz":
        np.savez(file, X=points)
    elif ending == ".parquet":
        import pyarrow
        from pyarrow import parquet

        columns = {"y": points[:, 1], "x": points[:, 0], "z": ["text"] * len(points)}
        parquet.write_table(pyarrow.table(columns), file)
    else:
        write_csv(file, ["y", "x"], points[:, ::-1].tolist())
    assert predict_new_points(run, file, 7).rows() == predict_new_points(run, moons, 7).rows()


def test_mistakes_are_told(run, moons, tmp_path):
    with pytest.raises(InputError, match=r"has no column 'y'"):
        predict_new_points(run, write_csv(tmp_path / "a.csv", ["x", "w"], [[1, 2]]))
    with pytest.raises(InputError, match="holds 'high', not a number"):
        predict_new_points(run, write_csv(tmp_path / "b.csv", ["x", "y"], [[1, "high"]]))
    with pytest.raises(InputError, match="has 0 points"):
        predict_new_points(run, write_csv(tmp_path / "c.csv", ["x", "y"], []))
    np.savez(tmp_path / "d.npz", X=np.zeros((3, 5)))
    with pytest.raises(InputError, match="5 columns in X, but the run was trained on 2: x, y"):
        predict_new_points(run, tmp_path / "d.npz")
    with pytest.raises(InputError, match=r"ending in \.csv"):
        predict_new_points(run, tmp_path / "e.txt")
    with pytest.raises(InputError, match="cannot be read"):
        predict_new_points(run, tmp_path / "none.csv")
    stopped = interrupted_run(tmp_path / "stopped")
    with pytest.raises(InputError, match="finish it by 'aqka resume"):
        predict_new_points(stopped, moons)


def test_the_command_prints_and_writes(run, moons, tmp_path, monkeypatch, capsys):
    target = tmp_path / "labels.csv"
    code, out, told = call(
        monkeypatch, capsys, "predict", run, moons, "--shots", 7, "--output", target
    )
    assert code == 0
    assert "8 points, at most 672 shots" in told
    assert "90 % intervals" in out
    assert "row 1 " in out
    assert "unread" not in out  # another column of the file
    rows = read_csv(target)
    code, out, _ = call(monkeypatch, capsys, "predict", run, moons, "--shots", 7, "--json")
    answer = json.loads(out)
    assert [row["label"] for row in rows] == [str(p["label"]) for p in answer["points"]]
    assert answer["shots"] <= answer["budget"] == 672
    point = answer["points"][0]
    assert point["low"] <= point["decision"] <= point["high"]
    target = tmp_path / "labels.json"
    call(monkeypatch, capsys, "predict", run, moons, "--shots", 7, "--output", target)
    assert json.loads(target.read_text()) == answer
    code, _, told = call(monkeypatch, capsys, "predict", run, moons, "--output", "x.doc")
    assert code == 2
    assert ".csv or .json" in told
    code, _, told = call(
        monkeypatch, capsys, "predict", run, moons, "--output", tmp_path / "no" / "x.csv"
    )
    assert code == 2
    assert "no shot is lost" in told


def test_three_classes_have_a_value_each(tmp_path, monkeypatch, capsys):
    text = small().replace('"moons"', '"iris"').replace("train = 12", "train = 24")
    run = finished_run(tmp_path / "iris", text)
    table = load_table(DataSection(source="iris"), tmp_path)
    file = write_csv(tmp_path / "new.csv", table.columns, table.X[::20].tolist())
    target = tmp_path / "out.csv"
    code, out, _ = call(monkeypatch, capsys, "predict", run, file, "--output", target)
    assert code == 0
    first = read_csv(target)[0]
    assert f"row 1 {first['label']}" in out
    assert f" {float(first['decision_' + first['label']]):.3f} " in out
    assert "Decisions are those of the point's label" in out
    assert first["label"] in {"setosa", "versicolor", "virginica"}
    for name in ("decision", "low", "high"):
        columns = [f"{name}_{label}" for label in ("setosa", "versicolor", "virginica")]
        assert set(columns) < set(first)
        numbers = [float(row[column]) for row in read_csv(target) for column in columns]
        assert min(numbers) < 0


def test_a_label_that_looks_like_a_formula_is_inert_in_csv(tmp_path, monkeypatch, capsys):
    run = hostile_run(tmp_path / "h")
    file = write_csv(tmp_path / "new.csv", HOSTILE_COLUMNS, [[k, k % 5] for k in range(12)])
    target = tmp_path / "out.csv"
    assert call(monkeypatch, capsys, "predict", run, file, "--output", target)[0] == 0
    labels = {row["label"] for row in read_csv(target)}
    assert labels <= {"'=cmd()", "<script>alert(1)</script>"}
    for line in target.read_text().splitlines():
        assert not any(cell.startswith(("=", "@", "+")) for cell in line.split(","))
    for text in ("=1+1", "+cmd", "-cmd", "@SUM(A1)", " =x", "\t=x", "=x"):
        assert spreadsheet_cell(text)[0] in "'?"
    assert [spreadsheet_cell(text) for text in ("-1.5", "-1e-9", "+2", -0.5)] == [
        *("-1.5", "-1e-9", "+2", "-0.5")
    ]
    assert spreadsheet_cell("-1_0") == "'-1_0"


def test_a_backend_that_fails_ends_with_code_4_and_says_how_to_go_on(
    run, moons, monkeypatch, capsys
):
    with monkeypatch.context() as patch:
        patch.setattr(
            "aqka.backends.simulated.SimulatedBackend.collect",
            lambda *_: (_ for _ in ()).throw(JobError("the device burnt")),
        )
        with pytest.warns(RuntimeWarning, match="burnt"):
            code, _, told = call(patch, capsys, "predict", run, moons, "--shots", 11)
    assert code == 4
    assert "to continue: aqka predict" in told
    assert "--shots 11" in told
    assert call(monkeypatch, capsys, "predict", run, moons, "--shots", 11)[0] == 0
