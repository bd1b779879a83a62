"""The words of a report follow its numbers."""

from dataclasses import replace

from aqka.insight.hindsight import FewerShots, Steering
from aqka.report.run_page import run_page
from tests.report.helpers import words_by_question


def test_words_follow_the_numbers(report):
    better = replace(report, steering=Steering(0.5, 0.1, 0.4))
    assert (
        "yes, even shots would have needed 2.00 times"
        in words_by_question(better)["Was adaptive allocation worth it?"]
    )
    worse = replace(report, steering=Steering(1.5, 0.1, 0.4))
    assert (
        "no, spreading them evenly" in words_by_question(worse)["Was adaptive allocation worth it?"]
    )
    assert "try the allocator uniform" in words_by_question(worse)["What to do next?"]
    unsure = replace(report, steering=Steering(0.9, 0.1, 0.4))
    assert "no difference that" in words_by_question(unsure)["Was adaptive allocation worth it?"]
    small_but_sure = replace(report, steering=Steering(0.99, 0.001, 0.4))
    assert not small_but_sure.steering.sure
    even = replace(better, settings=report.settings | {"method.allocator": "uniform"})
    assert "did not steer" in words_by_question(even)["Was adaptive allocation worth it?"]

    def advice(gain, error):
        half = FewerShots(0.5, 0.8, 0.01, gain, error)
        return words_by_question(replace(report, fewer=[half]))["What to do next?"]

    assert advice(0.1, 0.02).startswith("More shots:")
    assert advice(0.0, 0.01).startswith("Not more shots:")
    assert advice(0.03, 0.03).startswith("Whether more shots would help cannot be told")
    found = report.point_results
    for gain, error, words in (
        (0.3, 0.1, "better than the majority class"),
        (-0.3, 0.1, "worse than the majority class"),
        (0.1, 0.1, "not shown to be better"),
        (0.0, 0.0, "not shown to be better"),
    ):
        changed = replace(report, point_results=replace(found, gain=gain, gain_error=error))
        assert words in words_by_question(changed)["How accurate is it?"]


def test_qpu_time_and_cost_stand_beside_the_quote(report):
    rows = [
        row | {"actual": 90.0, "quoted": 100.0} if row["figure"] == "QPU seconds" else row
        for row in report.usage
    ]
    billed = replace(report, usage=rows)
    assert "1 min 30 s of QPU time" in words_by_question(billed)["What was spent?"]
    page = run_page(billed)
    assert "<td>100.00</td><td>90.00</td><td>90%</td>" in page
