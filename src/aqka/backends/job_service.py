"""The contract of a service that a RuntimeBackend sends its jobs to, and its execution modes."""

import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from aqka._util.optional import require
from aqka.errors import InputError

EXTRA = "ibm"
"""The extra of the package that brings IBM's client."""


class JobService(ABC):
    """Where jobs are sent to and found again: IBM's service, this process, or a stand-in.

    A subclass writes everything but :meth:`forget`. The errors that it raises are those of
    ``qiskit_ibm_runtime``, from which RuntimeBackend tells what may pass from what is lost.

    Attributes
    ----------
    target
        The backend that circuits are transpiled for.
    is_local
        Whether jobs live in this process only: they are not found by their tags, cost nothing,
        and depend on their seed alone.
    """

    target: Any
    is_local: bool = False

    @abstractmethod
    def open(self, mode: str) -> Any:
        """Open a ``"session"`` or a ``"batch"`` and return it, something with ``close()``."""

    @abstractmethod
    def sampler(self, mode: Any, tags: list[str], seed: int) -> Any:
        """Return a sampler whose jobs carry these tags.

        Parameters
        ----------
        mode
            What :meth:`open` returned; None runs plain jobs.
        tags
            What :meth:`jobs` finds the sampler's jobs by.
        seed
            Of a simulator; a device ignores it.
        """

    @abstractmethod
    def job(self, job_id: str) -> Any:
        """Return a job by its id."""

    @abstractmethod
    def jobs(self, tags: list[str]) -> list[Any]:
        """Return the jobs that carry all these tags, newest first."""

    def forget(self, job_id: str) -> None:
        """Let go of a job whose outcomes were counted; the default keeps it."""
        return


logger = logging.getLogger(__name__)

# The modes to try, in this order, for each word that a caller may say.
MODES = {"auto": ("session", "batch"), "session": ("session",), "batch": ("batch",), "job": ()}
PLAIN_JOBS = "job"
OPEN_PLAN = ("1352", "not authorized to run a session")  # IBM's code and words for "no sessions"


@dataclass
class ExecutionMode:
    """The mode in use, one object for all backends that share it.

    Attributes
    ----------
    name
        ``"session"``, ``"batch"`` or ``"job"``.
    handle
        The open session or batch; None for plain jobs.
    """

    name: str = PLAIN_JOBS
    handle: Any = None

    def open(self, service: JobService, wanted: tuple[str, ...]) -> None:
        """Open the best mode that the account may use, unless one is open."""
        if self.handle is None:
            self.name, self.handle = open_best(service, wanted)

    def close(self) -> None:
        """Close the session or batch, if one is open; jobs are plain from now on."""
        handle, self.handle, self.name = self.handle, None, PLAIN_JOBS
        if handle is not None:
            handle.close()


def open_best(service: JobService, wanted: tuple[str, ...]) -> tuple[str, Any]:
    """Open the first of ``wanted`` that the account may use, else plain jobs.

    Whoever wants a single mode is refused where the account's plan has none. Only that refusal
    leads on to the next; any other error, such as a wrong token, is raised.
    """
    for mode in wanted:
        try:
            return mode, service.open(mode)
        except require("qiskit_ibm_runtime.exceptions", EXTRA).IBMError as error:
            if not any(sign in str(error) for sign in OPEN_PLAN):
                raise
            if len(wanted) == 1:
                raise InputError(
                    f"mode {mode!r} is not in the account's plan, as the service says; take mode "
                    "'auto', which uses what the plan has, or 'job'. Nothing was sent."
                ) from None
            logger.info("the account's plan has no %s; trying the next execution mode", mode)
    return PLAIN_JOBS, None
