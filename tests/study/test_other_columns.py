import numpy as np
import pytest

from aqka.study import tables as module
from aqka.study.tables import other_columns
from tests.study.test_new_points import write_csv

NAMES, NOTES = ["a", "b", "c"], ["1", "", "x" * 500]


def write(path):
    if path.suffix == ".npz":
        np.savez(path, X=np.zeros((3, 1)), name=NAMES, note=NOTES, other=np.zeros(2))
    elif path.suffix == ".parquet":
        import pyarrow
        from pyarrow import parquet

        columns = {"x": [1.0, 2.0, 3.0], "name": NAMES, "note": ["1", None, NOTES[2]]}
        parquet.write_table(pyarrow.table(columns), path)
    else:
        rows = zip([1, 2, 3], NAMES, NOTES, strict=True)
        write_csv(path, ["x", "name", "note"], rows)
    return path


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz"])
def test_all_but_the_used_columns_are_kept_as_text(tmp_path, ending):
    found = other_columns(write(tmp_path / f"f{ending}"), ["x"], [], 3)
    assert found == {"name": NAMES, "note": ["1", "", "x" * 200]}


def test_of_many_columns_those_asked_for_are_kept_first(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_KEPT", 2)
    file = write_csv(tmp_path / "f.csv", list("abcde"), [list("12345")])
    assert list(other_columns(file, ["a"], ["d"], 1)) == ["b", "d"]


def test_a_file_of_another_length_or_kind_gives_nothing(tmp_path):
    assert other_columns(write(tmp_path / "f.csv"), ["x"], [], 4) == {}
    (tmp_path / "g.npz").write_bytes(b"no npz")
    assert other_columns(tmp_path / "g.npz", [], [], 4) == {}
