"""Array types, the checks that turn what a user passes into them, limits and BLAS threads."""

import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

from aqka.errors import InputError

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

SYMMETRY_TOLERANCE = 1e-8
RANGE_TOLERANCE = 1e-9

MAX_COUNT = 2**50  # more shots are not exact in floating point, and beyond any device

# The most that data files, circuit files, study files and ledger entries may hold. A few bytes can
# stand for many (compressed zeros, a table with a billion empty rows), so sizes are taken from
# headers and checked against these limits before anything is built.
MAX_UNPACKED_BYTES = 2**30  # of a file, or of one entry of a ledger
BYTES_PER_PAIR = 24  # in a ledger's plan, for row, column and shots; in a table it takes 16
MAX_PAIRS = MAX_UNPACKED_BYTES // BYTES_PER_PAIR  # of a table: a plan of all can be read back
MAX_POINTS = math.isqrt(2 * MAX_PAIRS) - 1  # for training, each a pair with itself and every other
MAX_FILE_BYTES = 64 * 2**20  # of a file with a table, as it is stored
MAX_ROWS = 10**6
MAX_COLUMNS = 10_000
MAX_CELLS = 2 * 10**7  # numbers of a table, and characters of a column of texts

FEWEST_ROWS = 1000  # below, the threads of BLAS wait for each other longer than they work


def as_array(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return ``values`` as an array, or say that their rows have different lengths."""
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} cannot be made an array: {error}.") from error


def as_count(value: Any, name: str, minimum: int = 1) -> int:
    """Return ``value`` as an int of at least ``minimum``; refuse bools and fractions."""
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_integer or value < minimum:
        raise InputError(
            f"{name} must be a whole number of at least {minimum}, got {value!r}; "
            f"pass an int, for example {name}={max(minimum, 1000)}."
        )
    if value > MAX_COUNT:
        raise InputError(f"{name} must be at most 2**50, got {value}.")
    return int(value)


def as_fraction(value: Any, name: str) -> float:
    """Return ``value`` as a float from 0 to 1."""
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if not is_number or isinstance(value, bool) or not 0 <= value <= 1:
        raise InputError(f"{name} must be a fraction from 0 to 1, got {value!r}.")
    return float(value)


def as_positive(value: Any, name: str) -> float:
    """Return ``value`` as a finite float above zero."""
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if not is_number or isinstance(value, bool) or not 0 < value < float("inf"):
        raise InputError(f"{name} must be a finite number above 0, got {value!r}.")
    if value > np.finfo(float).max:
        raise InputError(f"{name} is too large for floating point.")
    return float(value)


def as_counts(values: ArrayLike, name: str) -> IntArray:
    """Return ``values`` as a one-dimensional int64 array; refuse fractions and non-numbers."""
    if isinstance(values, np.ma.MaskedArray) and np.any(values.mask):
        raise InputError(f"{name} has masked entries, which are not counts.")
    array = as_array(values, name)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, got shape {array.shape}.")
    if array.dtype.kind in "uf" and array.size and np.abs(array).max() > MAX_COUNT:
        raise InputError(f"{name} must be at most 2**50, got {np.abs(array).max()}.")
    if array.dtype.kind == "f" and np.all(np.isfinite(array)) and np.all(array == np.rint(array)):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} must hold whole numbers, got dtype {array.dtype}.")
    return array.astype(np.int64)


def as_indices(values: ArrayLike, name: str, size: int) -> IntArray:
    """Return ``values`` as numbers of things, of which there are so many."""
    indices = as_counts(values, name)
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        raise InputError(
            f"{name} must lie between 0 and {size - 1}, got {indices.min()} to {indices.max()}."
        )
    return indices


def as_column(values: ArrayLike, name: str) -> IntArray:
    """Return ``values`` as counts that are not negative and cannot be changed."""
    column = as_counts(values, name)
    if column.size and column.min() < 0:
        raise InputError(f"{name} must not be negative, got {column.min()}.")
    column.setflags(write=False)  # plans and answers never change
    return column


def as_kernel(matrix: ArrayLike, name: str, *, square: bool = True) -> FloatArray:
    """Return ``matrix`` as float64 kernel values within [0, 1]; a square one is symmetric."""
    kernel = as_array(matrix, name)
    if kernel.ndim != 2 or kernel.size == 0:
        raise InputError(f"{name} must be a two-dimensional matrix, got shape {kernel.shape}.")
    if kernel.dtype.kind not in "iuf":
        raise InputError(f"{name} must hold real numbers, got dtype {kernel.dtype}.")
    kernel = kernel.astype(np.float64)
    if square and kernel.shape[0] != kernel.shape[1]:
        raise InputError(
            f"{name} must be square, got shape {kernel.shape}; "
            "for a test-by-train block use MatrixBackend(..., rectangular=True)."
        )
    if not np.all(np.isfinite(kernel)):
        raise InputError(f"{name} holds NaN or infinite values; every entry must be in [0, 1].")
    low, high = float(kernel.min()), float(kernel.max())
    if low < -RANGE_TOLERANCE or high > 1 + RANGE_TOLERANCE:
        raise InputError(
            f"{name} must lie within [0, 1], got values from {low:.6g} to {high:.6g}; "
            "a fidelity is a probability, so scale or clip the matrix first."
        )
    if square:
        asymmetry = float(np.abs(kernel - kernel.T).max())
        if asymmetry > SYMMETRY_TOLERANCE:
            raise InputError(
                f"{name} must be symmetric, got |K - K.T| up to {asymmetry:.3g}; "
                "average it with its transpose first."
            )
    return np.asarray(np.clip(kernel, 0.0, 1.0))


def rounded(values: NDArray[Any]) -> NDArray[np.float32]:
    """Return fractions to 24 bits, without -0.0: the names of points and of other numbers.

    The last bits of what was computed differ between processors, and what costs shots must be
    found again on another one. What is 0 but for rounding is 0.
    """
    kept = np.where(np.abs(values) < 1e-12, 0.0, values)
    return np.asarray(kept.astype(np.float32) + np.float32(0.0))


def digest(array: NDArray[Any]) -> str:
    """Return a short digest of an array's shape and values, the same on any processor."""
    content = np.ascontiguousarray(array)
    if content.dtype.kind == "f":
        content = rounded(content)
    return hashlib.sha256(str(content.shape).encode() + content.tobytes()).hexdigest()[:16]


def text_digest(text: str) -> str:
    """Return a short digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def exact_sum(counts: IntArray) -> int:
    """Return the exact sum, where one in 64 bits could wrap around and look small."""
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


@contextmanager
def threads_for(n_rows: int) -> Iterator[None]:
    """Use one thread of BLAS within the block for matrices of few rows; else leave it as it is.

    Many small products one after the other are ten times slower with two threads on a busy
    machine of two cores than with one.
    """
    few = n_rows < FEWEST_ROWS
    with _controller().limit(limits=1, user_api="blas") if few else nullcontext():
        yield


@cache
def _controller() -> ThreadpoolController:
    """Return what sets the threads; to find the libraries takes longer than a small fit."""
    return ThreadpoolController()
