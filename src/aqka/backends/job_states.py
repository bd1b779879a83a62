"""What a service says of the jobs behind a ticket."""

from dataclasses import dataclass

NOT_ASKED = "not asked"


@dataclass(frozen=True)
class JobState:
    """One job of a submission.

    Attributes
    ----------
    job_id
        Its id at the service.
    state
        The service's word, such as ``QUEUED``, ``RUNNING``, ``DONE`` or ``CANCELLED``.
    queue_position
        Its place in the queue, where the service tells.
    seconds
        QPU seconds that it used, where the service tells.
    """

    job_id: str
    state: str = NOT_ASKED
    queue_position: int | None = None
    seconds: float | None = None


def job_ids_of(ticket: str) -> list[str]:
    """Return the ids of the jobs that a ticket names; none of a simulator's.

    Examples
    --------
    >>> job_ids_of("d1abc+d2def:eJxj")
    ['d1abc', 'd2def']
    >>> job_ids_of("aqka-uniform-1f2e-r0")
    []
    """
    names, colon, _ = ticket.rpartition(":")
    inner = names.rpartition("|")[2]  # sentinels write their number before it
    return inner.split("+") if colon and inner else []
