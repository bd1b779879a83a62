"""The forms of claims, and the notes, on rows small enough to check by hand."""

import pytest

from aqka_research.reproduce.claims import above
from aqka_research.reproduce.experiments._notes import levels_note
from aqka_research.reproduce.experiments._stated import (
    direction,
    largest_size,
    stated_gain,
    stated_level,
    stated_span,
)
from aqka_research.results import Estimate, Results
from aqka_research.spending import MAJORITY


def because(results):
    return "because"


def rows(accuracies):
    """Rows of both methods at each budget, the same for two seeds."""
    return Results(
        [
            {"seed": seed, "method": method, "budget": budget, "accuracy": accuracy}
            for seed in (0, 1)
            for (method, budget), accuracy in accuracies.items()
        ],
        "paper",
    )


# Fractions that are exact in binary: rows without scatter leave no room for rounding.
RESULTS = rows({("aqka", 1): 0.875, ("uniform", 1): 0.75, ("aqka", 2): 0.75, ("uniform", 2): 0.5})


def gain(budget):
    return lambda r: r.gain("aqka", "uniform", budget=budget)


def test_a_stated_gain_must_have_its_size_and_its_sign():
    assert stated_gain("p", "s", 12.5, gain(1), because).judge(RESULTS).verdict == "reproduced"
    assert stated_gain("p", "s", 30.0, gain(1), because).judge(RESULTS).verdict == "direction only"
    assert stated_gain("p", "s", -5.0, gain(1), because).judge(RESULTS).verdict == "not reproduced"


def test_a_small_stated_gain_has_no_sign_to_miss():
    same = rows({("aqka", 1): 0.8, ("uniform", 1): 0.8})
    small = stated_gain("p", "s", 2.9, gain(1), because)
    assert small.reference is None
    assert small.judge(same).verdict == "not reproduced"  # 0 ± 0 is not 2.9
    assert stated_gain("p", "s", 3.0, gain(1), because).reference == 0.0


def test_a_span_takes_the_smallest_and_the_largest_gain():
    low, high = stated_span(
        "p",
        "gains",
        12.5,
        25.0,
        lambda r: r.along("budget", lambda s: s.gain("aqka", "uniform")),
        because,
    )
    assert low.says == "gains: at least +12.5 pts"
    assert low.judge(RESULTS).ours.value == pytest.approx(12.5)
    assert high.judge(RESULTS).ours.value == pytest.approx(25)
    assert {low.judge(RESULTS).verdict, high.judge(RESULTS).verdict} == {"reproduced"}


def test_a_level_and_a_direction():
    level = stated_level("p", "s", 0.5, because, method="uniform", budget=2)
    assert level.judge(RESULTS).verdict == "reproduced"
    lead = direction("p", "s", gain(2), above(), because)
    assert lead.judge(RESULTS).verdict == "reproduced"
    behind = direction("p", "s", lambda r: gain(2)(r) * -1, above(), because)
    assert behind.judge(RESULTS).verdict == "not reproduced"


def test_the_largest_size_has_no_sign():
    found = largest_size({1: Estimate(2.0, 0.1, 5), 2: Estimate(-3.0, 0.2, 5)})
    assert found == Estimate(3.0, 0.2, 5)


def test_a_note_names_the_majority_and_what_stands_beside_accuracy():
    beside = {"balanced_accuracy": 0.5, "correlation": 0.25}
    noted = Results(
        [
            {"seed": 0, "method": MAJORITY, "accuracy": 0.875, **beside},
            {"seed": 0, "method": "aqka", "budget": 1, "accuracy": 0.75, **beside},
            {"seed": 0, "method": "aqka", "budget": 2, "accuracy": 0.1, **beside},
        ],
        "fair",
    )
    text = levels_note(noted, ("aqka",), budget=1)
    assert "0.875 of the test points" in text
    assert "aqka 0.750, 0.500 and 0.250" in text
    assert "fair protocol" in text
