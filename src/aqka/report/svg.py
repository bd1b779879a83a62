"""Small line charts as SVG text, coloured by the page's style sheet."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 360, 240
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 10, 40


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

    def ticks(self, count: int = 5) -> list[float]:
        """Return round numbers within the scale.

        Examples
        --------
        >>> Scale(0, 1).ticks(), Scale(1, 1000, log=True).ticks()
        ([0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0], [1.0, 10.0, 100.0, 1000.0])
        """
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.floor(math.log10(self.high))
            stride = max(1, math.ceil((last - first) / count))
            factors = (1, 2, 5) if last - first < 2 else (1,)
            powers = range(first, last + 1, stride)
            round_numbers = [factor * 10.0**power for power in powers for factor in factors]
            return [v for v in round_numbers if self.low <= v <= self.high]
        rough = (self.high - self.low) / count
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * 0.999)
        lowest = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(lowest, math.floor(self.high / step + 1e-9) + 1)]


def number(value: float) -> str:
    """Return a number short enough for an axis.

    Examples
    --------
    >>> number(20000), number(0.25), number(1e-6), number(1_500_000)
    ('20k', '0.25', '1e-06', '1.5M')
    """
    for size, name in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{name}"
    return f"{round(value, 10):g}"


@dataclass
class Chart:
    """Axes, and what is drawn between them; colours are classes c1 to c5 of the style sheet.

    Attributes
    ----------
    title
        What the chart shows, for those who cannot see it.
    x, y
        Scales.
    x_label, y_label
        Names of the axes.
    """

    title: str
    x: Scale
    y: Scale
    x_label: str
    y_label: str
    _parts: list[str] = field(default_factory=list)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixel of a point."""
        across = LEFT + self.x.place(x) * (WIDTH - LEFT - RIGHT)
        down = TOP + (1 - self.y.place(y)) * (HEIGHT - TOP - BOTTOM)
        return round(across, 1), round(down, 1)

    def line(self, xs: Sequence[float], ys: Sequence[float], look: str) -> None:
        """Draw a line through points."""
        path = " ".join("{},{}".format(*self.at(x, y)) for x, y in zip(xs, ys, strict=True))
        self._parts.append(f'<polyline class="line {look}" points="{path}"/>')

    def band(
        self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], look: str
    ) -> None:
        """Fill between two lines."""
        there = [self.at(x, y) for x, y in zip(xs, high, strict=True)]
        back = [self.at(x, y) for x, y in zip(xs, low, strict=True)][::-1]
        path = " ".join(f"{x},{y}" for x, y in (*there, *back))
        self._parts.append(f'<polygon class="band {look}" points="{path}"/>')

    def dot(self, x: float, y: float, look: str, words: str = "", size: float = 3) -> None:
        """Draw a dot that shows words when pointed at."""
        across, down = self.at(x, y)
        title = f"<title>{escape(words)}</title>" if words else ""
        self._parts.append(
            f'<circle class="dot {look}" cx="{across}" cy="{down}" r="{size}">{title}</circle>'
        )

    def upright(self, x: float, low: float, high: float, look: str) -> None:
        """Draw an interval of y."""
        (across, bottom), (_, top) = self.at(x, low), self.at(x, high)
        self._parts.append(
            f'<line class="line {look}" x1="{across}" x2="{across}" y1="{bottom}" y2="{top}"/>'
        )

    def level(self, y: float, words: str) -> None:
        """Draw a dashed line right across, with its name."""
        (left, down), (right, _) = self.at(self.x.low, y), self.at(self.x.high, y)
        above = down - 4 if down > TOP + 14 else down + 12
        self._parts.append(
            f'<line class="level" x1="{left}" x2="{right}" y1="{down}" y2="{down}"/>'
            f'<text class="note" x="{right}" y="{above}" text-anchor="end">{escape(words)}</text>'
        )

    def svg(self) -> str:
        """Return the chart."""
        axes = [self._x_tick(tick) for tick in self.x.ticks(5)]
        axes += [self._y_tick(tick) for tick in self.y.ticks(5)]
        bottom, right, middle = HEIGHT - BOTTOM, WIDTH - RIGHT, (TOP + HEIGHT - BOTTOM) / 2
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.title)}">'
            f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>'
            f"{''.join(axes)}{''.join(self._parts)}"
            f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 6}" text-anchor="middle">'
            f"{escape(self.x_label)}</text>"
            f'<text transform="translate(12 {middle}) rotate(-90)" text-anchor="middle">'
            f"{escape(self.y_label)}</text></svg>"
        )

    def _x_tick(self, value: float) -> str:
        across, bottom = self.at(value, self.y.low)[0], HEIGHT - BOTTOM
        return (
            f'<path class="axis" d="M{across} {bottom}v4"/><text class="tick" x="{across}" '
            f'y="{bottom + 16}" text-anchor="middle">{number(value)}</text>'
        )

    def _y_tick(self, value: float) -> str:
        down = self.at(self.x.low, value)[1]
        return (
            f'<path class="grid" d="M{LEFT} {down}H{WIDTH - RIGHT}"/><text class="tick" '
            f'x="{LEFT - 6}" y="{down + 4}" text-anchor="end">{number(value)}</text>'
        )
