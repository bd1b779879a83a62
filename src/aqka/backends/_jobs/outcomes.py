"""The outcomes of a finished sampler job."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray
from aqka.errors import JobError


def packed_bits(result: Any, job_id: str) -> NDArray[np.uint8]:
    """Return the bits of all qubits, rows by shots by bytes, the last byte least significant."""
    try:
        packed = np.asarray(result[0].data.meas.array)
    except (TypeError, IndexError, KeyError, AttributeError, ValueError) as error:
        raise JobError(
            f"job {job_id} holds no outcomes of the register 'meas'; was it sent by this backend?"
        ) from error
    if packed.dtype != np.uint8 or packed.ndim != 3:
        raise JobError(
            f"job {job_id} holds outcomes of dtype {packed.dtype} and shape {packed.shape}, not "
            "the packed bits of rows and shots."
        )
    return packed


def all_zero(result: Any, job_id: str) -> BoolArray:
    """Return which shots gave all zeros, rows by shots, from the packed bits of a result."""
    return np.asarray((packed_bits(result, job_id) == 0).all(axis=-1))
