"""A run and its ledger: the loop, the log, its check, its export."""

from aqka.runs.driver import Run, drive
from aqka.runs.session import Session
from aqka.runs.spend import Ceiling, Spend

__all__ = ["Ceiling", "Run", "Session", "Spend", "drive"]
