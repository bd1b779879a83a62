"""How IBM runs jobs: in a session, in a batch, or one by one."""

import logging
from dataclasses import dataclass
from typing import Any

from aqka._util.optional import require
from aqka.backends._jobs.ibm import EXTRA
from aqka.backends.job_service import JobService
from aqka.errors import InputError

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
