"""The test points to look at: wrong, not settled, or not sure on the exact kernel."""

from typing import NamedTuple

import numpy as np

from aqka._util.arrays import BoolArray
from aqka.report.point_results import PointResults

MAX_LISTED_POINTS = 30
HEADER = ("point", "remark", "predicted", "is", "value", "90 %, test shots", "shots")


class DoubtfulPoints(NamedTuple):
    """How many there are, in words, and a table of those closest to the border."""

    summary: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


def doubtful_points(found: PointResults) -> DoubtfulPoints | None:
    """Return the points in doubt; None where there are none."""
    flips = _flips(found)
    doubtful = np.flatnonzero(~found.right | ~found.settled | flips)
    if not doubtful.size:
        return None
    closest = doubtful[np.argsort(np.abs(found.value[doubtful]), kind="stable")]
    rows = [_row(found, k) for k in closest[:MAX_LISTED_POINTS]]
    wrong, not_settled = int((~found.right).sum()), int((~found.settled).sum())
    could_flip = "" if found.could_flip is None else f", {int(flips.sum())} could flip"
    of_all = f", of {doubtful.size}" if doubtful.size > len(rows) else ""
    summary = (
        f"{wrong} wrong, {not_settled} not settled{could_flip}: the {len(rows)} closest to the "
        f"border{of_all}"
    )
    return DoubtfulPoints(summary, HEADER, rows)


def _flips(found: PointResults) -> BoolArray:
    return np.zeros_like(found.settled) if found.could_flip is None else found.could_flip


def _row(found: PointResults, k: int) -> tuple[str, ...]:
    return (
        str(k),
        _remark(found, k),
        found.predicted[k],
        found.truth[k],
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
