"""Tables as people keep them; hostile ones are in tests/scenarios/test_hostile_files.py."""

import numpy as np
import pytest

from aqka.errors import InputError
from aqka.study.tables import read_table
from tests.study.helpers import section

ROWS = [(0.5, 1.0, "a"), (1.5, -2.0, "b"), (2.5, 3.0, "a"), (-3.5, 4.0, "b")]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_csv_file_with_any_usual_separator(tmp_path, separator):
    path = tmp_path / "data.csv"
    lines = [separator.join(map(str, row)) for row in ROWS]
    path.write_text(separator.join(("x", " y ", "kind")) + "\n\n" + "\n".join(lines) + "\n\n")
    table = read_table(path, section("kind"))
    assert table.columns == ["x", "y"]
    assert table.X.tolist() == [list(row[:2]) for row in ROWS]
    assert table.y.tolist() == ["a", "b", "a", "b"]


def test_columns_are_chosen_in_the_order_they_are_named(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b,label,c\n" + "1,2,0,3\n4,5,1,6\n" * 2)
    assert read_table(path, section("label", ["c", "a"])).X.tolist() == [[3, 1], [6, 4]] * 2
    unlabelled = read_table(path, section(None, ["b"]), labelled=False)
    assert unlabelled.X.ravel().tolist() == [2, 5, 2, 5]
    assert set(unlabelled.y) == {""}


def test_whole_numbers_are_int_labels_and_other_numbers_are_none(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,label\n" + "1,0\n2,1.0\n" * 2)
    assert read_table(path, section("label")).y.dtype == np.int64
    path.write_text("x,label\n" + "1,0.5\n2,1.0\n" * 2)
    with pytest.raises(InputError, match="the target holds real numbers, 2 different ones"):
        read_table(path, section("label"))


def test_parquet_and_npz_say_the_same_as_csv(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    x, y, kind = zip(*ROWS, strict=True)
    parquet.write_table(pyarrow.table({"x": x, "y": y, "kind": kind}), tmp_path / "data.parquet")
    np.savez(tmp_path / "data.npz", X=np.column_stack([x, y]), y=np.array(kind))
    (tmp_path / "data.csv").write_text("x,y,kind\n" + "".join(f"{a},{b},{c}\n" for a, b, c in ROWS))
    expected = read_table(tmp_path / "data.csv", section("kind"))
    for table in (
        read_table(tmp_path / "data.parquet", section("kind")),
        read_table(tmp_path / "data.npz", section()),
    ):
        assert np.array_equal(table.X, expected.X)
        assert np.array_equal(table.y, expected.y)


def test_a_cell_that_is_no_number_is_named_with_its_row(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"x": [1.0, 2.0, None, 4.0], "label": ["a", "b", "a", "b"]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "data.parquet")
    with pytest.raises(InputError, match=r"data\.parquet, row 3: column 'x' is empty"):
        read_table(tmp_path / "data.parquet", section("label"))


@pytest.mark.parametrize(
    "cell", ["1_0", "\u0661", "\uff11", "0x10", "1 0", "1,0", "1e", ".", "1.2.3"]
)
def test_a_cell_that_only_python_takes_for_a_number_is_none(tmp_path, cell):
    path = tmp_path / "data.csv"
    path.write_text("x;label\n" + f"{cell};a\n2;b\n" * 2)
    with pytest.raises(InputError, match=r"line 2: column 'x' holds .*, not a number"):
        read_table(path, section("label"))


@pytest.mark.parametrize("cell", ["infinity", "-inf", "NaN", "1e999", ""])
def test_a_cell_that_is_not_finite_is_refused(tmp_path, cell):
    path = tmp_path / "data.csv"
    path.write_text("x,label\n" + f"{cell},a\n2,b\n" * 2)
    with pytest.raises(InputError, match="line 2: column 'x' is empty, NaN or infinite"):
        read_table(path, section("label"))


@pytest.mark.parametrize(
    ("cell", "number"),
    [(" 1.5 ", 1.5), ("+2", 2), ("-.5", -0.5), ("3.", 3), ("1E-3", 0.001), ("007", 7)],
)
def test_numbers_as_programs_write_them(tmp_path, cell, number):
    path = tmp_path / "data.csv"
    path.write_text("x,label\n" + f"{cell},a\n2,b\n" * 2)
    assert read_table(path, section("label")).X[0, 0] == number


def test_a_very_long_cell_is_told_from_a_number_at_once(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,label\n" + "9" * 100_000 + "x,a\n2,b\n")
    with pytest.raises(InputError, match="not a number"):
        read_table(path, section("label"))


def test_labels_that_only_python_takes_for_numbers_stay_apart(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,label\n" + "1,1_0\n2,10\n" * 2)
    assert read_table(path, section("label")).y.tolist() == ["1_0", "10"] * 2


def test_a_label_of_half_a_character_is_named(tmp_path):
    X, y = np.zeros((4, 1)), np.array(["a", "b\ud800", "a", "b\ud800"])
    np.savez(tmp_path / "data.npz", X=X, y=y)
    with pytest.raises(InputError, match=r"data\.npz, row 2: the label 'b\?' holds half of a"):
        read_table(tmp_path / "data.npz", section())


def test_a_label_of_an_impossible_code_is_refused(tmp_path):
    y = np.array([97, 98, 97, 0x110000], dtype="<u4").view("<U1")
    np.savez(tmp_path / "data.npz", X=np.zeros((4, 1)), y=y)
    with pytest.raises(InputError, match="a text holds the code 0x110000, which is no character"):
        read_table(tmp_path / "data.npz", section())


def test_gaps_are_kept_where_they_may_be_filled(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,z,label\n1,2,a\n,NA,b\n3,?,a\n4,5,b\n")
    with pytest.raises(InputError, match=r"line 3: column 'x' is empty.*data\.missing = 'median'"):
        read_table(path, section("label"))
    found = read_table(path, section("label", missing="median"))
    assert np.isnan(found.X).tolist() == [[False, False], [True, True], [False, True], [False] * 2]
    path.write_text("x,z,label\n1,,a\n2,,b\n3,,a\n4,,b\n")
    with pytest.raises(InputError, match="column 'z' has no value at all"):
        read_table(path, section("label", missing="median"))
