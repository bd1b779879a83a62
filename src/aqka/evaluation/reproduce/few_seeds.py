"""Could as few seeds as the paper's have shown its number, if ours is the truth?"""

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.evaluation.reproduce.claims import Claim
from aqka.evaluation.results import MissingError, Results

LINEAR_DRAWS = 4000
"""Draws of seeds where a claim's number is a mean over seeds."""
OTHER_DRAWS = 300
"""Draws where it is not, such as a smallest gain: each is computed anew."""


def has_stated_seeds(claim: Claim) -> bool:
    """Return whether the paper says from how many seeds its number is."""
    return claim.paper.count > 1 and claim.ours is not None


def chance_of_paper(claim: Claim, results: Results, seed: int = 0) -> float:
    """Return how often a mean over the paper's number of our seeds is as far out as the paper's.

    Seeds are drawn with replacement. For a bound it is how often the bound is met; else how often
    the number of a draw lies at the paper's or beyond it, seen from our own number.
    """
    assert claim.ours is not None
    numbers = _drawn_numbers(claim, results, np.random.default_rng(seed))
    stated, sign = claim.paper.value, claim.rule.sign
    if sign == "≥ " or (sign != "≤ " and stated >= claim.ours(results).value):
        return float(np.mean(numbers >= stated))
    return float(np.mean(numbers <= stated))


def _drawn_numbers(claim: Claim, results: Results, rng: np.random.Generator) -> FloatArray:
    """Return the claim's number of many draws of as many seeds as the paper has."""
    seeds, count = results.unique("seed"), claim.paper.count
    each = _by_seed(claim, results, seeds)
    whole = claim.ours(results).value  # type: ignore[misc]  # checked by the caller
    if each is not None and np.isclose(each.mean(), whole, rtol=1e-9, atol=1e-12):
        return np.asarray(each[rng.integers(len(each), size=(LINEAR_DRAWS, count))].mean(axis=1))
    by_seed = {one: [row for row in results.rows if row.get("seed") == one] for one in seeds}
    draws = rng.choice(seeds, size=(OTHER_DRAWS, count))
    return np.array([_number_of(claim, results, by_seed, draw) for draw in draws])


def _by_seed(claim: Claim, results: Results, seeds: list[int]) -> FloatArray | None:
    """Return the claim's number of each seed alone; None where one seed has none."""
    try:
        return np.array([claim.ours(results.where(seed=one)).value for one in seeds])  # type: ignore[misc]
    except (MissingError, ZeroDivisionError, FloatingPointError, ValueError):
        return None


def _number_of(
    claim: Claim, results: Results, by_seed: dict[int, list[dict[str, object]]], draw: FloatArray
) -> float:
    """Return the claim's number of some seeds, of which one may stand several times."""
    rows = [{**row, "seed": place} for place, one in enumerate(draw) for row in by_seed[int(one)]]
    return claim.ours(Results(rows, results.protocol)).value  # type: ignore[misc]
