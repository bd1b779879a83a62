"""What simulated backends share: they keep plans, and draw from a seed and the tag."""

import hashlib
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, as_count, as_kernel, digest
from aqka.backends.base import Backend, check_plan
from aqka.core.calibration import CalibrationPlan
from aqka.core.outcomes import OutcomeCounts
from aqka.core.plans import Plan, ShotPlan
from aqka.core.point_plans import PointPlan
from aqka.errors import InputError

if TYPE_CHECKING:
    pass

SEED_LIMIT = 2**31 - 1  # what every simulator takes as a seed


def tag_entropy(seed: int, tag: str) -> tuple[int, int]:
    """Return the two numbers that the randomness of a seed and a tag is made from."""
    digest = hashlib.sha256(tag.encode()).digest()
    return seed, int.from_bytes(digest[:16])


def tag_generator(seed: int, tag: str) -> Generator:
    """Return the generator of a seed and a tag: the same for the same two, else independent."""
    return np.random.default_rng(tag_entropy(seed, tag))


def tag_seed(seed: int, tag: str) -> int:
    """Return a simulator's seed for a tag: at least 1, for some simulators ignore a seed of 0."""
    return int(tag_generator(seed, tag).integers(1, SEED_LIMIT))


class SimulatedBackend(Backend):
    """Keeps submitted plans in memory; a subclass draws hits that depend on seed, tag and plan."""

    def __init__(self, seed: int) -> None:
        self._seed = as_count(seed, "seed", minimum=0)
        self._plans: dict[str, Plan] = {}

    @property
    def replayable(self) -> bool:
        """The same tag gives the same hits at no cost, so a lost ticket is simply drawn again."""
        return True

    @abstractmethod
    def _identity(self) -> list[str]:
        """Return what the hits depend on besides the seed: data, circuit, noise, ..."""

    def fingerprint(self) -> str:
        """Return a text that is the same exactly for backends with the same hits."""
        parts = ", ".join([*self._identity(), f"seed={self._seed}"])
        return f"{type(self).__name__}({parts})"

    @abstractmethod
    def _draw(self, plan: ShotPlan, rng: Generator) -> IntArray:
        """Return the hits of a plan, with all randomness from ``rng``."""

    def _draw_points(self, plan: PointPlan, rng: Generator) -> OutcomeCounts:
        """Return the outcomes of a plan of points; a subclass with ``n_qubits`` writes it."""
        raise TypeError(f"{type(self).__name__} has n_qubits, so it must write _draw_points.")

    def _draw_references(self, plan: CalibrationPlan, rng: Generator) -> OutcomeCounts:
        """Return what is read of reference states; the default reads without errors."""
        return plan.no_errors()

    def submit(self, plan: Plan, tag: str) -> str:
        """Keep the plan; the tag is the ticket."""
        check_plan(plan, self.shape, self.n_qubits)
        waiting = self._plans.get(tag)
        if waiting is not None and not waiting.equals(plan):
            raise InputError(
                f"tag {tag!r} waits with another plan; collect that first, or use another tag."
            )
        self._plans[tag] = plan
        return tag

    def collect(self, ticket: str) -> Any:
        """Draw the hits of pairs or the outcomes of points. Each ticket is collected once."""
        if ticket not in self._plans:
            raise InputError(
                f"ticket {ticket!r} is unknown or was collected already; submit the plan again "
                "under the same tag to get the same hits."
            )
        plan = self._plans.pop(ticket)
        draw: dict[type[Plan], Any] = {
            ShotPlan: self._draw,
            PointPlan: self._draw_points,
            CalibrationPlan: self._draw_references,
        }
        return draw[type(plan)](plan, tag_generator(self._seed, ticket))


class ExactBackend(SimulatedBackend):
    """Draws each pair's hits from Binomial(shots, K_ij); a subclass computes the kernel."""

    @property
    def has_kernel(self) -> bool:
        """A kernel that can be computed."""
        return True

    @abstractmethod
    def kernel(self) -> FloatArray:
        """Return the exact kernel, rows by columns."""

    def _draw(self, plan: ShotPlan, rng: Generator) -> IntArray:
        return rng.binomial(plan.shots, self.kernel()[plan.rows, plan.cols]).astype(np.int64)


class MatrixBackend(ExactBackend):
    """Draws shots from a kernel matrix you already have.

    Parameters
    ----------
    kernel
        Square and symmetric for training; with ``rectangular``, any test-by-train block.
    rectangular
        Whether rows and columns are different points.
    seed
        The hits depend on it, on the tag and on the plan, and on nothing else.

    Examples
    --------
    >>> from aqka.core import ShotPlan
    >>> backend = MatrixBackend([[1.0, 0.25], [0.25, 1.0]], seed=1)
    >>> ticket = backend.submit(ShotPlan([0], [1], [1000]), tag="first")
    >>> backend.collect(ticket)
    array([249])
    """

    def __init__(self, kernel: ArrayLike, *, rectangular: bool = False, seed: int = 0) -> None:
        super().__init__(seed)
        self._kernel = as_kernel(kernel, "kernel", square=not rectangular)

    def kernel(self) -> FloatArray:
        """Return the kernel that was given."""
        return self._kernel

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the kernel."""
        rows, cols = self._kernel.shape
        return rows, cols

    def _identity(self) -> list[str]:
        return [f"kernel={digest(self._kernel)}"]
