"""PaperReading: what the paper leaves open, as named switches."""

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from aqka.errors import InputError

LITERAL_NAME = "literal"
LEVELS: dict[str, tuple[str, ...]] = {
    "width": ("0.10", "0.05"),
    "variance": ("counts", "projected"),
    "unseen": ("zero", "filled"),
    "targets": ("cumulative", "round", "total"),
    "floor": ("all", "none"),
    "oracle": ("as-aqka", "bare"),
    "bernoulli": ("estimated", "true"),
    "diagonal": ("measured", "known"),
    "tests": ("third", "equal"),
    "inputs": ("2pi", "pi"),
    "ridge": ("plain", "times-n"),
}
"""Every switch with its levels, the literal one first; docs/explanation/verdict-rules.md says
where the paper leaves them open."""


@dataclass(frozen=True)
class PaperReading:
    """One way to read the paper: a level for every switch.

    Attributes
    ----------
    width
        γ of the RBF kernel.
    variance
        Whose K̂(1-K̂) line 8 takes: of the ``counts`` or of the ``projected`` matrix.
    unseen
        What a pair without shots is in that term: 0, or ``filled`` by projection.
    targets
        B_t of line 8: ``cumulative``, the ``round``'s own, or the ``total`` budget.
    floor
        Whether sensitivities are raised to 5 % of the largest.
    oracle
        Whether the oracle has AQKA's warm-up and floor, or neither.
    bernoulli
        Whether Bernoulli-only takes estimated or true variances.
    diagonal
        Whether the diagonal is measured like any pair, or known.
    tests
        Test points: the experiment's usual number, or as many as there are training points.
    inputs
        Uniform inputs of the ZZ map lie in [0, 2π] or in [0, π].
    ridge
        K + λI, or K + NλI.

    Examples
    --------
    >>> reading = PaperReading(width="0.05", variance="projected")
    >>> reading.name
    'literal; width=0.05; variance=projected'
    >>> PaperReading.named(reading.name) == reading
    True
    """

    width: str = "0.10"
    variance: str = "counts"
    unseen: str = "zero"
    targets: str = "cumulative"
    floor: str = "all"
    oracle: str = "as-aqka"
    bernoulli: str = "estimated"
    diagonal: str = "measured"
    tests: str = "third"
    inputs: str = "2pi"
    ridge: str = "plain"

    def __post_init__(self) -> None:
        """Check every level."""
        for switch, levels in LEVELS.items():
            if getattr(self, switch) not in levels:
                raise InputError(
                    f"{switch} must be one of {levels}, got {getattr(self, switch)!r}."
                )

    @property
    def changes(self) -> dict[str, str]:
        """The switches that differ from the literal reading."""
        return {
            switch: getattr(self, switch)
            for switch, levels in LEVELS.items()
            if getattr(self, switch) != levels[0]
        }

    @property
    def name(self) -> str:
        """What results call it; the same reading always has the same name."""
        changed = (f"{switch}={level}" for switch, level in self.changes.items())
        return "; ".join((LITERAL_NAME, *changed))

    @classmethod
    @lru_cache(maxsize=256)
    def named(cls, name: str) -> "PaperReading":
        """Return the reading of that name."""
        first, *changes = name.split("; ")
        pairs = [change.partition("=")[::2] for change in changes]
        if first != LITERAL_NAME or any(switch not in LEVELS for switch, _ in pairs):
            raise InputError(
                f"a reading is called {LITERAL_NAME!r}, with changes such as '; width=0.05' of "
                f"the switches {list(LEVELS)}; got {name!r}."
            )
        return cls(**dict(pairs))

    def restricted_to(self, switches: Any) -> "PaperReading":
        """Return the reading with all other switches at their literal levels."""
        kept = {field.name: getattr(self, field.name) for field in fields(self)}
        return PaperReading(**{name: kept[name] for name in switches})

    def changed(self, **levels: str) -> "PaperReading":
        """Return the reading with some switches at other levels."""
        return replace(self, **levels)


LITERAL = PaperReading()


def is_reading(protocol: str) -> bool:
    """Return whether a protocol's name is that of a reading."""
    return protocol.split("; ")[0] == LITERAL_NAME
