"""Whether a table has the points that a split asks for, said in the study's own words."""

import math
from collections.abc import Callable

from aqka.errors import InputError
from aqka.study.schema import SplitSection


def check_split_sizes(split: SplitSection, n_points: int, n_classes: int) -> None:
    """Refuse numbers of training and test points that a table of so many points cannot have.

    Parameters
    ----------
    split
        What the study asks for.
    n_points, n_classes
        Of the table; every class needs a point on both sides.
    """
    n_test = _as_number(split.test, n_points, math.ceil)
    n_train = (
        n_points - n_test if split.train is None else _as_number(split.train, n_points, math.floor)
    )
    asked = (
        f"split.train is {split.train}, split.test {split.test}"
        if split.train is not None
        else f"split.test is {split.test}"
    )
    if n_train + n_test > n_points or n_train < 1:
        raise InputError(
            f"the data have {n_points} points, but {asked}: {n_train} points for training and "
            f"{n_test} for testing are {n_train + n_test} of them, and no point can be both. Lower "
            "one of them, or leave split.train out to train on all but the test points."
        )
    # With test = 0 all points are for training, or some are left out for good.
    others = ("test", n_test) if n_test else ("train", (n_points - n_train) or n_classes)
    for name, size in (("train", n_train), others):
        if size < n_classes:
            raise InputError(
                f"split.{name} leaves {size} points for {n_classes} classes; each class needs at "
                f"least one, so give {n_classes} or more. The data have {n_points} points."
            )


def _as_number(size: float, n_points: int, round_off: Callable[[float], int]) -> int:
    """Return a size as a number of points, fractions rounded as scikit-learn does."""
    return size if isinstance(size, int) else round_off(size * n_points)
