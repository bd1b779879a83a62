"""The contract of a backend: two steps, so that a crash in between loses nothing."""

from typing import Protocol

from aqka._util.arrays import IntArray
from aqka.core.plans import ShotPlan


class Backend(Protocol):
    """Runs the shots of a plan."""

    @property
    def shape(self) -> tuple[int, int]:
        """Points that a plan's rows and columns may name."""

    def submit(self, plan: ShotPlan, tag: str) -> str:
        """Hand in a plan under a tag of the caller's and return a ticket for it.

        The tag identifies the submission: on a seeded simulator the same tag gives the same
        hits, and another tag gives fresh randomness.
        """

    def collect(self, ticket: str) -> IntArray:
        """Wait for a submitted plan and return the hits, one count per pair of the plan."""
