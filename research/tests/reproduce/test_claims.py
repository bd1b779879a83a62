"""Every rule and every verdict, on numbers small enough to check by hand."""

import math

import pytest

from aqka_research.reproduce.claims import (
    Claim,
    above,
    at_least,
    at_most,
    below,
    factor,
    one_draw,
    within,
)
from aqka_research.results import Estimate, Results

NOTHING = Results([], "paper")
E = Estimate


@pytest.mark.parametrize(
    ("rule", "ours", "paper", "holds"),
    [
        (within(), E(12, 1), E(10), True),
        (within(), E(12.1, 1), E(10), False),
        (within(), E(12.1, 1), E(10, 1), True),  # 2.1 ≤ 2·√2
        (within(), E(10), E(10.1), False),
        (within(0.2), E(10), E(10.1), True),
        (one_draw(), E(14.4, 1, 4), E(10), True),  # 4.4 ≤ 2·√(1 + 4)
        (one_draw(), E(14.5, 1, 4), E(10), False),
        (one_draw(), E(10), E(10.1), False),
        (at_least(), E(8.1, 1), E(10), True),
        (at_least(), E(7.9, 1), E(10), False),
        (at_least(), E(99), E(10), True),
        (at_most(), E(11.9, 1), E(10), True),
        (at_most(), E(12.1, 1), E(10), False),
        (at_most(), E(-99), E(10), True),
        (factor(2), E(5), E(10), True),
        (factor(2), E(20), E(10), True),
        (factor(2), E(4.9), E(10), False),
        (factor(2), E(-5), E(10), False),
        (above(), E(2.1, 1), E(0), True),
        (above(), E(1.9, 1), E(0), False),
        (below(), E(-2.1, 1), E(0), True),
        (below(), E(-1.9, 1), E(0), False),
    ],
)
def test_rules(rule, ours, paper, holds):
    assert rule.holds(ours, paper) is holds


def claim(ours, paper=10.0, rule=None, reference=0.0, error=math.nan, count=1):
    return Claim(
        "Fig. 1",
        "a gain",
        Estimate(paper, error, count),
        None if ours is None else lambda results: ours,
        rule or within(),
        lambda results: "because",
        reference=reference,
    )


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (claim(E(9, 1)), "reproduced"),
        (claim(E(5, 1)), "direction only"),
        (claim(E(1, 1)), "not reproduced"),
        (claim(E(-10, 1)), "not reproduced"),
        (claim(None), "not testable here"),
        # Within two of its large errors, but then also within two of nothing.
        (claim(E(8, 5)), "not reproduced"),
        # Agrees only because the paper's error is large, and is less than half as big.
        (claim(E(4, 1), error=10.0), "direction only"),
        (claim(E(5.1, 1), error=10.0), "reproduced"),
        # A loss that the paper reports, with the same logic mirrored.
        (claim(E(-9, 1), paper=-10.0), "reproduced"),
        (claim(E(-5, 1), paper=-10.0), "direction only"),
        (claim(E(5, 1), paper=-10.0), "not reproduced"),
        # A level has no direction.
        (claim(E(5, 1), reference=None), "not reproduced"),
        (claim(E(8, 5), reference=None), "reproduced"),
    ],
)
def test_verdicts(made, verdict):
    judged = made.judge(NOTHING)
    assert judged.verdict == verdict
    assert judged.explanation.endswith("" if verdict == "reproduced" else "because")
    assert bool(judged.explanation) == (verdict != "reproduced")


def test_a_remark_says_which_condition_failed():
    noisy = claim(E(8, 5)).judge(NOTHING)
    assert noisy.remark == "not on the paper's side of 0 by two standard errors"
    small = claim(E(4, 1), error=10.0).judge(NOTHING)
    assert small.remark == "less than half of the paper's effect"
    assert claim(E(25, 1)).judge(NOTHING).remark == ""


def test_our_scatter_stands_in_for_an_error_the_paper_does_not_give():
    # Ours: SE 1 over 20 seeds, so 2 over the paper's 5; the difference has an SE of √5.
    assert claim(E(14, 1, 20), count=5).judge(NOTHING).verdict == "reproduced"
    assert claim(E(14.5, 1, 20), count=5).judge(NOTHING).verdict == "direction only"
    assert claim(E(14, 1, 20)).judge(NOTHING).verdict == "direction only"


def test_what_a_run_did_not_measure_is_not_judged():
    made = Claim(
        "Fig. 1", "x", E(1), lambda r: r.mean("accuracy", method="aqka"), within(), lambda r: ""
    )
    judged = made.judge(Results([{"seed": 0, "method": "uniform", "accuracy": 1.0}], "paper"))
    assert judged.verdict == "not testable here"
    assert judged.ours is None
    assert "no row with method aqka" in judged.explanation


def test_an_explanation_that_lacks_a_number_does_not_hide_the_verdict():
    made = Claim(
        "Fig. 1", "x", E(1), lambda r: E(3), within(), lambda r: str(r.mean("accuracy", seed=9))
    )
    judged = made.judge(Results([{"seed": 0, "accuracy": 1.0}], "paper"))
    assert judged.verdict == "not reproduced"
    assert "seed 9" in judged.explanation
