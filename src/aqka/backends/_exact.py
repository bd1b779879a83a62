"""What every backend that knows its exact kernel shares: binomial draws, seeded by the tag."""

import hashlib
from abc import ABC, abstractmethod

import numpy as np

from aqka.arrays import FloatArray, IntArray, as_count
from aqka.errors import InputError
from aqka.plan import ShotPlan


class ExactBackend(ABC):
    """Draws each pair's hits from Binomial(shots, K_ij); a subclass computes the kernel.

    Parameters
    ----------
    seed
        The hits depend on it, on the tag and on the plan, and on nothing else.
    """

    def __init__(self, seed: int) -> None:
        self._seed = as_count(seed, "seed", minimum=0)
        self._submitted: dict[str, ShotPlan] = {}

    @abstractmethod
    def kernel(self) -> FloatArray:
        """Return the exact kernel, rows by columns."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the kernel."""

    def submit(self, plan: ShotPlan, tag: str) -> str:
        """Keep the plan; the tag is the ticket."""
        limits = zip(("rows", "cols"), (plan.rows, plan.cols), self.shape, strict=True)
        for name, points, size in limits:
            if points.size and points.max() >= size:
                raise InputError(f"{name} of the plan must be below {size}, got {points.max()}.")
        self._submitted[tag] = plan
        return tag

    def collect(self, ticket: str) -> IntArray:
        """Draw the hits. Each ticket is collected once."""
        if ticket not in self._submitted:
            raise InputError(
                f"ticket {ticket!r} is unknown or was collected already; submit the plan again "
                "under the same tag to get the same hits."
            )
        plan = self._submitted.pop(ticket)
        digest = hashlib.sha256(ticket.encode()).digest()
        rng = np.random.default_rng([self._seed, int.from_bytes(digest[:16])])
        return rng.binomial(plan.shots, self.kernel()[plan.rows, plan.cols]).astype(np.int64)
