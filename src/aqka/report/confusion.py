"""The confusion matrix of the test points."""

from typing import NamedTuple

import numpy as np

from aqka.report.point_results import PointResults

MAX_CLASSES = 20
SHADES = 5  # steps from nothing to a whole row


class ConfusionCell(NamedTuple):
    """How many points of a class got one answer, how dark that is, and whether it is right."""

    number: int
    shade: int
    right: bool


class Confusion(NamedTuple):
    """The answers that were given, and for each true class how often each was."""

    answers: list[str]
    rows: list[tuple[str, list[ConfusionCell], str]]


def confusion_matrix(found: PointResults) -> Confusion | None:
    """Return true classes by answers; None where there are too many classes to read it."""
    classes = sorted({*found.classes, *found.truth, *found.predicted})
    if len(classes) > MAX_CLASSES:
        return None
    place = {name: k for k, name in enumerate(classes)}
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    for truth, predicted in zip(found.truth, found.predicted, strict=True):
        counts[place[truth], place[predicted]] += 1
    rows = []
    for k, name in enumerate(classes):
        total = int(counts[k].sum())
        cells = [
            ConfusionCell(int(count), int(np.ceil(SHADES * count / max(total, 1))), j == k)
            for j, count in enumerate(counts[k])
        ]
        share = f"{counts[k, k]} of {total}" if total else "–"
        rows.append((name, cells, share))
    return Confusion(classes, rows)
