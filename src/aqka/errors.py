"""The errors and warnings of the package, by what can be done about them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aqka._util.arrays import IntArray


class InputError(ValueError):
    """An argument cannot be used.

    The message names the argument, its value, what is allowed and the remedy. Nothing has changed.
    """


class TransientError(RuntimeError):
    """A step failed for a passing reason, such as the network; repeating it is safe."""


class JobError(RuntimeError):
    """A job was refused, failed, was cancelled or cannot be found.

    The message names the job and the remedy. Whoever raises it has not run the job again:
    whether shots are paid for twice is the caller's decision.

    Attributes
    ----------
    partial
        Shots that were run all the same, per row of the plan, and the answer to them, if any.
    lost
        Shots that were run and paid for, but whose hits are lost. They count against the budget.
    """

    def __init__(
        self,
        message: str,
        partial: "tuple[IntArray, Any] | None" = None,
        lost: int = 0,
    ) -> None:
        super().__init__(message)
        self.partial = partial
        self.lost = lost


class CeilingError(RuntimeError):
    """The next submission does not fit under the user's ceiling; nothing was submitted.

    The message says what it would need. Nothing is lost: the run continues with a higher ceiling.
    """


class CancelledError(RuntimeError):
    """The run was cancelled; nothing more was submitted, and it can be resumed."""


class LedgerError(RuntimeError):
    """A ledger cannot be read or written, or does not belong to this run."""


class NoisyFeaturesWarning(UserWarning):
    """Most measured features are more shot noise than signal."""


class ExactScoreWarning(UserWarning):
    """A score was computed from exact test entries, which only a simulator knows."""
