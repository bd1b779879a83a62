"""Could as few seeds as the paper's have shown its number, if ours is the truth?"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka_research.reproduce.claims import Claim
from aqka_research.results import Estimate, MissingError, Results, Row

LINEAR_DRAWS = 4000
"""Draws of seeds where a claim's number is a mean over seeds."""
OTHER_DRAWS = 300
"""Draws where it is not, such as a smallest gain: each is computed anew."""

Number = Callable[[Results], Estimate]


def chance_of_paper(claim: Claim, results: Results, seed: int = 0) -> float | None:
    """Return how often a mean over the paper's number of our seeds is as far out as the paper's.

    Seeds are drawn with replacement. For a bound it is how often the bound holds; else how often
    the number of a draw lies at the paper's or beyond it, seen from our own number. None where
    the paper does not say how many seeds it had, or nothing was measured.
    """
    if claim.paper.count == 1 or claim.ours is None:
        return None
    try:
        ours = claim.ours(results).value
    except MissingError:
        return None
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):  # a draw may have no logarithm; it is then as far as nothing
        numbers = _drawn_numbers(claim.ours, claim.paper.count, results, rng)
    stated, sign = claim.paper.value, claim.rule.sign
    if sign == "≥ " or (sign != "≤ " and stated >= ours):
        return float(np.mean(numbers >= stated))
    return float(np.mean(numbers <= stated))


def _drawn_numbers(
    number: Number, count: int, results: Results, rng: np.random.Generator
) -> FloatArray:
    """Return a claim's number of many draws of ``count`` seeds."""
    needed = _needed_rows(number, results)
    by_seed: dict[int, list[Row]] = {}
    for row in needed.rows:
        by_seed.setdefault(row["seed"], []).append(row)
    each = _number_by_seed(number, results.protocol, by_seed.values())
    whole = number(needed).value
    if each is not None and np.isclose(each.mean(), whole, rtol=1e-9, atol=1e-12):
        return np.asarray(each[rng.integers(len(each), size=(LINEAR_DRAWS, count))].mean(axis=1))
    draws = rng.choice(list(by_seed), size=(OTHER_DRAWS, count))
    return np.array(
        [
            number(Results(_renumbered(by_seed[int(one)] for one in draw), results.protocol)).value
            for draw in draws
        ]
    )


def _renumbered(parts: Iterable[list[Row]]) -> list[Row]:
    """Return the rows of several seeds, each of which counts as another one."""
    return [{**row, "seed": place} for place, part in enumerate(parts) for row in part]


def _number_by_seed(number: Number, protocol: str, parts: Iterable[list[Row]]) -> FloatArray | None:
    """Return the number of each seed alone; None where one seed has none."""
    try:
        return np.array([number(Results(part, protocol)).value for part in parts])
    except (MissingError, ArithmeticError, ValueError):
        return None


class _Noted(Results):
    """Results that note which of their rows are averaged."""

    def __init__(self, rows: Iterable[Row], protocol: str, used: set[int]) -> None:
        super().__init__(rows, protocol)
        self._used = used

    def where(self, **conditions: Any) -> Results:
        """Return the rows that meet all conditions."""
        return _Noted(super().where(**conditions).rows, self.protocol, self._used)

    def by_seed(self, measure: str) -> dict[int, float]:
        """Return each seed's mean of a measure."""
        self._used.update(map(id, self.rows))
        return super().by_seed(measure)


def _needed_rows(number: Number, results: Results) -> Results:
    """Return the rows that a claim's number is made of; all, where that is unknown."""
    used: set[int] = set()
    whole = number(_Noted(results.rows, results.protocol, used)).value
    needed = Results([row for row in results.rows if id(row) in used], results.protocol)
    try:
        same = number(needed).value == whole
    except (MissingError, ArithmeticError, ValueError):
        same = False
    return needed if same else results
