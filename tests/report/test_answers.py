"""The words of a report follow its numbers."""

from dataclasses import replace

import numpy as np

from aqka.insight.hindsight import FewerShots, Steering
from aqka.maths.metrics import compare_shares, share_interval
from aqka.report.answers import answer_questions
from aqka.report.run_page import run_page
from aqka.report.usage import BillRow
from tests.report.verdicts import with_evidence


def test_words_follow_the_numbers(report):
    report = with_evidence(report)
    better = replace(report, steering=Steering(0.5, 0.1, 0.4))
    assert (
        "Yes: evenly spread, 2.00 times as many shots would be needed."
        in answer_questions(better)["Was adaptive allocation worth it?"]
    )
    worse = replace(report, steering=Steering(1.5, 0.1, 0.4))
    assert (
        "No: spreading the shots evenly"
        in answer_questions(worse)["Was adaptive allocation worth it?"]
    )
    assert "try the allocator uniform" in answer_questions(worse)["What to do next?"]
    unsure = replace(report, steering=Steering(0.9, 0.1, 0.4))
    assert "No difference that" in answer_questions(unsure)["Was adaptive allocation worth it?"]
    small_but_sure = replace(report, steering=Steering(0.99, 0.001, 0.4))
    assert not small_but_sure.steering.sure
    even = replace(better, settings=report.settings | {"method.allocator": "uniform"})
    assert "spread its shots evenly" in answer_questions(even)["Was adaptive allocation worth it?"]

    def advice(gain, error):
        half = FewerShots(0.5, 0.8, 0.01, gain, error)
        return answer_questions(replace(better, fewer=[half]))["What to do next?"]

    assert advice(0.1, 0.02).startswith("More shots:")
    assert advice(0.0, 0.01).startswith("Not more shots:")
    assert advice(0.03, 0.03).startswith("12 training points are too few to tell whether")


def test_against_the_majority_it_is_the_exact_test_that_counts(report):
    found = report.tested
    yes, no = np.ones(6, dtype=bool), np.zeros(6, dtype=bool)
    one, two = np.eye(6, dtype=bool)[:2]
    for right, guess, how, difference in (
        (
            yes,
            no,
            "better than",
            "+1.000; only the run is right on 6, only the majority class on 0",
        ),
        (no, yes, "worse than", "-1.000; only the run is right on 0, only the majority"),
        (one, two, "not shown to be better than", "+0.000"),
        (yes, one, "not shown to be better than", "+0.833"),  # p = 0.0625
        (yes, yes, "not shown to be better than", "+0.000"),
    ):
        against = compare_shares(right, guess)
        guessing = replace(report.guess, score=guess.mean(), against=against)
        changed = replace(report, tested=replace(found, right=right), rivals=[guessing])
        words = answer_questions(changed)["How accurate is it?"]
        assert f"This is {how} always answering the majority class" in words
        assert f"(difference {difference}" in words


def test_all_right_on_few_points_is_not_certainty(report):
    perfect = replace(report.tested, right=np.ones(6, dtype=bool))
    words = answer_questions(replace(report, tested=perfect))["How accurate is it?"]
    low, high = share_interval(6, 6)
    assert f"1.000 on 6 test points (95 % interval {low:.2f} to {high:.2f})" in words
    assert low < 0.65
    assert "± 0.000" not in words


def test_exact_kernel_and_plain_model_stand_beside_the_accuracy(report):
    words = answer_questions(with_evidence(report, plain=(0, 12)))["How accurate is it?"]
    assert "The exact kernel scores 0.850 (no clear difference, p = 1.00)." in words
    assert "RBF SVM scores 0.900 without a shot (better, p = 0.001)." in words


def test_the_bill_counts_the_predictions(report):
    training, predictions = (int(report.bill[0].training), int(report.bill[0].predictions))
    assert training == report.table.total
    assert predictions == report.tested.shots.sum()
    assert f"{training + predictions:,} in all." in answer_questions(report)["What was spent?"]
    paid = replace(report, bill=[*report.bill, BillRow("cost, estimated, USD", 3.0, 4.5)])
    assert "Cost, estimated, USD: 7.50 in all." in answer_questions(paid)["What was spent?"]


def test_qpu_time_and_cost_stand_beside_the_quote(report):
    rows = [
        row | {"actual": 90.0, "quoted": 100.0} if row["figure"] == "QPU seconds" else row
        for row in report.usage
    ]
    billed = replace(report, usage=rows)
    assert "1 min 30 s of QPU time" in answer_questions(billed)["What was spent?"]
    page = run_page(billed)
    assert "<td>100.00</td><td>90.00</td><td>90 %</td>" in page
