"""How experiments read their counts: as the paper did, or fairly."""

from aqka.core.reading import FAIR, PAPER, Reading
from aqka.errors import InputError

PROTOCOLS = {"paper": PAPER, "fair": FAIR}
"""``paper``: diagonal measured, unseen pairs read 0, the paper's fixed ridge. ``fair``: diagonal
known, and every method gets the same cross-validated ridge."""


def reading_of(name: str) -> Reading:
    """Return how counts are read under an experiment's protocol."""
    if name not in PROTOCOLS:
        raise InputError(f"protocol must be one of {sorted(PROTOCOLS)}, got {name!r}.")
    return PROTOCOLS[name]
