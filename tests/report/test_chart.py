"""Scales and paths of charts."""

import pytest

from aqka.report.chart import Chart, Scale
from aqka.report.words import axis_text


def test_ticks_are_round_and_inside():
    for low, high in ((0, 1), (0.61, 0.93), (-3, 17), (0, 21_000), (1e-9, 3e-9)):
        ticks = Scale(low, high).ticks()
        assert 2 <= len(ticks) <= 7
        assert low - 1e-12 <= min(ticks) <= max(ticks) <= high * 1.000001
    assert Scale(3000, 40_000, log=True).ticks() == [5000.0, 10_000.0, 20_000.0]


@pytest.fixture
def chart():
    return Chart("heading", Scale(0, 10), Scale(0, 1), "x", "y")


def test_what_is_drawn_lies_between_the_axes(chart):
    assert chart.at(0, 0) == (chart.left, chart.bottom)
    assert chart.at(10, 1) == (chart.right, chart.top)
    assert chart.at(-5, 7) == (chart.left, chart.top)  # what is outside goes to the edge


def test_a_band_is_closed_and_a_line_through_nothing_is_not_drawn(chart):
    chart.add_line([], [], "c1")
    assert chart.marks == []
    chart.add_band([0, 10], [(0, 1), (0, 1)], "c1")
    [band] = chart.marks
    assert band.path == "M48.0,10.0 348.0,10.0 348.0,200.0 48.0,200.0Z"
    chart.add_band([5], [(0.5, 1)], "c1")
    assert chart.marks[-1] == ("line c1", "M198.0,105.0 198.0,10.0")


def test_a_level_is_named_in_the_legend(chart):
    """Beside its line the name would overprint what is drawn."""
    chart.add_level(0.5, "")
    assert chart.legend == []
    chart.add_level(0.5, "majority")
    assert chart.legend == [("level", "majority")]


def test_long_numbers_push_the_axis_away_from_its_name():
    short = Chart("h", Scale(0, 10), Scale(0, 1), "x", "y")
    long = Chart("h", Scale(0, 10), Scale(0.5, 0.50001), "x", "y")
    assert max(len(axis_text(value)) for value in long.y.ticks()) > 6
    assert long.left > short.left
    assert long.at(0, 0.5)[0] == long.left
