"""Rows of measurements from many seeds, and means with standard errors of them."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Row = dict[str, Any]


class MissingError(LookupError):
    """What is wanted was not measured in this run."""


@dataclass(frozen=True)
class Estimate:
    """A mean and its standard error over ``count`` seeds; NaN where the error is not known."""

    value: float
    error: float = float("nan")
    count: int = 1

    @classmethod
    def of(cls, values: Sequence[float]) -> "Estimate":
        """Return the mean and its standard error.

        Examples
        --------
        >>> Estimate.of([1.0, 3.0])
        Estimate(value=2.0, error=1.0, count=2)
        """
        count = len(values)
        error = float(np.std(values, ddof=1)) / count**0.5 if count > 1 else float("nan")
        return cls(float(np.mean(values)), error, count)

    def __mul__(self, factor: float) -> "Estimate":
        """Return the same in other units."""
        return Estimate(self.value * factor, self.error * abs(factor), self.count)

    def __sub__(self, other: "Estimate") -> "Estimate":
        """Return the difference of two independent estimates."""
        error = math.hypot(self.error, other.error)
        return Estimate(self.value - other.value, error, min(self.count, other.count))

    def __str__(self) -> str:
        """Write three digits of the value, and the error to the same place."""
        decimals = _decimals(self.value, self.error)
        text = f"{self.value:,.{decimals}f}" if decimals < 7 else f"{self.value:.2e}"
        if not np.isfinite(self.error):
            return text
        return f"{text} ± {self.error:,.{decimals}f}" if decimals < 7 else text


def _decimals(value: float, error: float) -> int:
    size = max(abs(value), abs(error) if np.isfinite(error) else 0.0)
    if size == 0 or not np.isfinite(size):
        return 0
    return max(0, 2 - int(np.floor(np.log10(size))))


class Results:
    """What an experiment measured: flat rows, each with its cell's settings and its seed.

    Attributes
    ----------
    rows
        One dict per measurement.
    protocol
        ``"paper"`` or ``"fair"``.
    seconds
        Processor time of each cell; a cell uses one core.
    """

    def __init__(self, rows: Iterable[Row], protocol: str, seconds: Sequence[float] = ()) -> None:
        self.rows = list(rows)
        self.protocol = protocol
        self.seconds = list(seconds)
        self._groups: dict[str, dict[Any, list[Row]]] = {}

    def where(self, **conditions: Any) -> "Results":
        """Return the rows that meet all conditions: a value, or a function that says yes."""
        rest = dict(conditions)
        exact = next((name for name, wanted in rest.items() if not callable(wanted)), None)
        rows = self.rows if exact is None else self._rows_with(exact, rest.pop(exact))
        kept = [row for row in rows if all(_meets(row, *item) for item in rest.items())]
        if not kept:
            raise MissingError(f"no row with {_describe(conditions)}")
        return Results(kept, self.protocol, self.seconds)

    def _rows_with(self, column: str, wanted: Any) -> list[Row]:
        """Return the rows with a value, from groups made once: many claims use them."""
        if column not in self._groups:
            groups: dict[Any, list[Row]] = {}
            for row in self.rows:
                groups.setdefault(row.get(column), []).append(row)
            self._groups[column] = groups
        return self._groups[column].get(wanted, [])

    def unique(self, column: str) -> list[Any]:
        """Return the distinct values of a column, sorted; rows without it do not count."""
        return sorted({row[column] for row in self.rows if row.get(column) is not None})

    def by_seed(self, measure: str) -> dict[int, float]:
        """Return each seed's mean of a measure."""
        grouped: dict[int, list[float]] = {}
        for row in self.rows:
            if measure in row:
                grouped.setdefault(row["seed"], []).append(row[measure])
        if not grouped:
            raise MissingError(f"no row with {measure}")
        return {seed: float(np.mean(values)) for seed, values in sorted(grouped.items())}

    def mean(self, measure: str, **conditions: Any) -> Estimate:
        """Return a measure's mean; seeds are what the standard error counts."""
        return Estimate.of(list(self.where(**conditions).by_seed(measure).values()))

    def gain(
        self, method: str, baseline: str, measure: str = "accuracy", **conditions: Any
    ) -> Estimate:
        """Return by how much a method beats another, paired by seed, in percentage points."""
        return Estimate.of(self.seed_gains(method, baseline, measure, **conditions))

    def seed_gains(
        self, method: str, baseline: str, measure: str = "accuracy", **conditions: Any
    ) -> list[float]:
        """Return the gain of every seed that both methods have."""
        ours = self.where(method=method, **conditions).by_seed(measure)
        theirs = self.where(method=baseline, **conditions).by_seed(measure)
        return [100 * (ours[seed] - theirs[seed]) for seed in ours if seed in theirs]

    def ratio(self, measure: str, method: str, baseline: str, **conditions: Any) -> Estimate:
        """Return the ratio of two methods' means, with a jackknife error over seeds."""
        top = self.where(method=method, **conditions).by_seed(measure)
        bottom = self.where(method=baseline, **conditions).by_seed(measure)
        pairs = np.array([(top[seed], bottom[seed]) for seed in top if seed in bottom])
        sums, count = pairs.sum(axis=0), len(pairs)
        if count == 1:
            return Estimate(float(sums[0] / sums[1]))
        left_out = (sums - pairs)[:, 0] / (sums - pairs)[:, 1]
        error = float(np.std(left_out) * (count - 1) ** 0.5)
        return Estimate(float(sums[0] / sums[1]), error, count)

    def along(
        self, column: str, estimate: Callable[["Results"], Estimate], **conditions: Any
    ) -> dict[Any, Estimate]:
        """Return an estimate for every value of a column, such as a gain for every budget."""
        chosen = self.where(**conditions)
        return {x: estimate(chosen.where(**{column: x})) for x in chosen.unique(column)}

    def table(self, by: Sequence[str], measures: Sequence[str]) -> list[dict[str, Any]]:
        """Return one dict per combination of the columns ``by``: they and the mean measures."""
        keys = dict.fromkeys(tuple(row.get(column) for column in by) for row in self.rows)
        table = []
        for key in keys:
            named = dict(zip(by, key, strict=True))
            chosen = self.where(**named)
            present = [name for name in measures if any(name in row for row in chosen.rows)]
            table.append(named | {name: chosen.mean(name) for name in present})
        return table


def lowest(estimates: dict[Any, Estimate]) -> Estimate:
    """Return the estimate with the smallest value."""
    _require_some(estimates)
    return min(estimates.values(), key=lambda estimate: estimate.value)


def highest(estimates: dict[Any, Estimate]) -> Estimate:
    """Return the estimate with the largest value."""
    _require_some(estimates)
    return max(estimates.values(), key=lambda estimate: estimate.value)


def _require_some(estimates: dict[Any, Estimate]) -> None:
    if not estimates:
        raise MissingError("nothing to take the extreme of")


def _meets(row: Row, column: str, wanted: Any) -> bool:
    if callable(wanted):
        return row.get(column) is not None and bool(wanted(row[column]))
    return bool(row.get(column) == wanted)


def _describe(conditions: dict[str, Any]) -> str:
    return ", ".join(
        f"{column} in the wanted range" if callable(wanted) else f"{column} {wanted}"
        for column, wanted in conditions.items()
    )
