"""QPU time as a function of shots, and back."""

from collections.abc import Callable
from dataclasses import dataclass

from aqka.allocators.schedule import Schedule
from aqka.errors import InputError
from aqka.planning.budget import MAX_SHOTS, Budget, Money, QpuTime, Shots
from aqka.planning.device import IBM_LIST_PRICES, DeviceModel


@dataclass(frozen=True)
class Usage:
    """QPU time as a function of shots, under a schedule; rising, by steps of ``tiles`` shots.

    With tiles an execution runs the circuit in several places at once and gives a shot of each.
    """

    schedule: Schedule
    device: DeviceModel
    execution_seconds: float
    tiles: int = 1

    def rounds(self, shots: int) -> tuple[int, ...]:
        """Return the shots of each submission."""
        ends = self.schedule.milestones(shots)
        return tuple(end - start for start, end in zip([0, *ends], ends, strict=False))

    def executions(self, shots: int) -> int:
        """Return the executions of one submission of that many shots."""
        return -(-shots // self.tiles)

    def jobs(self, shots: int) -> int:
        """Return how many jobs a submission of that many shots needs."""
        return -(-self.executions(shots) // self.device.max_executions)

    def seconds(self, shots: int) -> float:
        """Return the QPU time of all submissions.

        It rises with the shots although a single round may shrink as shots are added: the
        rounds are then the same numbers in another order, plus one.
        """
        rounds = self.rounds(shots)
        executions = sum(map(self.executions, rounds))
        jobs = sum(map(self.jobs, rounds))
        return jobs * self.device.job_overhead + executions * self.execution_seconds


def price(qpu_seconds: float, rate: float) -> float:
    """Return what that QPU time costs at a rate per minute."""
    return qpu_seconds / 60 * rate


def affordable_shots(
    budget: Budget,
    rate: float | None,
    bill: Callable[[int], tuple[int, float]],
    least: int = 1,
) -> int:
    """Return the most shots the budget pays for: one more would exceed it.

    Parameters
    ----------
    budget
        Shots, QPU time or money.
    rate
        Price of a QPU minute, which money needs.
    bill
        From a number of shots to all the shots they bring along, and the QPU time of these; both
        rise.
    least
        The fewest shots that make sense.
    """
    if isinstance(budget, Shots):
        count = budget.count
        return _most_shots(lambda shots: bill(shots)[0] <= count, bill, least)
    if isinstance(budget, QpuTime):
        seconds = budget.seconds
        return _most_shots(lambda shots: bill(shots)[1] <= seconds, bill, least)
    amount, per_minute = budget.amount, needed_rate(budget, rate)
    return _most_shots(lambda shots: price(bill(shots)[1], per_minute) <= amount, bill, least)


def needed_rate(budget: Money, rate: float | None) -> float:
    """Return the price of a QPU minute, which a budget in money needs."""
    if rate is None:
        prices = ", ".join(f"{usd:g} {plan}" for plan, usd in IBM_LIST_PRICES.items())
        raise InputError(
            f"a budget in {budget.currency} needs a rate, the price of a QPU minute in "
            f"{budget.currency}: pass rate=..., or --rate on the command line. "
            f"IBM's list prices in May 2026 were, in USD: {prices}."
        )
    return rate


def _most_shots(
    affordable: Callable[[int], bool], bill: Callable[[int], tuple[int, float]], least: int
) -> int:
    """Return the largest number of shots that is affordable, by bisection."""
    if not affordable(least):
        shots, seconds = bill(least)
        what = (
            "a single shot: one job with one shot" if shots == 1 else f"its {shots:,} shots: that"
        )
        raise InputError(
            f"budget does not pay for {what} takes {seconds:.6g} s of QPU time; give more."
        )
    low, high = least, 2 * least
    while affordable(high):
        low, high = high, 2 * high
        if low > MAX_SHOTS:
            raise InputError(f"budget pays for more than {MAX_SHOTS:.0e} shots; give less.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if affordable(middle) else (low, middle)
    return low
