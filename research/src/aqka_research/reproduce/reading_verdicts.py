"""What holds under which reading of the paper: the verdicts, by the rules written before."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from aqka_research.paper_reading import LITERAL, PaperReading
from aqka_research.reproduce.claims import Claim, Judgement
from aqka_research.reproduce.few_seeds import chance_of_paper
from aqka_research.reproduce.reading_design import EXPERIMENTS, full_design
from aqka_research.reproduce.reproduction import Reproduction
from aqka_research.results import Results

FEWEST_SEEDS = 3
"""With fewer seeds under a reading there is no verdict: their scatter says nothing."""
PLAUSIBLE = 0.01
"""The probability from which few seeds could have shown the paper's number."""


@dataclass(frozen=True)
class ClaimUnderReadings:
    """A claim's fate under every reading of its experiment's design.

    Attributes
    ----------
    experiment, number, claim
        Whose it is, and which.
    literal
        The verdict of the paper's protocol, which is the literal reading.
    judgements
        The verdict and our number under each reading, the literal one, with common random
        numbers, first.
    chances
        Under each reading, how often as few seeds as the paper's come out as far as its number;
        empty where the paper does not say how many it had, or where the claim holds literally.
    """

    experiment: str
    number: int
    claim: Claim
    literal: Judgement
    judgements: dict[PaperReading, Judgement]
    chances: dict[PaperReading, float] = field(default_factory=dict)

    @property
    def holds_under(self) -> list[PaperReading]:
        """The readings under which it holds."""
        return [r for r, judgement in self.judgements.items() if judgement.verdict == "reproduced"]

    @property
    def tested(self) -> int:
        """Under how many readings it could be tested."""
        return sum(j.verdict != "not testable here" for j in self.judgements.values())

    @property
    def share(self) -> float:
        """The share of readings under which it holds."""
        return len(self.holds_under) / max(1, self.tested)

    @property
    def label(self) -> str:
        """Whether few seeds could have shown it, in the words of the rules."""
        if self.literal.verdict == "reproduced":
            return "holds"
        if not self.chances:
            return "no seeds stated"
        if self.chances.get(LITERAL, 0.0) >= PLAUSIBLE:
            return "consistent with few seeds"
        if max(self.chances.values()) >= PLAUSIBLE:
            return "consistent under another reading"
        return "not explained"


def judge(claim: Claim, results: Results, fewest: int) -> Judgement:
    """Return the verdict on a claim, if there are at least so many seeds."""
    if len(results.unique("seed")) < fewest:
        return Judgement(claim, None, "not testable here", f"Fewer than {fewest} seeds are there.")
    # Why a number differs is explained for the literal reading alone.
    return claim.judge(results) if claim.ours is None else _unexplained(claim).judge(results)


def _unexplained(claim: Claim) -> Claim:
    return replace(claim, because=lambda _: "")


def judge_all(
    paper: Mapping[str, Reproduction],
    results: Mapping[str, Mapping[PaperReading, Results]],
    fewest: int = FEWEST_SEEDS,
) -> list[ClaimUnderReadings]:
    """Return the fate of every claim of the experiments."""
    fates = []
    for name, by_reading in results.items():
        for number, literal in enumerate(paper[name].judgements):
            claim = literal.claim
            judged = {reading: judge(claim, found, fewest) for reading, found in by_reading.items()}
            chances: dict[PaperReading, float] = {}
            if literal.verdict != "reproduced":
                # The paper's protocol has the literal reading with more seeds.
                enough = {r: by_reading[r] for r in by_reading if judged[r].ours is not None}
                chances = _chances(claim, {**enough, LITERAL: paper[name].results})
            fates.append(ClaimUnderReadings(name, number, claim, literal, judged, chances))
    return fates


def _chances(claim: Claim, results: Mapping[PaperReading, Results]) -> dict[PaperReading, float]:
    found = {reading: chance_of_paper(claim, one) for reading, one in results.items()}
    return {reading: chance for reading, chance in found.items() if chance is not None}


def best_reading(fates: list[ClaimUnderReadings]) -> PaperReading:
    """Return the reading under which most claims of the full designs hold.

    Among equals it is the one with the fewest changes. Task kernels are chosen apart, for no
    experiment has both.
    """
    counted = [fate for fate in fates if EXPERIMENTS[fate.experiment].kind == "full"]
    holding = [(fate.experiment, set(fate.holds_under)) for fate in counted]

    def score(reading: PaperReading) -> tuple[int, int]:
        held = sum(EXPERIMENTS[name].relevant(reading) in under for name, under in holding)
        return held, -len(reading.changes)

    return max(_candidates(), key=score)


def _candidates() -> Iterator[PaperReading]:
    """Yield the readings of the full design, with width and inputs at all levels."""
    changes: tuple[dict[str, str], ...] = (
        {},
        {"width": "0.05"},
        {"inputs": "pi"},
        {"width": "0.05", "inputs": "pi"},
    )
    kept = {reading.changed(width="0.10", inputs="2pi") for reading in full_design()}
    for reading, change in product(sorted(kept, key=lambda r: r.name), changes):
        yield reading.changed(**change)


def facts(fate: ClaimUnderReadings) -> dict[str, Any]:
    """Return a claim's fate as plain data."""
    literal = fate.literal.ours
    return {
        "experiment": fate.experiment,
        "place": fate.claim.place,
        "says": fate.claim.says,
        "paper": fate.claim.paper.value,
        "literal": None if literal is None else literal.value,
        "literal_error": None if literal is None else literal.error,
        "verdict": fate.literal.verdict,
        "readings": fate.tested,
        "holds_under": [reading.name for reading in fate.holds_under],
        "label": fate.label,
        "chance_literal": fate.chances.get(LITERAL),
        "chance_largest": max(fate.chances.values(), default=None),
    }
