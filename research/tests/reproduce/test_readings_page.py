import pytest

from aqka_research.reproduce.claims import Claim, Judgement, within
from aqka_research.reproduce.headlines import (
    BEST_READING,
    FAIR_PROTOCOL,
    LITERAL_READING,
    Headline,
)
from aqka_research.reproduce.reading_verdicts import ClaimUnderReadings
from aqka_research.reproduce.readings_page import _gains_in_words
from aqka_research.results import Estimate

ABOVE, UNCLEAR, BELOW = Estimate(5.0, 1.0, 5), Estimate(1.0, 1.0, 5), Estimate(-5.0, 1.0, 5)


def in_words(*gains, unit="pts", words="the gain is"):
    """Return the sentences on headlines with these literal and fair gains."""
    claim = Claim("", "", Estimate(1.0), lambda r: ABOVE, within(), lambda r: "", unit=unit)
    fates, ways = {}, []
    for number, (literal, fair) in enumerate(gains):
        judged = [Judgement(claim, ours, "reproduced") for ours in (literal, literal, fair)]
        fate = ClaimUnderReadings("synthetic", number, claim, judged[0], {})
        fates[Headline(f"{words} {number}", "synthetic", "")] = fate
        names = (LITERAL_READING, BEST_READING, FAIR_PROTOCOL)
        ways.append(dict(zip(names, judged, strict=True)))
    return _gains_in_words(fates, ways)


@pytest.mark.parametrize(
    ("literal", "fair", "words"),
    [
        (ABOVE, ABOVE, "usually beats even shots; it still does once"),
        (ABOVE, UNCLEAR, "usually beats even shots; it no longer does once"),
        (UNCLEAR, ABOVE, "does not usually beat even shots; it does once"),
        (UNCLEAR, BELOW, "does not usually beat even shots; nor does it once"),
    ],
)
def test_the_page_says_whether_most_gains_are_above_zero(literal, fair, words):
    assert words in in_words((literal, fair), (literal, fair), (UNCLEAR, UNCLEAR))


def test_gains_are_counted_above_and_below():
    text = in_words((ABOVE, BELOW), (UNCLEAR, ABOVE), (BELOW, BELOW))
    assert "Of 3 headline gains, 1 is above zero" in text
    assert "1 above and 2 below" in text


def test_a_difference_of_gains_and_other_units_are_no_gains():
    assert in_words((ABOVE, ABOVE), words="the gain grows from") == ""
    assert in_words((ABOVE, ABOVE), unit="") == ""
