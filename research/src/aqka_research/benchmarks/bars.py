"""A measured figure beside its target, and fair timing."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from aqka_research.markdown import table


@dataclass(frozen=True)
class Bar:
    """One measured figure beside its target; ``reached`` is None where there is none."""

    what: str
    measured: str
    target: str = ""
    reached: bool | None = None


def times(ratio: float) -> str:
    """Return a ratio as all bars write it.

    Examples
    --------
    >>> times(1192.4), times(46.83), times(0.9)
    ('1,192 ×', '46.8 ×', '0.90 ×')
    """
    digits = 0 if ratio >= 100 else 1 if ratio >= 10 else 2
    return f"{ratio:,.{digits}f} ×"


def faster(ratio: float) -> str:
    """Return a ratio of times in words.

    Examples
    --------
    >>> faster(46.83), faster(0.5)
    ('46.8 × faster', '2.00 × slower')
    """
    return f"{times(ratio)} faster" if ratio >= 1 else f"{times(1 / ratio)} slower"


def bar_table(bars: Iterable[Bar]) -> str:
    """Return measured figures beside their targets."""
    words = {True: "yes", False: "**no**", None: ""}
    return table(
        ("what", "measured", "target", "reached"),
        [(bar.what, bar.measured, bar.target, words[bar.reached]) for bar in bars],
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
