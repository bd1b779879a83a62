"""When new points get no more shots, and the contract of new points being measured."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aqka._util.arrays import BoolArray, IntArray, as_count, as_fraction
from aqka.core.plans import Plan
from aqka.errors import InputError
from aqka.learners import Decided, FittedHead, winner_of


def check_error_rate(rate: float) -> None:
    """Refuse a chance of a wrong class that is not one."""
    if not 0 < as_fraction(rate, "error_rate") < 0.5:
        raise InputError(
            f"error_rate must lie above 0 and below 0.5, got {rate!r}; for example 0.05."
        )


@dataclass(frozen=True)
class Settle:
    """Stop buying shots for a new point as soon as its class is settled.

    Parameters
    ----------
    error_rate : float, default=0.05
        Chance, per point, that it settles on another class than unlimited shots would give.
    looks : int, optional
        How often the counts are looked at while the budget lasts, each look one submission. The
        default is that of the design: 12 for pairs, 4 for points.
    """

    error_rate: float = 0.05
    looks: int | None = None

    def __post_init__(self) -> None:
        check_error_rate(self.error_rate)
        if self.looks is not None:
            as_count(self.looks, "looks")

    def describe(self) -> str:
        """Return the rule as ledgers write it."""
        return f"settle at {self.error_rate!r} in {self.looks or 'default'} looks"


@dataclass(frozen=True)
class Never:
    """Spend the whole budget: real targets have no class to settle.

    Parameters
    ----------
    looks : int, optional
        Submissions in which the budget is spent. The default is that of the design: 4 for pairs,
        whose shots follow what was seen, 1 for points.
    """

    looks: int | None = None

    def __post_init__(self) -> None:
        if self.looks is not None:
            as_count(self.looks, "looks")

    def describe(self) -> str:
        """Return the rule as ledgers write it."""
        return f"never settle, in {self.looks or 'default'} looks"


Stop = Settle | Never


class NewPoints(ABC):
    """New points being measured: what is known of them, and what to measure next.

    Attributes
    ----------
    table
        Counts of the new points.
    settled
        Points whose class is settled.
    reserved
        Shots of the budget that are kept back: those of points that a prior answers.
    by_prior, audit
        Points that a prior answers, and what shots say of its answers; None where there is none.
    """

    reserved: int = 0
    by_prior: BoolArray | None = None
    audit: Any = None

    def __init__(self, head: FittedHead, table: Any, seed: int) -> None:
        self.head, self.table, self.seed = head, table, seed
        self.settled: BoolArray = np.zeros(len(table.shots), dtype=np.bool_)

    def decisions(self) -> dict[str, IntArray]:
        """Return what was computed before the first shot, for a ledger."""
        return {}

    def take_up_decisions(self, kept: Mapping[str, IntArray]) -> None:
        """Take what a ledger keeps of :meth:`decisions`."""
        return

    def expect(self, plan: Plan) -> None:
        """Take notice of a recorded plan before it is counted."""
        return

    @property
    def shots_measured(self) -> int:
        """Shots whose outcomes are known."""
        return int(self.table.total)

    @abstractmethod
    def plan(self, round: int, spent: int, left: int) -> Plan:
        """Return a round's plan for the open points, with so many shots spent and left."""

    def take(self, round: int, planned: Plan, measured: Plan, answer: Any) -> None:
        """Count what came back, and settle what can be settled."""
        self.table.add(measured, answer)

    def decide(self) -> Decided:
        """Return f of all points and its deviation."""
        return self.head.decide(self.table, self.seed)

    def settled_at_end(self) -> BoolArray:
        """Return the settled points once no more shots follow."""
        return self.settled

    def improve(self, decided: Decided, points: IntArray) -> Decided:
        """Return it with points that are not settled read by what training points are like."""
        return decided

    def winners(self) -> IntArray:
        """Return the numbers of the settled classes."""
        return winner_of(self.decide().f)

    @property
    def shots_per_point(self) -> IntArray:
        """Shots of each new point."""
        return np.asarray(self.table.shots.sum(axis=1))

    def extent(self) -> dict[str, str]:
        """Return what plans may name, as texts."""
        return self.table.extent()  # type: ignore[no-any-return]


def doubling(budget: int, rounds: int, first: float) -> list[int]:
    """Return the shots spent after each of some rounds, growing by a common factor.

    >>> doubling(8000, 4, first=1000)
    [1000, 2000, 4000, 8000]
    """
    ends = np.geomspace(budget, min(budget / rounds, first), rounds)[::-1]  # of one, the budget
    return [int(end) for end in np.unique(np.rint(ends).astype(np.int64))]
