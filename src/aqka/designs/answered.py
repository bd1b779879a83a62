"""New points with a prior: those it answers cost no shot, but for an audit of its answers."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, IntArray
from aqka._util.text import percent
from aqka.core.plans import Plan
from aqka.designs._base import NewPoints
from aqka.designs._point_kernel import as_outputs
from aqka.designs.prior import Answers, LazyAnswers
from aqka.learners import Decided
from aqka.maths.metrics import share_interval


@dataclass(frozen=True, eq=False)
class PriorAudit:
    """Answers of a prior that were measured all the same.

    Attributes
    ----------
    points
        Numbers of the points that were measured.
    compared, disagreed
        How many of them the shots settled, and how many of those with another class.
    level, passed
        Most wrong answers that the prior promises, a share; whether it was kept, else all measured.
    """

    points: IntArray
    compared: int
    disagreed: int
    level: float
    passed: bool

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the share of answers that shots disagree with."""
        return share_interval(self.disagreed, self.compared) if self.compared else (0.0, 1.0)

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        if not self.compared:
            return f"Audit of the prior: shots settled none of {len(self.points)} points."
        low, high = self.interval
        what = "it is kept" if self.passed else "it is switched off, and every point is measured"
        return (
            f"Audit of the prior: shots disagree with {self.disagreed} of {self.compared} answers "
            f"(95 % interval {percent(low, 1)} to {percent(high, 1)}, level "
            f"{percent(self.level)}); {what}."
        )


@dataclass(frozen=True, eq=False)
class _Part:
    """Points that are measured together: which, as what, and with which shots."""

    numbers: IntArray
    new: NewPoints
    budget: int
    first_round: int


