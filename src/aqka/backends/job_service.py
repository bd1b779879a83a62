"""The contract of a service that a RuntimeBackend sends its jobs to."""

from abc import ABC, abstractmethod
from typing import Any


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
