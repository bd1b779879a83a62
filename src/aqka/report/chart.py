"""Small line charts and strips of intervals: what is drawn where. The templates write SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from aqka._util.arrays import FloatArray
from aqka.report.words import axis_text

WIDTH, HEIGHT = 360, 240
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 10, 40
TICKS = 5  # about so many numbers on an axis
CHARACTER = 6.2  # pixels of a digit of an axis, generously

Interval = tuple[float, float]


@dataclass(frozen=True)
class Scale:
    """From values to a place between two pixels, linear or logarithmic."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def around(cls, values: Sequence[float], log: bool = False) -> "Scale":
        """Return a scale that holds all the values, with a little room."""
        usable = [v for v in values if math.isfinite(v) and (v > 0 or not log)] or [1.0]
        low, high = min(usable), max(usable)
        if log:
            return cls(low / 1.3, high * 1.3, True)
        room = 0.05 * (high - low) or 0.5
        return cls(low - room, high + room)

    def place(self, value: float) -> float:
        """Return where a value lies, from 0 to 1; what is outside goes to the edge."""
        if self.log:
            value = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            value = (value - self.low) / (self.high - self.low)
        return min(max(value, 0.0), 1.0)

    def ticks(self) -> list[float]:
        """Return round numbers within the scale."""
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.floor(math.log10(self.high))
            stride = max(1, math.ceil((last - first) / TICKS))
            factors = (1, 2, 5) if last - first < 2 else (1,)
            powers = range(first, last + 1, stride)
            round_numbers = [factor * 10.0**power for power in powers for factor in factors]
            return [v for v in round_numbers if self.low <= v <= self.high]
        rough = (self.high - self.low) / TICKS
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * 0.999)
        lowest = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(lowest, math.floor(self.high / step + 1e-9) + 1)]


class Curve(NamedTuple):
    """A path in the commands of SVG, and how it looks."""

    look: str
    path: str


class Dot(NamedTuple):
    """A dot that shows words when pointed at."""

    look: str
    x: float
    y: float
    size: float
    words: str


@dataclass
class Chart:
    """Axes, and what is drawn between them; a look is a class of the style sheet."""

    heading: str
    x: Scale
    y: Scale
    x_label: str
    y_label: str
    note: str = ""  # an explanation below it
    legend: list[tuple[str, str]] = field(default_factory=list)  # a look, and what it is
    marks: list[Curve | Dot] = field(default_factory=list)  # in the order of drawing

    width, height = WIDTH, HEIGHT
    right, top, bottom = WIDTH - RIGHT, TOP, HEIGHT - BOTTOM

    @property
    def left(self) -> float:
        """Where the vertical axis stands: to the right of its numbers, and they of its name."""
        longest = max((len(axis_text(value)) for value in self.y.ticks()), default=0)
        return max(LEFT, round(26 + longest * CHARACTER))

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixel of a point."""
        across = self.left + self.x.place(x) * (self.right - self.left)
        down = TOP + (1 - self.y.place(y)) * (HEIGHT - TOP - BOTTOM)
        return round(across, 1), round(down, 1)

    def add_line(self, xs: Sequence[float], ys: Sequence[float], look: str, name: str = "") -> None:
        """Draw a line through points, where there are any, and name it in the legend."""
        if len(xs):
            self.marks.append(Curve(f"line {look}", self._path(xs, ys)))
        if name:
            self.legend.append((look, name))

    def add_band(self, xs: Sequence[float], ends: Sequence[Interval], look: str) -> None:
        """Fill between two lines; at a single place draw the interval, which has no area."""
        if len(xs) == 1:
            self.add_line([xs[0]] * 2, ends[0], look)
            return
        low, high = zip(*ends, strict=True)
        path = self._path([*xs, *xs[::-1]], [*high, *low[::-1]])
        self.marks.append(Curve(f"band {look}", f"{path}Z"))

    def add_curve(
        self,
        points: Sequence[tuple[float, float]],
        look: str,
        name: str,
        words: Sequence[str],
        bands: Sequence[Interval] = (),
    ) -> None:
        """Draw points with a line through them, and a band around it where one is given."""
        xs = [x for x, _ in points]
        if bands:
            self.add_band(xs, bands, look)
        self.add_line(xs, [y for _, y in points], look, name)
        for (x, y), said in zip(points, words, strict=True):
            self.add_dot(x, y, look.split()[0], said)

    def add_dot(self, x: float, y: float, look: str, words: str, size: float = 3) -> None:
        """Draw a dot that shows words when pointed at."""
        self.marks.append(Dot(f"dot {look}", *self.at(x, y), size, words))

    def add_level(self, y: float, name: str) -> None:
        """Draw a dashed line right across, and name it in the legend where it has a name."""
        self.marks.append(Curve("level", self._path([self.x.low, self.x.high], [y, y])))
        if name:  # in the legend: next to the line it would overlap what is drawn
            self.legend.append(("level", name))

    def _path(self, xs: Sequence[float], ys: Sequence[float]) -> str:
        return "M" + " ".join("{},{}".format(*self.at(x, y)) for x, y in zip(xs, ys, strict=True))


class Strip(NamedTuple):
    """A value with its intervals, on an axis that the rows of a table share."""

    scale: Scale
    border: float  # what the intervals are held against
    look: str  # of the dot
    value: float
    narrow: Interval | FloatArray  # a thin line
    wide: Interval | FloatArray | None = None  # a thick one behind it
