"""The errors of the package: a wrong argument, and a job that gave no result."""


class InputError(ValueError):
    """An argument cannot be used.

    The message names the argument, what was got, what is allowed and the remedy. Whoever
    raises it has changed nothing yet.
    """


class JobError(RuntimeError):
    """A job was refused, failed, was cancelled or cannot be found.

    The message names the job and the remedy. Whoever raises it has not run the job again:
    whether shots are paid for twice is the caller's decision.
    """
