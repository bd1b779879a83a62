"""What an allocator answers is checked before anyone spends it: it may be anyone's code."""

from typing import Any

import numpy as np

from aqka._util.arrays import IntArray, as_array, exact_sum
from aqka.errors import InputError


def checked_allocation(allocator: object, answer: Any, size: int, shots: int) -> IntArray:
    """Return an allocator's shots, or say why the budget cannot be spent on them.

    Parameters
    ----------
    allocator
        Who answered.
    answer
        Shots of each pair or point.
    size
        How many of them there are.
    shots
        What was to be allocated, exactly.
    """
    name = type(allocator).__name__
    given = as_array(answer, f"the shots of allocator {name}")
    if given.shape != (size,) or given.dtype.kind not in "iu":
        raise InputError(
            f"allocator {name} must return {size} whole numbers of shots, got shape "
            f"{given.shape} and dtype {given.dtype}."
        )
    counts = given.astype(np.int64)
    if given.min() < 0 or exact_sum(counts) != shots:
        raise InputError(
            f"allocator {name} must allocate exactly {shots} shots, none negative; got "
            f"{exact_sum(counts)} with a smallest entry of {given.min()}."
        )
    return counts
