import pytest

from aqka.errors import InputError
from aqka_research.paper_reading import LEVELS, LITERAL, PaperReading, is_reading


def test_names_go_there_and_back_for_every_switch():
    for switch, levels in LEVELS.items():
        assert getattr(LITERAL, switch) == levels[0]
        for level in levels[1:]:
            reading = LITERAL.changed(**{switch: level})
            assert reading.name == f"literal; {switch}={level}"
            assert PaperReading.named(reading.name) == reading
            assert reading.changes == {switch: level}
            assert is_reading(reading.name)
    assert LITERAL.name == "literal"
    assert not is_reading("paper")
    assert not is_reading("fair")


def test_a_restriction_keeps_only_its_switches():
    reading = PaperReading(width="0.05", floor="none")
    assert reading.restricted_to(["floor", "ridge"]) == PaperReading(floor="none")


@pytest.mark.parametrize("name", ["paper", "literal; colour=red", "literal; width=0.07"])
def test_unknown_readings_are_refused(name):
    with pytest.raises(InputError, match=r"a reading is called|width must be one of"):
        PaperReading.named(name)
