"""A measured figure beside the one that was asked for, and fair timing."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from aqka_research.benchmarks.tables import table


@dataclass(frozen=True)
class Bar:
    """One measured figure beside the one that was asked for; ``met`` is None where none was."""

    what: str
    measured: str
    asked: str = ""
    met: bool | None = None


def bar_table(bars: list[Bar]) -> str:
    """Return measured figures beside the ones asked for."""
    words = {True: "yes", False: "**no**", None: ""}
    return table(
        ("what", "measured", "asked", "met"),
        [(bar.what, bar.measured, bar.asked, words[bar.met]) for bar in bars],
    )


def fastest(actions: list[Callable[[], object]], repeats: int) -> list[float]:
    """Return the best time of each action, taken in turn so that noise hits all alike."""
    best = [np.inf] * len(actions)
    for _ in range(repeats):
        for k, action in enumerate(actions):
            start = perf_counter()
            action()
            best[k] = min(best[k], perf_counter() - start)
    return best
