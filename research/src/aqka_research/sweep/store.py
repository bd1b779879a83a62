"""The results of a sweep: a file with one line of JSON per finished cell."""

import json
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
import scipy
from filelock import FileLock, Timeout

from aqka._util.arrays import text_digest
from aqka.errors import InputError
from aqka.version import __version__

# What a line holds beside its digest.
KEYS = {
    "key",
    "function",
    "cell",
    "seed",
    "versions",
    "seconds",
    "cpu_seconds",
    "finished",
    "result",
}

Cell = dict[str, Any]
Result = dict[str, Any]
CellFunction = TypeVar("CellFunction", bound=Callable[..., Any])


def versions() -> dict[str, str]:
    """Return what the bits of a result depend on besides its cell."""
    return {
        "aqka": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def to_json(value: Any) -> str:
    """Return JSON that reads back bit for bit; numpy's numbers and arrays become plain ones.

    NaN and infinities are written as ``NaN`` and ``Infinity``, which Python's reader takes.

    Examples
    --------
    >>> to_json({"b": np.float64(0.1), "a": np.array([1, 2])})
    '{"a": [1, 2], "b": 0.1}'
    """
    return json.dumps(value, default=_plain, sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise InputError(
        f"cells and results must be made of numbers, texts, lists and dicts with text keys, "
        f"got {type(value).__name__}."
    )


def stable_name(name: str) -> Callable[[CellFunction], CellFunction]:
    """Give a cell function the name that stored results know it by, wherever its module moves."""

    def mark(function: CellFunction) -> CellFunction:
        function.stable_name = name  # type: ignore[attr-defined]
        return function

    return mark


def cell_key(function: str, cell: Cell) -> str:
    """Return the name of a cell's result: a digest of the function's name and the settings."""
    return text_digest(f"{function}({to_json(cell)})")


class Store:
    """Finished cells in an append-only file; one process writes at a time.

    Every line is sealed by a digest of its content. One that was cut by a kill, or damaged, is
    passed over: its cell is computed again.
    So are the cells of other versions, because their bits may differ.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._held = ExitStack()
        self._results: dict[str, str] = {}

    def __enter__(self) -> "Store":
        """Lock the file and read it."""
        try:
            # The operating system drops it when the process ends, however it ends.
            self._held.enter_context(FileLock(f"{self._path}.lock", timeout=0))
        except Timeout:
            raise InputError(
                f"store {str(self._path)!r} is being written by another process; "
                "wait for it, or name another."
            ) from None
        self._results = {entry["key"]: to_json(entry["result"]) for entry in entries(self._path)}
        # Binary and unbuffered: a line goes to the operating system in one piece.
        self._file = self._path.open("ab", buffering=0)
        if self._file.tell() and self._path.read_bytes()[-1:] != b"\n":
            self._file.write(b"\n")  # ends the line that a kill has cut
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file and let others write."""
        self._file.close()
        self._held.close()

    def find(self, key: str) -> Result | None:
        """Return the stored result of that key, if there is one."""
        text = self._results.get(key)
        return None if text is None else json.loads(text)

    def add(
        self, key: str, function: str, cell: Cell, result: Result, seconds: tuple[float, float]
    ) -> None:
        """Write one finished cell, with its seconds by the clock and of the processor."""
        entry = {
            "key": key,
            "function": function,
            "cell": cell,
            "seed": cell.get("seed"),
            "versions": versions(),
            "seconds": round(seconds[0], 6),
            "cpu_seconds": round(seconds[1], 6),
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "result": result,
        }
        sealed = entry | {"digest": _seal(entry)}
        line = to_json(sealed).encode() + b"\n"
        while line:  # a full disk takes a part first, and the next write fails
            line = line[self._file.write(line) :]
        self._results[key] = to_json(result)


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the whole lines of a store that these versions wrote."""
    here = versions()
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            entry = json.loads(line)
            whole = _is_sealed(entry) and entry["versions"] == here
            if whole and entry["key"] == cell_key(entry["function"], entry["cell"]):
                yield entry
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue


def _seal(entry: dict[str, Any]) -> str:
    """Return the digest of a line's content."""
    return text_digest(to_json(entry))


def _is_sealed(entry: dict[str, Any]) -> bool:
    """Return whether a line says what was written."""
    content = {name: value for name, value in entry.items() if name != "digest"}
    return bool(content.keys() == KEYS and entry.get("digest") == _seal(content))
