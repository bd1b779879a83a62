"""One function decides what became of a run, and what is advised follows from it."""

from dataclasses import replace

import numpy as np
import pytest

from aqka.insight.hindsight import FewerShots
from aqka.report.answers import advice, can_learn, decide
from aqka.report.run_page import run_page
from aqka.study.results import ExactKernel
from tests.report.verdicts import exact_kernel, rival, with_evidence

GROWING = FewerShots(0.5, 0.7, 0.01, 0.2, 0.01)  # the second half of the shots brought much


@pytest.mark.parametrize(
    ("evidence", "outcome", "words"),
    [
        ({}, "learnt", "RBF SVM scores 0.900 without a shot; the difference is not significant"),
        ({"plain": (12, 0)}, "learnt", "without a shot, which is worse"),
        ({"plain": (0, 12)}, "plain", "A plain model is better: RBF SVM scores 0.900 without"),
        ({"guess": (4, 0)}, "guessing", "Not shown to be better than guessing"),
        ({"guess": (0, 12)}, "guessing", "Worse than guessing"),
        ({"guess": (4, 0), "plain": (0, 12)}, "guessing", "Not shown to be better"),
        # 0.031 alone would be believed, but it is the best of three plain models.
        ({"plain": (0, 6)}, "learnt", "the difference is not significant"),
    ],
)
def test_the_first_rule_that_holds_decides(report, evidence, outcome, words):
    verdict = decide(with_evidence(report, **evidence))
    assert verdict.outcome == outcome
    assert words in verdict.words


def test_before_the_predictions_nothing_is_known(report):
    pending = replace(report, tested=None, rivals=[], state="stopped")
    assert decide(pending).outcome == "open"
    dull = replace(pending, exact=exact_kernel(0.5))
    assert "the exact kernel is not clearly better than guessing" in decide(dull).words
    assert "No more shots" in " ".join(advice(dull))


@pytest.mark.parametrize("growing", [True, False])
def test_shots_are_never_advised_for_a_kernel_that_cannot_learn(report, growing):
    fewer = [GROWING] if growing else []
    unsettled = replace(report.tested, settled=~report.tested.right & False)
    full = replace(report, fewer=fewer, tested=unsettled)
    dull = with_evidence(full, kernel=0.5, guess=(2, 1))
    assert can_learn(dull) is False
    [sentence] = advice(dull)
    assert sentence.startswith("No more shots:")
    assert "aqka check" in sentence
    assert "test_shots" not in sentence
    bright = advice(with_evidence(full, kernel=0.9, guess=(2, 1)))
    assert bright[0].startswith("More shots:") == growing
    assert "budget.test_shots" in " ".join(bright)


def test_what_cannot_be_simulated_gets_no_more_shots_before_it_learns(report):
    blind = replace(
        with_evidence(report, guess=(2, 1)), exact=ExactKernel("30 qubits are too many")
    )
    blind = replace(blind, rivals=blind.rivals[1:], fewer=[GROWING])
    assert can_learn(blind) is None
    assert advice(blind)[0].startswith("No more shots yet:")
    assert "30 qubits are too many" in advice(blind)[0]
    better = replace(blind, rivals=[*blind.rivals[:-1], rival("m", "guessing", 0.5, 12, 0)])
    assert advice(better)[0].startswith("More shots:")


def test_the_test_points_can_show_that_a_kernel_learns(report):
    """Cross-validation on few points may be unsure of what the test points show."""
    shown = with_evidence(report, kernel=0.5)
    assert can_learn(shown) is False
    exact = rival("exact kernel", "exact", 0.9, 0, 0, learnt=True)
    assert can_learn(replace(shown, rivals=[exact, *shown.rivals[1:]])) is True


def test_a_better_plain_model_is_recommended_where_shots_cannot_catch_up(report):
    beaten = replace(with_evidence(report, plain=(0, 12)), fewer=[GROWING])
    assert advice(beaten)[0].startswith("Take RBF SVM for these data")
    assert "More shots" not in " ".join(advice(beaten))
    reachable = [replace(one, score=0.95) if one.kind == "exact" else one for one in beaten.rivals]
    assert advice(replace(beaten, rivals=reachable))[0].startswith("More shots:")


def test_the_line_is_the_first_of_the_page_and_coloured(report):
    for outcome, guess in (("learnt", (12, 0)), ("guessing", (1, 0))):
        told = with_evidence(report, guess=guess)
        page = run_page(told)
        assert f'<p class="verdict {outcome}"><b>{decide(told).headline}:</b>' in page
        assert page.index('class="verdict') < page.index("What was spent?") < page.index("<table")


@pytest.mark.parametrize(
    ("right", "words"),
    [
        (True, "already scores as well as the exact kernel (0.850)"),
        (False, "about the exact kernel's 0.850"),
    ],
)
def test_the_exact_kernel_is_no_limit_that_a_run_has_passed(report, right, words):
    tested = replace(report.tested, right=np.full(6, right))
    assert words in " ".join(advice(with_evidence(replace(report, tested=tested))))
