"""How experiments read their counts and make their tasks: as the paper did, or fairly."""

import math
from dataclasses import dataclass

from aqka.core.problem import FAIR, PAPER, Reading
from aqka.errors import InputError
from aqka_research.paper_reading import PaperReading, is_reading
from aqka_research.switched_variance import SwitchedVariance

PROTOCOLS = {"paper": PAPER, "fair": FAIR}
"""``paper``: diagonal measured, unseen pairs read 0, the paper's fixed ridge. ``fair``: diagonal
known, every method gets the same cross-validated ridge, and planted tasks have balanced classes.
Besides these there are the readings of the paper, by their names."""

BALANCED = 0.7
"""The largest share of test points that one class has in a fair planted task."""


@dataclass(frozen=True)
class TaskChoices:
    """What a protocol decides about the tasks themselves.

    Attributes
    ----------
    gamma
        RBF width of planted tasks.
    span
        Uniform inputs of the ZZ map lie between 0 and this.
    largest_class
        The largest share of test points that a planted task gives one class.
    equal_tests
        Whether there are as many test points as training points.
    ridge_times_points
        Whether the ridge is Nλ.
    """

    gamma: float = 0.1
    span: float = 2 * math.pi
    largest_class: float = 1.0
    equal_tests: bool = False
    ridge_times_points: bool = False

    def n_test(self, points: int, usual: int) -> int:
        """Return the number of test points where the paper does not give it."""
        return points if self.equal_tests else usual

    def ridge(self, ridge: float, points: int) -> float:
        """Return what is added to the diagonal for a ridge that the paper gives."""
        return ridge * points if self.ridge_times_points else ridge


def reading_of(name: str) -> Reading:
    """Return how counts are read under an experiment's protocol."""
    if is_reading(name):
        return SwitchedVariance.of(PaperReading.named(name))
    if name not in PROTOCOLS:
        raise InputError(f"protocol must be one of {sorted(PROTOCOLS)}, got {name!r}.")
    return PROTOCOLS[name]


def task_choices(name: str) -> TaskChoices:
    """Return what an experiment's protocol decides about its tasks."""
    if is_reading(name):
        reading = PaperReading.named(name)
        return TaskChoices(
            gamma=float(reading.width),
            span=math.pi if reading.inputs == "pi" else 2 * math.pi,
            equal_tests=reading.tests == "equal",
            ridge_times_points=reading.ridge == "times-n",
        )
    reading_of(name)
    return TaskChoices(largest_class=BALANCED) if name == "fair" else TaskChoices()
