"""The test points to look at: wrong, not settled, or not sure on the exact kernel."""

from typing import NamedTuple

import numpy as np

from aqka._util.arrays import BoolArray
from aqka.report.chart import Scale
from aqka.report.interval_strip import Strip, StripAxis
from aqka.report.point_results import PointResults

MAX_LISTED_POINTS = 30
HEADER = ("point", "remark", "predicted", "is", "intervals", "value", "90 %, test shots", "shots")


class DoubtfulPoints(NamedTuple):
    """How many there are, in words, and a table of those closest to the border."""

    summary: str
    header: tuple[str, ...]
    rows: list[tuple[str | Strip, ...]]


def doubtful_points(found: PointResults) -> DoubtfulPoints | None:
    """Return the points in doubt; None where there are none."""
    flips = _flips(found)
    doubtful = np.flatnonzero(~found.right | ~found.settled | flips)
    if not doubtful.size:
        return None
    closest = doubtful[np.argsort(np.abs(found.value[doubtful]), kind="stable")]
    listed = closest[:MAX_LISTED_POINTS]
    axis = StripAxis(Scale(-found.reach, found.reach), 0.0)
    rows = [_row(found, int(k), axis) for k in listed]
    wrong, not_settled = int((~found.right).sum()), int((~found.settled).sum())
    could_flip = "" if found.could_flip is None else f", {int(flips.sum())} could flip"
    of_all = f", of {doubtful.size}" if doubtful.size > len(rows) else ""
    summary = (
        f"{wrong} wrong, {not_settled} not settled{could_flip}: the {len(rows)} closest to the "
        f"border{of_all}"
    )
    return DoubtfulPoints(summary, HEADER, rows)


def interval_examples() -> list[tuple[Strip, str]]:
    """Return made-up intervals, each with what it means."""
    axis = StripAxis(Scale(-1.0, 1.0), 0.0)
    return [
        (
            axis.strip("c2", 0.6, (0.45, 0.75), (0.3, 0.9)),
            "Settled and sure: neither interval reaches the border, the dashed line.",
        ),
        (
            axis.strip("c2", 0.2, (-0.1, 0.5), (-0.2, 0.6)),
            "Not settled: the thin interval, from the test shots alone, reaches the border. More "
            "test shots would tell.",
        ),
        (
            axis.strip("c2", 0.4, (0.25, 0.55), (-0.15, 0.95)),
            "Could flip: only the wide interval, which counts the training shots too, reaches the "
            "border. On the exact kernel the class could be another; more test shots would not "
            "tell, more training shots would.",
        ),
    ]


def _flips(found: PointResults) -> BoolArray:
    return np.zeros_like(found.settled) if found.could_flip is None else found.could_flip


def _row(found: PointResults, k: int, axis: StripAxis) -> tuple[str | Strip, ...]:
    narrow, wide = (float(found.low[k]), float(found.high[k])), None
    if found.total_low is not None and found.total_high is not None:
        wide = float(found.total_low[k]), float(found.total_high[k])
    look = "c2" if found.right[k] else "c1 hollow"
    return (
        found.ids[k],
        _remark(found, k),
        found.predicted[k],
        found.truth[k],
        axis.strip(look, float(found.value[k]), narrow, wide),
        f"{found.value[k]:+.3f}",
        f"{found.low[k]:+.3f} to {found.high[k]:+.3f}",
        f"{found.shots[k]:,}",
    )


def _remark(found: PointResults, k: int) -> str:
    remarks = {
        "wrong": not found.right[k],
        "not settled": not found.settled[k],
        "could flip": _flips(found)[k],
    }
    return ", ".join(words for words, is_so in remarks.items() if is_so)
