"""Names that jobs are found by again: the ticket of a submission and the tags of its jobs."""

import hashlib
from dataclasses import dataclass

from aqka.backends._jobs.rows import Layout
from aqka.errors import InputError

TAG_LENGTH = 80  # IBM limits the length of a job tag
POINTS = "points."  # no layout's text has a dot


@dataclass(frozen=True, eq=False)
class Ticket:
    """What is needed to collect a submission, in any process that can reach its jobs.

    Attributes
    ----------
    job_ids
        Its jobs, one per chunk of the layout.
    layout
        How to read their rows.
    points
        Whether the rows measure points, not pairs.
    """

    job_ids: list[str]
    layout: Layout
    points: bool

    def write(self) -> str:
        """Return the ticket as a text."""
        kind = POINTS if self.points else ""
        return f"{'+'.join(self.job_ids)}:{kind}{self.layout.encode()}"

    @classmethod
    def read(cls, text: str) -> "Ticket":
        """Return the ticket that ``write`` wrote."""
        names, colon, rest = text.rpartition(":")
        if not colon:
            raise InputError(f"ticket {text!r} is none of submit()'s; pass it as it was returned.")
        layout = Layout.decode(rest.removeprefix(POINTS))
        ticket = cls(names.split("+") if names else [], layout, rest.startswith(POINTS))
        expected = len(layout.chunks())
        if len(ticket.job_ids) != expected:
            raise InputError(
                f"ticket names {len(ticket.job_ids)} jobs but its layout needs {expected}."
            )
        return ticket


def part_name(key: str, k: int, parts: int) -> str:
    """Return the name of the k-th job of a submission."""
    return f"aqka-{key}-{k + 1}of{parts}"


def shorten_tag(tag: str) -> str:
    """Return the tag, shortened where it exceeds what IBM takes."""
    if len(tag) <= TAG_LENGTH:
        return tag
    return f"{tag[: TAG_LENGTH - 17]}-{hashlib.sha256(tag.encode()).hexdigest()[:16]}"
