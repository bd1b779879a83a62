"""Session: a budget being spent round by round, as ask and tell."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from numpy.typing import ArrayLike

from aqka._util.arrays import IntArray, as_count, text_digest
from aqka._util.shown import Shown
from aqka.core.plans import Plan
from aqka.errors import InputError

PlanType = TypeVar("PlanType", bound=Plan)


class Session(Shown, Generic[PlanType]):
    """What the driver needs of training, prediction and whatever else spends shots.

    ``ask`` gives a plan, again until it is told; a subclass says what comes next and what is known.

    Parameters
    ----------
    budget : int
        Shots that may be run in all.

    Attributes
    ----------
    round
        Rounds that were told.
    lost
        Shots that were run, but whose hits cannot be had; they count against the budget.
    """

    def __init__(self, budget: int) -> None:
        self.budget = as_count(budget, "budget")
        self.round = 0
        self.lost = 0
        self._pending: PlanType | None = None

    def _figures(self) -> dict[str, object]:
        return {"shots": f"{self.shots_spent:,} of {self.budget:,}", "rounds": self.round}

    @property
    @abstractmethod
    def shots_measured(self) -> int:
        """Shots whose hits are known."""

    @property
    def shots_spent(self) -> int:
        """Shots that were run, those that were lost among them."""
        return self.shots_measured + self.lost

    @property
    def shots_left(self) -> int:
        """Shots of the budget that may still be run."""
        return self.budget - self.shots_spent

    @property
    def done(self) -> bool:
        """Whether there is no next round: the budget is spent."""
        return self.shots_left == 0

    @abstractmethod
    def settings(self) -> dict[str, str]:
        """Return all that a run depends on besides the backend, as texts."""

    @abstractmethod
    def extent(self) -> dict[str, str]:
        """Return what plans may name, as texts."""

    def decisions(self) -> dict[str, IntArray]:
        """Return what was computed before the first shot, and must not be computed anew.

        Another processor has other last bits, so a ledger keeps it, and a run that is resumed
        takes it from there.
        """
        return {}

    def take_up_decisions(self, kept: Mapping[str, IntArray]) -> None:
        """Take what a ledger keeps of :meth:`decisions`."""
        return

    @property
    @abstractmethod
    def _tag_name(self) -> str:
        """What tags of this kind of session begin with; simulated hits depend on it."""

    @abstractmethod
    def _next_plan(self) -> PlanType:
        """Return what to measure next; called once a round, and only while not done."""

    @abstractmethod
    def _take(self, planned: PlanType, measured: PlanType, answer: Any) -> None:
        """Take a checked answer to what was measured, in a cut round less than planned."""

    @property
    def tag(self) -> str:
        """Name of the current round, for the backend: other runs and rounds have others."""
        return f"{self._tag_name}-{text_digest(repr(self.settings()))}-r{self.round}"

    def ask(self) -> PlanType:
        """Return what to run next; the same plan until it is told."""
        if self.done:
            raise InputError(f"{self._ending}; there is no next round.")
        if self._pending is None:
            self._pending = self._next_plan()
        return self._pending

    def tell(self, answer: Any, shots: ArrayLike | None = None, lost: int = 0) -> None:
        """Take what came back for the plan that ``ask`` gave (Algorithm 1, line 11).

        For pairs it is their hits in the plan's order, for points an
        :class:`~aqka.core.OutcomeCounts`. ``shots`` says how many shots each row of the plan
        really got, where a round was cut short. What a round did not use is there for the next
        one, but for the ``lost`` shots, which were run.
        """
        if self._pending is None:
            raise InputError("tell() needs a plan to answer: call ask() first, and tell() once.")
        measured = self._pending if shots is None else self._pending.cut_to(shots)
        self._take(self._pending, measured, measured.checked(answer))
        self._pending = None
        self.lost += lost
        self.round += 1

    def take_up(self, plan: PlanType) -> None:
        """Make a recorded plan the pending one, instead of computing it again."""
        if not 0 < plan.total <= self.shots_left:
            raise InputError(
                f"plan has {plan.total} shots but {self.shots_left} of the budget are left."
            )
        self._pending = plan

    @property
    def _ending(self) -> str:
        """Why there is no next round."""
        return "the budget is spent"
