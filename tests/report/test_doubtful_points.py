"""Which test points the page lists."""

from dataclasses import replace

import numpy as np
import pytest

from aqka.report.run_page import run_page
from aqka.report.sections import MAX_LISTED_POINTS, doubtful_points


@pytest.fixture
def found(report):
    """Six points of which nothing is in doubt."""
    points = report.tested
    yes = np.ones(6, dtype=bool)
    value = np.array([0.5, -0.4, 0.3, -0.2, 0.1, 0.6])
    return replace(points, right=yes, settled=yes, could_flip=~yes, value=value)


def mark(flags, *places):
    changed = flags.copy()
    changed[list(places)] = ~changed[list(places)]
    return changed


def test_no_doubt_no_list(found, report):
    assert doubtful_points(found) is None
    assert "none could flip" in run_page(replace(report, tested=found))


def test_each_doubt_is_named_closest_to_the_border_first(found):
    summary, rows = doubtful_points(
        replace(
            found,
            right=mark(found.right, 0),
            settled=mark(found.settled, 0, 3),
            could_flip=mark(found.could_flip, 4),
        )
    )
    assert summary == "1 wrong, 2 not settled, 1 could flip; the 3 closest to the border"
    assert [row[:2] for row in rows] == [
        (found.ids[4], "could flip"),
        (found.ids[3], "not settled"),
        (found.ids[0], "wrong, not settled"),
    ]
    assert {len(row) for row in rows} == {8}


def test_what_could_flip_may_be_unknown(found):
    summary, _ = doubtful_points(replace(found, right=mark(found.right, 2), could_flip=None))
    assert summary == "1 wrong, 0 not settled; the 1 closest to the border"


def test_a_long_list_is_cut(found):
    def long(values):
        return np.resize(values, 100)

    texts = ["a"] * 100
    summary, rows = doubtful_points(
        replace(
            found,
            ids=texts,
            truth=texts,
            predicted=texts,
            right=np.zeros(100, dtype=bool),
            settled=long(found.settled),
            could_flip=None,
            value=long(found.value),
            narrow=np.resize(found.narrow, (2, 100)),
            wide=np.resize(found.wide, (2, 100)),
            shots=long(found.shots),
        )
    )
    assert len(rows) == MAX_LISTED_POINTS
    assert summary.endswith(f"the {MAX_LISTED_POINTS} of 100 closest to the border")
