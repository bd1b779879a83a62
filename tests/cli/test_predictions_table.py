import pytest

from aqka.cli.predict import cell_text


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "yes"), (False, "no"), (0.12345, "0.1235"), ([1.0, -0.5], "1.0000 -0.5000"), (3, "3")],
)
def test_values_read_well(value, text):
    assert cell_text(value) == text
