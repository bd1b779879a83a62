"""The one error a caller can mend by changing an argument."""


class InputError(ValueError):
    """An argument cannot be used.

    The message names the argument, what was got, what is allowed and the remedy. Whoever
    raises it has changed nothing yet.
    """
