"""Names that jobs are found by again: the ticket of a submission and the tags of its jobs."""

import hashlib

from aqka.backends._jobs.rows import Layout
from aqka.errors import InputError

TAG_LENGTH = 80  # IBM limits the length of a job tag


def write_ticket(job_ids: list[str], layout: Layout) -> str:
    """Return the ticket of a submission: its jobs, and how to read their rows."""
    return f"{'+'.join(job_ids)}:{layout.encode()}"


def read_ticket(ticket: str) -> tuple[list[str], Layout]:
    """Return the job ids and the layout of a ticket."""
    names, colon, text = ticket.rpartition(":")
    if not colon:
        raise InputError(f"ticket {ticket!r} is none of submit()'s; pass it as it was returned.")
    ids = names.split("+") if names else []
    layout = Layout.decode(text)
    expected = len(layout.chunks())
    if len(ids) != expected:
        raise InputError(f"ticket names {len(ids)} jobs but its layout needs {expected}.")
    return ids, layout


def part_name(key: str, k: int, parts: int) -> str:
    """Return the name of the k-th job of a submission."""
    return f"aqka-{key}-{k + 1}of{parts}"


def shorten_tag(tag: str) -> str:
    """Return the tag, shortened where it exceeds what IBM takes."""
    if len(tag) <= TAG_LENGTH:
        return tag
    return f"{tag[: TAG_LENGTH - 17]}-{hashlib.sha256(tag.encode()).hexdigest()[:16]}"
