"""Runs keep what the user's file calls their points, and the columns that plain models see."""

import numpy as np
import pytest

from aqka.errors import InputError
from aqka.study import points as module
from aqka.study.directory import prepare, write_run
from aqka.study.points import encode, load_table, split_points
from aqka.study.schema import DataSection, FeatureMapSection, SplitSection
from aqka.study.store import RunStore
from aqka.study.tables import DataTable, point_names
from tests.study.helpers import small, write_study

ROWS = [(f"patient {k}", float(k), float(k * k % 7), "ab"[k % 2]) for k in range(24)]


@pytest.fixture
def files(tmp_path):
    text = "\n".join(f"{name},{a},{b},{kind}" for name, a, b, kind in ROWS)
    (tmp_path / "t.csv").write_text(f"who,a,b,kind\n{text}\n")
    names, a, b, kind = zip(*ROWS, strict=True)
    np.savez(tmp_path / "t.npz", X=np.column_stack([a, b]), y=np.array(kind), who=np.array(names))
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"who": names, "a": a, "b": b, "kind": kind})
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "t.parquet")
    return tmp_path


@pytest.mark.parametrize(("name", "target"), [("csv", "kind"), ("parquet", "kind"), ("npz", "y")])
def test_every_kind_of_file_has_names_for_its_points(files, name, target):
    table = load_table(DataSection(source=f"t.{name}", target=target, id="who"), files)
    assert point_names(table.ids, 24) == [row[0] for row in ROWS]
    assert table.X.shape == (24, 2)  # a name is no feature
    with pytest.raises(InputError, match="wo"):
        load_table(DataSection(source=f"t.{name}", target=target, id="wo"), files)


def test_rows_are_counted_where_there_are_no_names(files):
    source = DataSection(source="t.csv", target="kind", features=["a", "b"])
    assert load_table(source, files).ids is None
    assert point_names(None, 2) == ["row 1", "row 2"]
    (files / "gap.csv").write_text("who,a,kind\nx,1,p\n ,2,q\nz,3,p\nw,4,q\n")
    gaps = load_table(DataSection(source="gap.csv", target="kind", id="who"), files)
    assert point_names(gaps.ids, 4) == ["x", "row 2", "z", "w"]


def test_a_run_keeps_names_and_columns(files):
    source = '"t.csv"\ntarget = "kind"\nid = "who"'
    path = write_study(files, small().replace('"moons"', source))
    prepared = prepare(path)
    write_run(prepared, files / "run", {})
    kept = RunStore(files / "run").points
    table = load_table(prepared.study.data, files)
    train, test = split_points(table, SplitSection(train=12, test=6))
    assert kept.train_ids == [ROWS[k][0] for k in train]
    assert kept.test_ids == [ROWS[k][0] for k in test]
    assert np.array_equal(kept.train_columns, table.X[train])
    assert np.array_equal(kept.test_columns, table.X[test])


def test_a_large_table_is_kept_without_its_columns(monkeypatch):
    table = DataTable(np.ones((6, 3)), np.arange(6.0), list("abc"), list("pqrstu"))
    sections = SplitSection(train=4, test=2), FeatureMapSection(qubits=3).range
    assert encode(table, *sections, 3).test_columns.shape == (2, 3)
    monkeypatch.setattr(module, "MAX_KEPT_CELLS", 17)
    kept = encode(table, *sections, 3)
    assert kept.train_columns is None
    assert sorted(kept.train_ids + kept.test_ids) == list("pqrstu")
