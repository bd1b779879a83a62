"""Runs against the first of them."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest

from aqka import InputError
from aqka.report.comparison import compare_figures, comparison_page, comparison_sentences
from aqka.report.run_page import collect
from aqka.report.words import p_text
from tests.report.runs import finished_run
from tests.study.helpers import small


def mcnemar(one, two):
    fewest = min(one, two)
    return min(1.0, 2 * sum(comb(one + two, k) for k in range(fewest + 1)) / 2 ** (one + two))


def test_a_comparison_pairs_the_same_points(report, tmp_path):
    found = report.tested
    other = replace(report, tested=replace(found, right=~found.right))
    [sentence] = comparison_sentences([report, other])
    wrong = int((~found.right).sum())
    p_value = mcnemar(wrong, 6 - wrong)
    assert (
        f"on the same 6 test points: only B is right on {wrong}, only A on {6 - wrong} "
        f"(difference {(2 * wrong - 6) / 6:+.3f}" in sentence
    )
    assert f"exact McNemar test {p_text(p_value)}" in sentence
    [elsewhere] = comparison_sentences([report, replace(other, data="others")])
    assert "on different test points" in elsewhere
    assert "both are right on the same" in comparison_sentences([report, report])[0]
    one = found.right.copy()
    one[0] = ~one[0]
    close = replace(report, tested=replace(found, right=one))
    assert "the difference is not significant" in comparison_sentences([report, close])[0]
    yes = np.ones(6, dtype=bool)
    right, none = (replace(report, tested=replace(found, right=x)) for x in (yes, ~yes))
    assert "p = 0.031): B is less accurate" in comparison_sentences([right, none])[0]
    assert "p = 0.031): B is more accurate" in comparison_sentences([none, right])[0]
    fisher = comparison_sentences([none, replace(right, data="others")])[0]
    assert "Fisher's exact test p = 0.002): B is more accurate" in fisher
    page = comparison_page([report, replace(report, settings={"method.allocator": "leverage"})])
    assert "method.allocator" in page
    with pytest.raises(InputError, match="at most 6"):
        collect([tmp_path] * 7)


def test_what_differs_comes_first_and_curves_have_bands(report):
    other = replace(report, settings=report.settings | {"method.allocator": "leverage"})
    page = comparison_page([report, other])
    differs = page.index("What differs")
    assert differs < page.index("method.allocator") < page.index("Figures")
    assert page.index("Comparison of 2 runs") < page.index('class="verdict') < differs
    assert page.count('class="band ') == 2
    assert "method.rounds" not in page  # it is the same in both


def test_the_better_value_is_marked(report):
    found = report.tested
    better = replace(found, right=np.ones(6, dtype=bool))
    cheaper = report.bill[0]._replace(training=1)
    other = replace(report, tested=better, bill=[cheaper, *report.bill[1:]])
    figures = compare_figures([report, other])
    assert found.score < 1
    assert figures["test accuracy, 95 %"][1] == [1]
    assert figures["shots with predictions"][1] == [1]
    assert figures["training shots"][1] == []  # alike
    assert figures["majority class"][1] == []  # neither good nor bad
    assert figures["state"][1] == []
    assert list(compare_figures([other, report]).values())[2][1] == [0]
    page = comparison_page([report, other])
    text = figures["test accuracy, 95 %"][0][1]
    assert f'<b class="best" title="the better value">{text} ◂</b>' in page
    assert f'"the better value">{figures["test accuracy, 95 %"][0][0]}' not in page


def test_runs_with_other_feature_maps_have_the_same_points(report, tmp_path):
    """What circuits are given differs, what the user's file calls the points does not."""
    other = small().replace("qubits = 2", "qubits = 2\nrange = [1.0, 2.0]")
    one, [two] = report, collect([finished_run(tmp_path / "b", other)])
    assert one.data == two.data
    assert "on different" not in comparison_sentences([one, two])[0]
    moved = finished_run(tmp_path / "c", "seed = 5\n" + small())
    assert "on different" in comparison_sentences([one, *collect([moved])])[0]