class AnsweredPoints(NewPoints):
    """New points, of which a prior answers some.

    First the points that it leaves open are measured, and those of the audit. Where so many answers
    are wrong that the 95 % interval lies above the level, even if shots confirmed all others of the
    audit, the prior is switched off and every point is measured with the shots that are left.
    ``make`` makes new points of the design, by number, shots and seed.
    """

    def __init__(
        self,
        make: Callable[[int, int, int], NewPoints],
        n_points: int,
        budget: int,
        seed: int,
        prior: LazyAnswers,
    ) -> None:
        self._make, self._prior = make, prior
        self._n_points, self._budget, self._seed = n_points, budget, seed
        self._extent = make(n_points, budget, seed).extent()
        self._is_off = False  # the prior, after a failed audit

    @cached_property
    def answers(self) -> Answers:
        """What the prior says of the points, once a ledger had its say."""
        return self._prior.answers(self._seed)

    def decisions(self) -> dict[str, IntArray]:
        """Return what the prior says, for a ledger."""
        return self.answers.to_ledger()

    def take_up_decisions(self, kept: Mapping[str, IntArray]) -> None:
        """Take what the prior said from a ledger."""
        self.answers = Answers.from_ledger(kept, self._n_points)
        self.__dict__.pop("_parts", None)

    @cached_property
    def _parts(self) -> list[_Part]:
        """Points that are measured: first the open and audited ones, then those of a failed prior.

        There are none where every point is answered without an audit.
        """
        if self.answers.free.all():
            return []
        numbers = np.flatnonzero(~self.answers.free)
        shots = max(1, self._budget * len(numbers) // self._n_points)
        return [_Part(numbers, self._make(len(numbers), shots, self._seed), shots, 0)]

    @property
    def reserved(self) -> int:  # type: ignore[override]
        """Shots of the answered points, as long as the prior is not switched off."""
        return 0 if self._is_off else self._budget - sum(part.budget for part in self._parts)

    @property
    def table(self) -> Any:
        """Counts of the points that are measured first."""
        return self._parts[0].new.table if self._parts else self._make(1, self._budget, 0).table

    @property
    def shots_measured(self) -> int:
        """Shots in all tables; none before the prior was asked."""
        parts: list[_Part] = self.__dict__.get("_parts", [])
        return sum(int(part.new.table.total) for part in parts)

    def _filled(self, values: NDArray[Any], of_part: Callable[[_Part], Any]) -> NDArray[Any]:
        """Return values of all points, with those of the measured ones filled in."""
        for part in self._parts:
            values[part.numbers] = of_part(part)
        return values

    @property
    def settled(self) -> BoolArray:  # type: ignore[override]
        """Points whose class is settled, by shots or by the prior."""
        return self._filled(self.by_prior, lambda part: part.new.settled)

    @property
    def by_prior(self) -> BoolArray:  # type: ignore[override]
        """Points that the prior answers."""
        return np.asarray(self.answers.free & (not self._is_off))

    @property
    def audit(self) -> PriorAudit:
        """What shots say of the prior's answers."""
        answers, compared, disagreed = self.answers, 0, 0
        for part in self._parts[:1]:  # there is none where every point is answered
            shown = part.new.settled_at_end() & answers.audited[part.numbers]
            wrong = part.new.winners()[shown] != answers.winner[part.numbers[shown]]
            compared, disagreed = len(wrong), int(wrong.sum())
        points, level = np.flatnonzero(answers.audited), self._prior.settings.error_rate
        return PriorAudit(points, compared, disagreed, level, not self._is_off)

    def expect(self, plan: Plan) -> None:
        """Switch the prior off where a recorded plan measures points that it answers."""
        named = getattr(plan, plan.ROWS[0])
        inside = named[named < self._n_points]
        self._is_off = self._is_off or bool(np.any(self.answers.free[inside]))

    def plan(self, round: int, spent: int, left: int) -> Plan:
        """Return the plan of the points at hand; those of a failed prior come last."""
        part, lost = self._parts[-1], spent - self.shots_measured
        if self._is_off and (part.new.settled.all() or part.new.table.total + lost >= part.budget):
            self._measure_all(round)
            part = self._parts[-1]
        own = int(part.new.table.total) + lost
        plan = part.new.plan(round - part.first_round, own, min(left, part.budget - own))
        return _renumbered(plan, part.numbers)

    def _measure_all(self, round: int) -> None:
        if len(self._parts) == 1:
            numbers = np.flatnonzero(self.answers.free)
            shots = max(1, self._budget - self.shots_measured)
            rest = self._make(len(numbers), shots, self._seed + 2**32)
            self._parts.append(_Part(numbers, rest, shots, round))

    def take(self, round: int, planned: Plan, measured: Plan, answer: Any) -> None:
        """Count what came back, and look whether the prior stands."""
        answers = self.answers
        if answers.free[getattr(planned, planned.ROWS[0])].any():
            self._measure_all(round)
        part = self._parts[-1]
        places = np.zeros(self._n_points, dtype=np.int64)
        places[part.numbers] = np.arange(len(part.numbers))
        mine = _renumbered(planned, places), _renumbered(measured, places)
        part.new.take(round - part.first_round, *mine, answer)
        whole = measured.total == planned.total  # a cut round may leave points without a shot
        if self._is_off or not whole or not (answers.free.any() and answers.audited.any()):
            return
        found = self.audit
        if share_interval(found.disagreed, len(found.points))[0] > found.level:
            self._is_off = True
            warnings.warn(self.audit.sentence, RuntimeWarning, stacklevel=6)

    def decide(self) -> Decided:
        """Return f of all points: what the prior says, or what the shots say."""
        answers = self.answers
        f, deviation = (as_outputs(a).copy() for a in (answers.mean, answers.deviation))
        for part in self._parts:
            decided = part.new.decide()
            f[part.numbers], deviation[part.numbers] = decided.f, decided.deviation
        return Decided(f, deviation)

    def improve(self, decided: Decided, points: IntArray) -> Decided:
        """Combine what the shots say of open points with what the prior says of them.

        What the prior takes for noise counts in its deviation: where angles do not explain f, it
        is f itself.
        """
        answers, f, deviation = self.answers, decided.f.copy(), decided.deviation.copy()
        for part in self._parts:
            here = np.flatnonzero(np.isin(part.numbers, points))
            better = part.new.improve(part.new.decide(), here)
            f[part.numbers], deviation[part.numbers] = better.f, better.deviation
        found = Decided(f, deviation)
        if self._is_off:
            return found
        total = np.sqrt(answers.deviation**2 + answers.noise**2).reshape(f.shape)
        return found.combined(answers.mean.reshape(total.shape), total, points)

    def settled_at_end(self) -> BoolArray:
        """Return the settled points once no more shots follow."""
        return self._filled(self.by_prior, lambda part: part.new.settled_at_end())

    def winners(self) -> IntArray:
        """Return the numbers of the settled classes."""
        return self._filled(self.answers.winner, lambda part: part.new.winners())

    @property
    def shots_per_point(self) -> IntArray:
        """Shots of each new point."""
        none = np.zeros(self._n_points, dtype=np.int64)
        return self._filled(none, lambda part: part.new.shots_per_point)

    def extent(self) -> dict[str, str]:
        """Return what plans may name."""
        return self._extent


def _renumbered(plan: Plan, numbers: IntArray) -> Plan:
    """Return a plan with its new points under other numbers."""
    name = plan.ROWS[0]
    return replace(plan, **{name: numbers[getattr(plan, name)]})  # type: ignore[type-var]
