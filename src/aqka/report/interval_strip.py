"""Intervals as small drawings in the cells of a table, all on one axis."""

from dataclasses import dataclass

from aqka.report.chart import Scale

WIDTH, HEIGHT = 150, 16


@dataclass(frozen=True)
class Strip:
    """A value with its intervals, in pixels from the left.

    Attributes
    ----------
    look
        A class of the style sheet, for the dot.
    value
        Where the dot is.
    narrow, wide
        Ends of the thin line and of the thick one behind it; None where there is none.
    border
        What the intervals are held against; None where there is nothing.
    words
        The same, for those who cannot see it.
    """

    look: str
    value: float
    narrow: tuple[float, float]
    wide: tuple[float, float] | None
    border: float | None
    words: str

    width, height = WIDTH, HEIGHT


@dataclass(frozen=True)
class StripAxis:
    """The axis that the strips of a table share, and the border on it."""

    scale: Scale
    border: float | None

    def strip(
        self,
        look: str,
        value: float,
        narrow: tuple[float, float],
        wide: tuple[float, float] | None = None,
    ) -> Strip:
        """Return the drawing of one row."""
        words = f"{value:.3f}, {narrow[0]:.3f} to {narrow[1]:.3f}"
        if wide is not None:
            words += f"; wide {wide[0]:.3f} to {wide[1]:.3f}"
        return Strip(
            look,
            self._at(value),
            (self._at(narrow[0]), self._at(narrow[1])),
            None if wide is None else (self._at(wide[0]), self._at(wide[1])),
            None if self.border is None else self._at(self.border),
            words,
        )

    def _at(self, value: float) -> float:
        return round(4 + self.scale.place(value) * (WIDTH - 8), 1)
