"""|⟨φ_i|φ_j⟩|² of many states, in tiles of bounded memory."""

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends._bulk.gates import ComplexArray

TILE = 512


def fidelities(rows: ComplexArray, columns: ComplexArray | None = None) -> FloatArray:
    """Return the fidelity of every row state with every column state.

    Parameters
    ----------
    rows
        States, one per row.
    columns
        The other states; None compares ``rows`` among themselves, at half the work, and makes
        the result exactly symmetric with ones on the diagonal.
    """
    others = rows if columns is None else columns
    kernel = np.empty((len(rows), len(others)))
    # Square tiles on the diagonal compute both halves; narrow ones keep that waste small.
    tile = min(TILE, max(64, len(rows) // 8))
    for start in range(0, len(rows), tile):
        stop = min(start + tile, len(rows))
        first = start if columns is None else 0
        overlaps = rows[start:stop].conj() @ others[first:].T
        block = overlaps.real**2
        block += overlaps.imag**2
        np.clip(block, 0.0, 1.0, out=block)
        if columns is None:
            square = block[:, : stop - start]
            square[:] = (square + square.T) / 2
            kernel[start:, start:stop] = block.T
        kernel[start:stop, first:] = block
    if columns is None:
        np.fill_diagonal(kernel, 1.0)
    return kernel
