"""What the paper states, as data, and the verdict on it, computed from our results.

A claim holds the paper's number and where it stands, how to compute ours, and the rule that
compares the two.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from aqka_research.results import Estimate, MissingError, Results

ClaimVerdict = Literal["reproduced", "direction only", "not reproduced", "not testable here"]

STANDARD_ERRORS = 2.0
"""How many standard errors count as agreement, and as a difference from nothing."""

SMALLEST_SHARE = 0.5
"""The share of the paper's effect that counts as the same effect."""


@dataclass(frozen=True)
class Rule:
    """Whether our estimate agrees with the paper's.

    Attributes
    ----------
    sign
        How the report writes the paper's number: ``≥ 10``.
    text
        The rule in words.
    holds
        The rule, of our estimate and the paper's.
    """

    sign: str
    text: str
    holds: Callable[[Estimate, Estimate], bool]


def within(tolerance: float = 0.0) -> Rule:
    """Agree within two standard errors of the difference, or within ``tolerance``."""

    def holds(ours: Estimate, paper: Estimate) -> bool:
        noise = STANDARD_ERRORS * math.hypot(_or_zero(ours.error), _or_zero(paper.error))
        return abs(ours.value - paper.value) <= max(tolerance, noise)

    return Rule("", f"within 2 SE or {tolerance:g}" if tolerance else "within 2 SE", holds)


def one_draw() -> Rule:
    """Agree within two standard deviations of a single seed of ours.

    For a number of the paper from one draw of what our seeds vary, such as one split of the data:
    repeating only the shots, as the paper did, does not average that draw out.
    """

    def holds(ours: Estimate, paper: Estimate) -> bool:
        error = _or_zero(ours.error)
        noise = STANDARD_ERRORS * math.hypot(error, error * ours.count**0.5)
        return abs(ours.value - paper.value) <= noise

    return Rule("one draw: ", "within 2 standard deviations of one draw", holds)


def at_least() -> Rule:
    """Reach the paper's number, up to two standard errors of the difference."""

    def holds(ours: Estimate, paper: Estimate) -> bool:
        return ours.value >= paper.value or within().holds(ours, paper)

    return Rule("≥ ", "at least, up to 2 SE", holds)


def at_most() -> Rule:
    """Stay at or below the paper's number, up to two standard errors of the difference."""

    def holds(ours: Estimate, paper: Estimate) -> bool:
        return ours.value <= paper.value or within().holds(ours, paper)

    return Rule("≤ ", "at most, up to 2 SE", holds)


def factor(largest: float) -> Rule:
    """Agree up to a factor; both numbers must be positive."""

    def holds(ours: Estimate, paper: Estimate) -> bool:
        if ours.value <= 0 or paper.value <= 0:
            return False
        return abs(math.log(ours.value / paper.value)) <= math.log(largest) + 1e-12

    return Rule("", f"within a factor of {largest:g}", holds)


def above() -> Rule:
    """Lie above the claim's number by two standard errors: for claims of a direction."""

    def holds(ours: Estimate, paper: Estimate) -> bool:
        return ours.value - STANDARD_ERRORS * _or_zero(ours.error) > paper.value

    return Rule("> ", "above by 2 SE", holds)


def below() -> Rule:
    """Lie below the claim's number by two standard errors: for claims of a direction."""

    def holds(ours: Estimate, paper: Estimate) -> bool:
        return ours.value + STANDARD_ERRORS * _or_zero(ours.error) < paper.value

    return Rule("< ", "below by 2 SE", holds)


@dataclass(frozen=True)
class Claim:
    """A number that the paper states.

    Attributes
    ----------
    place
        Section, figure or table.
    says
        The statement, quoted or in short.
    paper
        The paper's number, with its standard error where it gives one. Where it gives only the
        number of seeds (``Estimate(24.0, count=5)``), its error is taken to be what the scatter
        of our seeds gives for that many.
    ours
        How our number follows from the results; None if nothing here can measure it.
    rule
        What counts as agreement: :func:`within`, :func:`at_least`, :func:`at_most`,
        :func:`factor`, or for a direction alone :func:`above` and :func:`below`.
    because
        Why our number differs, shown only if it does; a number in it is computed from the
        results. For a claim that cannot be tested, the reason.
    reference
        Where the direction turns, 0 for a gain; None if the claim has no direction. A claim
        is reproduced only if ours lies on the paper's side of it by two standard errors and
        reaches half of the paper's size, so that noise does not agree with everything. On the
        right side but otherwise failing it is reproduced in direction only.
    unit
        Unit of all numbers, such as ``"pts"``.
    """

    place: str
    says: str
    paper: Estimate
    ours: Callable[[Results], Estimate] | None
    rule: Rule
    because: Callable[[Results], str]
    reference: float | None = None
    unit: str = ""

    def judge(self, results: Results) -> "Judgement":
        """Compare with what was measured."""
        if self.ours is None:
            return Judgement(self, None, "not testable here", self.because(results))
        try:
            ours = self.ours(results)
        except MissingError as error:
            reason = f"This run has {error.args[0]}; the full run has."
            return Judgement(self, None, "not testable here", reason)
        agrees = self.rule.holds(ours, _with_error(self.paper, ours))
        verdict: ClaimVerdict = "reproduced" if agrees else "not reproduced"
        remark = ""
        if self.reference is not None:
            if not _same_side(ours, self.paper, self.reference):
                verdict = "not reproduced"
                remark = f"not on the paper's side of {self.reference:g} by two standard errors"
            elif _relative(ours, self.paper, self.reference) < SMALLEST_SHARE:
                verdict, remark = "direction only", "less than half of the paper's effect"
            elif not agrees:
                verdict = "direction only"
        if verdict == "reproduced":
            return Judgement(self, ours, verdict)
        try:
            return Judgement(self, ours, verdict, self.because(results), remark)
        except MissingError as error:
            return Judgement(self, ours, verdict, f"This run has {error.args[0]}.", remark)


@dataclass(frozen=True)
class Judgement:
    """A claim, our number and the verdict; if it is not simply reproduced, why.

    Attributes
    ----------
    claim, ours, verdict
        What was judged, our number if there is one, and the outcome.
    explanation
        What stands behind our number; several claims may share it.
    remark
        Which condition of the claim's direction failed, in a few words.
    """

    claim: Claim
    ours: Estimate | None
    verdict: ClaimVerdict
    explanation: str = ""
    remark: str = ""


def _same_side(ours: Estimate, paper: Estimate, reference: float) -> bool:
    """Whether ours lies on the paper's side of the reference by two standard errors."""
    distance = (ours.value - reference) * math.copysign(1.0, paper.value - reference)
    return distance > STANDARD_ERRORS * _or_zero(ours.error)


def _relative(ours: Estimate, paper: Estimate, reference: float) -> float:
    """Return our effect in units of the paper's."""
    return (ours.value - reference) / (paper.value - reference)


def _with_error(paper: Estimate, ours: Estimate) -> Estimate:
    """Return the paper's number with the error that our scatter gives for its seeds."""
    if math.isfinite(paper.error) or paper.count == 1:
        return paper
    return replace(paper, error=ours.error * (ours.count / paper.count) ** 0.5)


def _or_zero(error: float) -> float:
    return error if math.isfinite(error) else 0.0
