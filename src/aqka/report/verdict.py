"""Was it worth it? One function decides; the terminal and the page print what it says."""

from typing import Literal, NamedTuple

from aqka.report.rivals import Rival
from aqka.report.run_report import RunReport
from aqka.report.tested import Tested
from aqka.report.words import capital, p_text

Outcome = Literal["learnt", "guessing", "plain", "open"]
"""``guessing``: not shown to be better; ``plain``: a model without shots is; ``open``: unknown."""


class Verdict(NamedTuple):
    """What became of a run: the verdict in a few words, and what it rests on."""

    outcome: Outcome
    headline: str
    reason: str

    @property
    def words(self) -> str:
        """Both as one line."""
        return f"{self.headline}: {self.reason}"


def decide(report: RunReport) -> Verdict:
    """Return what became of a run; the first rule that holds decides.

    1. The test points are not predicted: open.
    2. The run is not better than guessing (the majority class, or the mean of a regression) by
       the paired test (p < 0.05): not shown to be better than guessing.
    3. A plain model is better by the same test, its p-value times the number of plain models: a
       plain model is better.
    4. Otherwise: learnt.
    """
    tested, guess, plain = report.tested, report.rival("guessing"), report.best_plain
    if tested is None:
        return Verdict("open", "Not known yet", _what_is_missing(report))
    score = tested.score_words
    if guess is None:
        return Verdict("open", "Not compared", f"{score}.")
    over_guessing = f"{score}; {_scores(tested, guess)} ({p_text(guess.p_value)})."
    if not guess.worse:
        headline = "Worse than guessing" if guess.better else "Not shown to be better than guessing"
        if plain is not None and tested.sign * (plain.score - tested.score) > 0:
            over_guessing += f" {capital(_scores(tested, plain))} without a shot."
        return Verdict("guessing", headline, over_guessing)
    if plain is None:
        return Verdict("learnt", "Learnt", over_guessing)
    without = capital(f"{_scores(tested, plain)} without a shot")
    if plain.better:
        reason = f"{without}, this run {score} ({p_text(plain.p_value)})."
        return Verdict("plain", "A plain model is better", reason)
    how = ", which is worse" if plain.worse else "; the difference is not significant"
    return Verdict("learnt", "Learnt", f"{over_guessing} {without}{how}.")


def can_learn(report: RunReport) -> bool | None:
    """Return whether the kernel could learn if it were known exactly; None: not simulated.

    Either the cross-validation among the training points or the test points must show it.
    """
    learns, rival = report.exact.learns, report.rival("exact")
    if report.exact.unknown or (learns is None and rival is None):
        return None
    return bool(learns or (rival is not None and rival.learnt))


def _scores(tested: Tested, rival: Rival) -> str:
    """Return a rival with its score."""
    name = f"the {tested.guess}" if rival.kind == "guessing" else rival.name
    return f"{name} scores {tested.shown(rival.score)}"


def _what_is_missing(report: RunReport) -> str:
    """Return why nothing is known yet."""
    text = f"the run is {report.state} and its test points are not predicted yet"
    if report.state == "finished":
        text = "the run has only trained and has predicted no test points"
    if can_learn(report) is False:
        text += "; the exact kernel is not clearly better than guessing"
        return f"{text} ({report.exact.words})."
    return f"{text}."
