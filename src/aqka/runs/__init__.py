"""A run and its ledger: the loop, the log, its check, its export."""

from aqka.runs.ceiling import Ceiling
from aqka.runs.driver import Run, drive
from aqka.runs.patience import Patience
from aqka.runs.session import Session

__all__ = ["Ceiling", "Patience", "Run", "Session", "drive"]
