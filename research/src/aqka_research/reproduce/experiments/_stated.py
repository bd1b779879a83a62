"""The forms that most of the paper's numbers have: a gain, a level, and a span of gains."""

import math
from collections.abc import Callable
from typing import Any

from aqka_research.reproduce.claims import Claim, Rule, at_least, within
from aqka_research.results import Estimate, Results, highest, lowest

Because = Callable[[Results], str]
Gains = Callable[[Results], dict[Any, Estimate]]

SMALLEST_DIRECTION = 3.0
"""Points below which a stated gain has no direction to judge: with three to twenty seeds the paper
cannot tell it from nothing either, so only its size is compared."""


def stated_gain(
    place: str,
    says: str,
    points: float,
    ours: Callable[[Results], Estimate],
    because: Because,
    *,
    seeds: int = 1,
    rule: Rule | None = None,
) -> Claim:
    """Return the claim of a difference of ``points`` accuracy points, from the paper's seeds."""
    return Claim(
        place,
        says,
        Estimate(points, count=seeds),
        ours,
        rule or within(),
        because,
        reference=0.0 if abs(points) >= SMALLEST_DIRECTION else None,
        unit="pts",
    )


def stated_level(
    place: str,
    says: str,
    accuracy: float,
    because: Because,
    *,
    seeds: int = 1,
    rule: Rule | None = None,
    **conditions: Any,
) -> Claim:
    """Return the claim of an accuracy of the rows that meet the conditions."""
    return Claim(
        place,
        says,
        Estimate(accuracy, count=seeds),
        lambda r: r.mean("accuracy", **conditions),
        rule or within(),
        because,
    )


def stated_span(
    place: str,
    says: str,
    low: float,
    high: float,
    gains: Gains,
    because: Because,
    *,
    seeds: int = 1,
) -> tuple[Claim, Claim]:
    """Return the claims of a range of gains: from at least ``low`` up to ``high``."""

    def claim(which: str, points: float, pick: Callable[..., Estimate], rule: Rule) -> Claim:
        text = f"{says}: {which} {points:+g} pts"
        return stated_gain(
            place, text, points, lambda r: pick(gains(r)), because, seeds=seeds, rule=rule
        )

    return claim("at least", low, lowest, at_least()), claim("up to", high, highest, within())


def direction(
    place: str, says: str, ours: Callable[[Results], Estimate], rule: Rule, because: Because
) -> Claim:
    """Return the claim that a difference lies on one side of nothing."""
    return Claim(place, says, Estimate(0.0), ours, rule, because, unit="pts")


def largest_size(estimates: dict[Any, Estimate]) -> Estimate:
    """Return the estimate that is furthest from 0, without its sign."""
    found = max(estimates.values(), key=lambda estimate: abs(estimate.value))
    return found * math.copysign(1.0, found.value)
