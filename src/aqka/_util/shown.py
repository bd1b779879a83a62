"""Objects that describe themselves: one line in a terminal, a small table in a notebook."""

import base64
import struct
import zlib
from abc import ABC, abstractmethod
from html import escape

import numpy as np
from numpy.typing import NDArray

from aqka._util.colours import HEAT_MAP_STOPS
from aqka._util.text import inert

MAX_VALUE = 60  # characters of a figure
MAX_SIDE = 256  # pixels of a picture
SHOWN_SIDE = 160  # pixels of the screen that a picture takes


class Shown(ABC):
    """Gives ``repr`` and a notebook the figures that a class names in ``_figures``."""

    @abstractmethod
    def _figures(self) -> dict[str, object]:
        """Return what to show, in order."""

    def _picture(self) -> NDArray[np.float64] | None:
        """Return numbers from 0 to 1 to be shown as a heat map next to the figures, or None."""
        return None

    def __repr__(self) -> str:
        figures = (f"{name} {_value(value)}" for name, value in self._figures().items())
        return f"<{type(self).__name__}: {', '.join(figures)}>"

    def _repr_html_(self) -> str:
        """Return the figures as a table; every text in it is escaped."""
        rows = [
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(_value(it))}</td></tr>"
            for name, it in self._figures().items()
        ]
        title = f"<caption><b>{escape(type(self).__name__)}</b></caption>"
        table, numbers = f"<table>{title}<tbody>{''.join(rows)}</tbody></table>", self._picture()
        if numbers is None:
            return table
        image = (
            f"<img alt='heat map of the entries, 0 dark to 1 bright' width='{SHOWN_SIDE}' "
            "style='image-rendering:pixelated' src='data:image/png;base64,"
            f"{base64.b64encode(heat_map_png(numbers)).decode()}'>"
        )
        return f"<div style='display:flex;gap:1em;align-items:center'>{table}{image}</div>"


def _value(value: object) -> str:
    return inert(f"{value:,}" if isinstance(value, int) else value, MAX_VALUE)


def heat_map_png(numbers: NDArray[np.float64]) -> bytes:
    """Return a PNG file of numbers from 0 to 1; a large matrix is thinned to evenly spaced rows.

    >>> heat_map_png(np.eye(2))[:4]
    b'\\x89PNG'
    """
    steps = [max(1, -(-size // MAX_SIDE)) for size in numbers.shape]
    drawn = np.clip(np.nan_to_num(numbers[:: steps[0], :: steps[1]]), 0.0, 1.0)
    places = np.linspace(0.0, 1.0, len(HEAT_MAP_STOPS))
    channels = [np.interp(drawn, places, stops) for stops in zip(*HEAT_MAP_STOPS, strict=True)]
    pixels = np.rint(np.stack(channels, axis=2)).astype(np.uint8)
    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)  # 0: lines as they are
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits of red, green, blue
    file = b"\x89PNG\r\n\x1a\n"
    for chunk in (b"IHDR" + header, b"IDAT" + zlib.compress(lines), b"IEND"):
        # Their length without the name, and a checksum with it.
        file += struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return file
