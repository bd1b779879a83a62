import pytest

from aqka.cli.predict import _about_decision, _about_values, _cell, cell_text


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "yes"), (False, "no"), (0.12345, "0.1235"), (3, "3")],
)
def test_values_read_well(value, text):
    assert cell_text(value) == text


def test_of_several_classes_the_number_of_the_label_is_shown():
    row = {"label": "b", "decision": [-0.51234, 0.25, -0.7]}
    assert _cell(row, "decision", ["a", "b", "c"]) == "0.250"
    assert _cell(row | {"label": ""}, "decision", ["a", "b", "c"]) == "0.250"
    assert _cell(row | {"label": "a"}, "decision", ["a", "b", "c"]) == "-0.512"
    assert _cell({"value": 1234.56}, "value", []) == "1,235"
    assert "of all 3 classes" in _about_decision(["a", "b", "c"])


def test_one_point_lies_and_two_lie_outside():
    assert _about_values(1, [])[0].startswith("1 point lies outside")
    assert _about_values(2, [])[0].startswith("2 points lie outside")
    many = [{"column": "city", "value": f"v{k}", "points": 1} for k in range(7)]
    assert "and 2 more such categories" in _about_values(0, many)[-1]
