"""Patience: how long to bear with a failing backend."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from aqka.errors import TransientError

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Patience:
    """How long to bear with a failing backend.

    Attributes
    ----------
    attempts
        Tries of a step that fails for a passing reason.
    first_wait
        Seconds before the second try; each later wait is twice as long.
    failed_rounds
        Rounds in a row that may fail before the run stops. It can be resumed.
    """

    attempts: int = 6
    first_wait: float = 2.0
    failed_rounds: int = 3

    def call(self, step: Callable[[], Answer]) -> Answer:
        """Return what ``step`` returns, repeating it while it fails for a passing reason."""
        for attempt in range(self.attempts - 1):
            try:
                return step()
            except TransientError:
                time.sleep(self.first_wait * 2**attempt)
        return step()
