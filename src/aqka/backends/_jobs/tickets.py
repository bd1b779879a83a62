"""Names that jobs are found by again: the ticket of a submission and the tags of its jobs."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from aqka.backends._jobs.rows import Layout
from aqka.backends._tiles.deal import Deal, Sentinels
from aqka.errors import InputError

TAG_LENGTH = 80  # IBM limits the length of a job tag
POINTS, TILES, SENTINELS = "points", "tiles", "sentinels"


@dataclass(frozen=True, eq=False)
class Ticket:
    """What is needed to collect a submission, in any process that can reach its jobs."""

    job_ids: list[str]  # one per chunk of the layout
    layout: Layout
    points: bool  # whether the rows read all qubits, as those of points do, not hits of pairs
    deal: Deal | None = None  # which tile ran which row; None without tiles
    sentinels: Sentinels | None = None

    def write(self) -> str:
        """Return the ticket as a text: words with a dot behind each, and the layout."""
        words = [POINTS] if self.points else []
        if self.deal is not None:
            words.append(f"{TILES}-{self.deal.encode()}")
        if self.sentinels is not None:
            words.append(f"{SENTINELS}-{self.sentinels.encode()}")
        return f"{'+'.join(self.job_ids)}:{'.'.join([*words, self.layout.encode()])}"

    @classmethod
    def read(cls, text: str) -> "Ticket":
        """Return the ticket that ``write`` wrote."""
        names, colon, rest = text.rpartition(":")
        if not colon:
            raise InputError(
                f"ticket {text!r} was not made by submit(); pass it as it was returned."
            )
        *words, encoded = rest.split(".")  # no layout's text has a dot
        said = {name: text for name, _, text in (word.partition("-") for word in words)}
        deal = Deal.decode(said[TILES]) if TILES in said else None
        sentinels = Sentinels.decode(said[SENTINELS]) if SENTINELS in said else None
        layout = Layout.decode(encoded, 1 if deal is None else deal.n_tiles)
        job_ids = names.split("+") if names else []
        expected = len(layout.chunks())
        if len(job_ids) != expected:
            raise InputError(f"ticket names {len(job_ids)} jobs but its layout needs {expected}.")
        return cls(job_ids, layout, POINTS in said, deal, sentinels)


def part_name(key: str, k: int, parts: int, n_tiles: int | None = None) -> str:
    """Return the name of the k-th job of a submission, on so many tiles."""
    tiles = "" if n_tiles is None else f"-on{n_tiles}"
    return f"aqka-{key}-{k + 1}of{parts}{tiles}"


def tiles_sent(key: str, tags: Iterable[str]) -> int | None:
    """Return on how many tiles a job of a submission was sent, from its tags; None: not its job.

    Examples
    --------
    >>> tiles_sent("ab12", ["round 3", part_name("ab12", 0, 2, n_tiles=21)])
    21
    """
    for tag in tags:
        found = re.fullmatch(rf"aqka-{key}-\d+of\d+-on(\d+)", tag)
        if found is not None:
            return int(found[1])
    return None


def shorten_tag(tag: str) -> str:
    """Return the tag, shortened where it exceeds what IBM takes."""
    if len(tag) <= TAG_LENGTH:
        return tag
    return f"{tag[: TAG_LENGTH - 17]}-{hashlib.sha256(tag.encode()).hexdigest()[:16]}"
