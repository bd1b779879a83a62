"""What a budget buys, before it is spent."""

from aqka.planning.budget import parse_budget
from aqka.planning.device import DeviceModel, make_ceiling
from aqka.planning.quotes import Quote, QuotePart, Wish, quote
from aqka.planning.split import Split, split_budget

__all__ = [
    "DeviceModel",
    "Quote",
    "QuotePart",
    "Split",
    "Wish",
    "make_ceiling",
    "parse_budget",
    "quote",
    "split_budget",
]
