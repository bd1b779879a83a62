"""The ten claims of the summary, chosen before any reading was run."""

from dataclasses import dataclass

from aqka_research.reproduce.claims import Judgement
from aqka_research.reproduce.reading_study import ReadingStudy
from aqka_research.reproduce.reading_verdicts import ClaimUnderReadings

LITERAL_READING, BEST_READING, FAIR_PROTOCOL = (
    "literal reading",
    "best reading",
    "fair protocol",
)


@dataclass(frozen=True)
class Headline:
    """A claim in a few words, with what its experiment's claim begins with."""

    words: str
    experiment: str
    begins: str


HEADLINES = (
    Headline("the gain grows from N = 225 to N = 1000", "scaling", "the gain grows"),
    Headline("N = 1000: the gain is +25 pts", "scaling", "N = 1000: the gain is +25 pts"),
    Headline(
        "N = 225: the gain is at least +10 pts",
        "synthetic",
        "the gain over uniform is +10 to +24 pts: at least",
    ),
    Headline("uniform drops to 0.66 at large budgets", "synthetic", "uniform drops to 0.66"),
    Headline("ZZ kernel: the gain is at least +13 pts", "quantum", "target-est gains +13 to +18"),
    Headline("device kernel, B = n_pairs: +26.3 pts", "hardware", "B = n_pairs: AQKA gains"),
    Headline("device kernel, B = 4 n_pairs: +31.9 pts", "hardware", "B = 4 n_pairs: AQKA gains"),
    Headline("live, N = 20: +17.0 pts", "live", "N = 20, B = 4 n_pairs: AQKA gains"),
    Headline("Gini and gain correlate, r = +0.72", "gini", "Pearson's r"),
    Headline("the lead survives a tuned ridge", "ridge-cv", "AQKA's lead in the mid-budget"),
)


def headline_fates(study: ReadingStudy) -> dict[Headline, ClaimUnderReadings]:
    """Return the fates of those headlines whose experiments were run."""
    found: dict[Headline, ClaimUnderReadings] = {}
    for headline in HEADLINES:
        for fate in study.fates:
            if fate.experiment == headline.experiment and fate.claim.says.startswith(
                headline.begins
            ):
                found.setdefault(headline, fate)
    return found


def three_ways(study: ReadingStudy, fate: ClaimUnderReadings) -> dict[str, Judgement]:
    """Return a claim's verdicts under the literal reading, the best one and the fair protocol."""
    return {
        LITERAL_READING: fate.literal,
        BEST_READING: study.under_best[fate.experiment, fate.number],
        FAIR_PROTOCOL: study.under("fair", fate),
    }
