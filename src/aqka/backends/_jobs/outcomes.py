"""The outcomes of a finished sampler job."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray
from aqka.errors import JobError

Bits = NDArray[np.uint8]
"""Packed bits, rows by shots by bytes, the last byte least significant."""


def packed_bits(result: Any, job_id: str) -> Bits:
    """Return the bits of all qubits of a job without tiles."""
    return _register(result, "meas", job_id)


def tile_bits(result: Any, n_tiles: int, job_id: str) -> tuple[tuple[str, ...], Bits]:
    """Return the tiles' names in order, and the bits of every slot: row by row, tile by tile."""
    try:
        names = tuple(sorted(result[0].data.keys()))
    except (TypeError, IndexError, KeyError, AttributeError) as error:
        raise JobError(f"job {job_id} holds no outcomes; was it sent by this backend?") from error
    if len(names) != n_tiles:
        raise JobError(f"job {job_id} holds {len(names)} registers, not those of {n_tiles} tiles.")
    parts = [_register(result, name, job_id) for name in names]
    if len({part.shape for part in parts}) > 1:
        raise JobError(f"job {job_id} holds registers of different shapes.")
    stacked = np.stack(parts, axis=1)
    return names, stacked.reshape(-1, *stacked.shape[2:])


def _register(result: Any, name: str, job_id: str) -> Bits:
    try:
        packed = np.asarray(result[0].data[name].array)
    except (TypeError, IndexError, KeyError, AttributeError, ValueError) as error:
        raise JobError(
            f"job {job_id} holds no outcomes of the register {name!r}; was it sent by this backend?"
        ) from error
    if packed.dtype != np.uint8 or packed.ndim != 3:
        raise JobError(
            f"job {job_id} holds outcomes of dtype {packed.dtype} and shape {packed.shape}, not "
            "the packed bits of rows and shots."
        )
    return packed


def all_zero(bits: Bits) -> BoolArray:
    """Return which shots gave all zeros, rows by shots."""
    return np.asarray((bits == 0).all(axis=-1))
