"""Budgets as people state them: shots, QPU time or money, and how many shots they pay for."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from aqka._util.arrays import as_count, as_positive
from aqka._util.text import did_you_mean
from aqka.errors import InputError

# Up to here every whole number is exact as a float, which the schedule's fractions rely on.
MAX_SHOTS = 10**15

SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
}
SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
CURRENCIES = ("USD", "EUR", "GBP", "JPY", "CHF", "CAD", "AUD", "CNY", "INR", "KRW", "SEK", "SGD")

IBM_LIST_PRICES = {"pay-as-you-go": 96.0, "flex": 72.0, "premium": 48.0}
"""USD per QPU minute by plan, as transcribed from ibm.com/quantum/pricing on 2026-05-25.

The transcription is github.com/api-evangelist/ibm-quantum, plans/ibm-quantum-plans-pricing.yml.
Prices change and contracts differ, so no price is assumed: errors only suggest them.
"""


@dataclass(frozen=True)
class Shots:
    """A budget in shots.

    Parameters
    ----------
    count : int
        Shots.
    """

    count: int

    def __post_init__(self) -> None:
        as_count(self.count, "budget")


@dataclass(frozen=True)
class QpuTime:
    """A budget in QPU time, as the provider bills it.

    Parameters
    ----------
    seconds : float
        Seconds.
    """

    seconds: float

    def __post_init__(self) -> None:
        as_positive(self.seconds, "budget")


@dataclass(frozen=True)
class Money:
    """A budget in money, spent on QPU time.

    Parameters
    ----------
    amount : float
        How much.
    currency : str, default="USD"
        Its code.
    rate : float, optional
        Price of a QPU minute.
    """

    amount: float
    currency: str = "USD"
    rate: float | None = None

    def __post_init__(self) -> None:
        as_positive(self.amount, "budget")
        if self.rate is not None:
            as_positive(self.rate, "budget's rate")


Budget = Shots | QpuTime | Money

_ALLOWED = "write shots ('20000', '2e5 shots'), QPU time ('300 s', '5 min', '1.5 h') or money "
_ALLOWED += "('$100', '50 EUR', '$100 at $96/min')"
_NUMBER = r"[+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_BUDGET = re.compile(
    rf"(?P<before>[^\d\s.+-]*)\s*(?P<number>{_NUMBER})\s*(?P<after>(?!_).*)",
    re.IGNORECASE | re.ASCII,
)
_RATE = re.compile(r"(?P<budget>.*\S)\s+at\s+(?P<rate>.*\S)\s*/\s*min", re.IGNORECASE)


def parse_budget(text: str) -> Budget:
    """Read a budget: a number of shots, or a number with a unit of time or money.

    Money may say what a QPU minute costs.

    Examples
    --------
    >>> parse_budget("2e5 shots")
    Shots(count=200000)
    >>> parse_budget("5 min")
    QpuTime(seconds=300.0)
    >>> parse_budget("$100")
    Money(amount=100.0, currency='USD', rate=None)
    >>> parse_budget("50 EUR at 90 EUR/min")
    Money(amount=50.0, currency='EUR', rate=90.0)
    """
    if not isinstance(text, str):
        raise InputError(f"budget must be text, got {text!r}; {_ALLOWED}.")
    priced = _RATE.fullmatch(text.strip())
    if priced:
        money, rate = parse_budget(priced["budget"]), parse_budget(priced["rate"])
        if not isinstance(money, Money) or not isinstance(rate, Money) or money.rate or rate.rate:
            raise InputError(f"budget {text!r} has a rate that is not money for money; {_ALLOWED}.")
        if money.currency != rate.currency:
            raise InputError(f"budget {text!r} has two currencies; {_ALLOWED}.")
        return replace(money, rate=rate.amount)
    found = _BUDGET.fullmatch(text.strip())
    if not found:
        raise InputError(f"budget {text!r} is not a finite number with a unit; {_ALLOWED}.")
    value = float(found["number"])
    if found["after"].startswith(","):
        raise InputError(
            f"budget {text!r} has a comma; write thousands as 20000 or 20_000 and decimals as 1.5."
        )
    if not 0 < value < math.inf:
        raise InputError(f"budget must be a finite number above 0, got {text!r}; {_ALLOWED}.")
    before, after = found["before"], found["after"].strip()
    if before and after:
        raise InputError(f"budget {text!r} has two units; {_ALLOWED}.")
    unit = before or after
    currency = SYMBOLS.get(unit, unit.upper())
    if currency in CURRENCIES:
        return Money(value, currency)
    # Only money is written before its number.
    if not before and unit.lower() in ("", "shot", "shots"):
        if not value.is_integer():
            raise InputError(f"budget must be a whole number of shots, got {text!r}; {_ALLOWED}.")
        return Shots(int(value))
    if not before and unit.lower() in SECONDS:
        return QpuTime(value * SECONDS[unit.lower()])
    hint = did_you_mean(unit, ["shots", *SECONDS, *map(str.lower, CURRENCIES)])
    raise InputError(f"budget {text!r} has the unknown unit {unit!r}.{hint} Please {_ALLOWED}.")


def as_budget(budget: Budget | int | str) -> Budget:
    """Return a budget from a number of shots, from text, or as it is."""
    if isinstance(budget, str):
        return parse_budget(budget)
    if isinstance(budget, Shots | QpuTime | Money):
        return budget
    return Shots(as_count(budget, "budget"))


def divided(budget: Budget, share: float) -> tuple[Budget, Budget]:
    """Return a share of a budget, and the rest."""
    if isinstance(budget, Shots):
        count = int(budget.count * share)
        return Shots(count), Shots(budget.count - count)
    if isinstance(budget, QpuTime):
        return QpuTime(budget.seconds * share), QpuTime(budget.seconds * (1 - share))
    mine, rest = budget.amount * share, budget.amount * (1 - share)
    return replace(budget, amount=mine), replace(budget, amount=rest)


def price(qpu_seconds: float, rate: float) -> float:
    """Return what that QPU time costs at a rate per minute."""
    return qpu_seconds / 60 * rate


def affordable_shots(
    budget: Budget, rate: float | None, bill: Callable[[int], tuple[int, float]], least: int = 1
) -> int:
    """Return the most shots the budget pays for, by bisection: one more would exceed it.

    ``bill`` turns shots into all the shots they bring along and the QPU time of these; both rise.
    ``least`` is the fewest shots that make sense.
    """
    per_minute = needed_rate(budget, rate) if isinstance(budget, Money) else 0.0

    def affordable(shots: int) -> bool:
        in_all, seconds = bill(shots)
        if isinstance(budget, Shots):
            return in_all <= budget.count
        if isinstance(budget, QpuTime):
            return seconds <= budget.seconds
        return price(seconds, per_minute) <= budget.amount

    if not affordable(least):
        shots, seconds = bill(least)
        what = f"its {shots:,} shots: that"
        if shots == 1:
            what = "a single shot: one job with one shot"
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


def needed_rate(budget: Money, rate: float | None) -> float:
    """Return the price of a QPU minute, which a budget in money needs."""
    rate = budget.rate if rate is None else rate
    if rate is None:
        prices = ", ".join(f"{usd:g} {plan}" for plan, usd in IBM_LIST_PRICES.items())
        raise InputError(
            f"a budget in {budget.currency} needs a rate, the price of a QPU minute in "
            f"{budget.currency}: write it into the budget, as in '$100 at $96/min', or pass "
            "rate=..., or --rate on the command line. "
            f"IBM's list prices in May 2026 were, in USD: {prices}."
        )
    return rate


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds == 0:
        return "0 s"
    if seconds < 1e-6:
        return f"{seconds * 1e9:.3g} ns"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.4g} µs"
    # A border lies where the smaller unit would round up to a full larger one.
    if seconds < 0.9995:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    for border, larger, smaller, unit, ratio in (
        (3599.5, "min", "s", 1, 60),
        (86370.0, "h", "min", 60, 60),
        (float("inf"), "d", "h", 3600, 24),
    ):
        if seconds < border:
            whole, rest = divmod(round(seconds / unit), ratio)
            return f"{whole} {larger} {rest} {smaller}"
    raise InputError(f"seconds must be finite, got {seconds!r}.")
