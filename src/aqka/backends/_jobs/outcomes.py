"""The outcomes of a finished sampler job."""

from typing import Any

import numpy as np

from aqka._util.arrays import BoolArray
from aqka.errors import JobError


def all_zero(result: Any, job_id: str) -> BoolArray:
    """Return which shots gave all zeros, rows by shots, from the packed bits of a result."""
    try:
        return np.asarray((result[0].data.meas.array == 0).all(axis=-1))
    except (TypeError, IndexError, KeyError, AttributeError, ValueError) as error:
        raise JobError(
            f"job {job_id} holds no outcomes of the register 'meas'; was it sent by this backend?"
        ) from error
