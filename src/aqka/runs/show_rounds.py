"""Shows how a session spends its budget, round by round, to whoever waits for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from aqka._util.progress_bar import progress_bar
from aqka.runs.session import Session

Spender = TypeVar("Spender", bound=Session[Any])


@contextmanager
def show_rounds(
    session: Spender, verbose: bool, on_round: Callable[[Spender], None] | None = None
) -> Iterator[Callable[[Spender], None] | None]:
    """Give the function to call after every round: the given one, and a bar's if ``verbose``.

    Parameters
    ----------
    session
        What spends the budget.
    verbose
        Whether to show a bar: in a terminal, in a notebook, else as lines on the standard error.
    on_round
        What is called besides.
    """
    if not verbose:
        yield on_round
        return
    with progress_bar("shots", session.budget, lines=True) as bar:

        def show(now: Spender) -> None:
            bar.text = f"shots, {now.round} {'round' if now.round == 1 else 'rounds'}"
            bar.reach(now.shots_spent)
            if on_round is not None:
                on_round(now)

        yield show
