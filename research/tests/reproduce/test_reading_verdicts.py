import pytest

from aqka_research.paper_reading import LITERAL, PaperReading
from aqka_research.reproduce.claims import Claim, Judgement, within
from aqka_research.reproduce.reading_verdicts import ClaimUnderReadings, best_reading
from aqka_research.results import Estimate

UNFLOORED = PaperReading(floor="none")
PROJECTED = PaperReading(variance="projected", unseen="filled")
CLAIM = Claim("", "", Estimate(1.0, count=3), lambda r: Estimate(1.0), within(), lambda r: "")


def fate(holding, chances=None, literal=False, experiment="synthetic"):
    def judged(holds):
        return Judgement(CLAIM, Estimate(1.0), "reproduced" if holds else "not reproduced")

    readings = (LITERAL, UNFLOORED, PROJECTED)
    judgements = {reading: judged(reading in holding) for reading in readings}
    return ClaimUnderReadings(experiment, 0, CLAIM, judged(literal), judgements, chances or {})


def test_share_and_readings_of_a_claim():
    found = fate([UNFLOORED, PROJECTED])
    assert found.holds_under == [UNFLOORED, PROJECTED]
    assert found.share == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("chances", "literal", "label"),
    [
        ({LITERAL: 0.0}, True, "holds"),
        ({}, False, "no seeds stated"),
        ({LITERAL: 0.01, UNFLOORED: 0.0}, False, "consistent with few seeds"),
        ({LITERAL: 0.009, UNFLOORED: 0.2}, False, "consistent under another reading"),
        ({LITERAL: 0.009, UNFLOORED: 0.005}, False, "not explained"),
    ],
)
def test_labels_follow_the_rules(chances, literal, label):
    assert fate([], chances, literal).label == label


def test_the_best_reading_has_most_claims_and_of_equals_fewest_changes():
    assert best_reading([fate([PROJECTED]), fate([PROJECTED, UNFLOORED])]) == PROJECTED
    assert best_reading([fate([PROJECTED]), fate([UNFLOORED])]) == UNFLOORED
    # Experiments without the full design do not vote.
    silent = [fate([PROJECTED], experiment="svm")] * 3
    assert best_reading([fate([UNFLOORED]), *silent]) == UNFLOORED
