"""What a budget buys, before it is spent."""

from aqka.planning.budget import parse_budget
from aqka.planning.device import DeviceModel
from aqka.planning.quotes import Quote, quote

__all__ = ["DeviceModel", "Quote", "parse_budget", "quote"]
