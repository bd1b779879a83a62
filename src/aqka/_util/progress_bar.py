"""A bar that shows how far a long piece of work is: in a terminal, in a notebook, in a log."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any


class ProgressBar:
    """Counts work that is done, and draws every change; made by :func:`progress_bar`."""

    def __init__(self, text: str, total: int) -> None:
        self.text, self.total, self.done = text, total, 0
        self.draw: Callable[[], None] = lambda: None  # nobody watches

    def advance(self, *_: object) -> None:
        """Count one more piece of work; arguments are ignored, so that it can be a callback."""
        self.reach(self.done + 1)

    def reach(self, done: int) -> None:
        """Say how much is done in all."""
        self.done = done
        self.draw()

    def describe(self, text: str) -> None:
        """Say what is being done now."""
        self.text = text
        self.draw()

    @property
    def words(self) -> str:
        """How much is done, in words."""
        return f"{self.done:,} of {self.total:,} {self.text}"


@contextmanager
def progress_bar(text: str, total: int, *, lines: bool = False) -> Iterator[ProgressBar]:
    """Show a bar during the block, on the standard error; a terminal's leaves nothing behind.

    Where there is neither a terminal nor a notebook, ``lines`` are printed, or else nothing.
    """
    from rich.console import Console

    bar, errors = ProgressBar(text, total), Console(stderr=True)
    if in_notebook():
        _draw_in_notebook(bar)
        yield bar
    elif errors.is_terminal:
        from rich import progress as rich

        counts = rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn()
        times = rich.TimeElapsedColumn(), rich.TextColumn("left:"), rich.TimeRemainingColumn()
        with rich.Progress(*counts, *times, console=errors, transient=True) as progress:
            line = progress.add_task(text, total=total)
            bar.draw = lambda: progress.update(line, description=bar.text, completed=bar.done)
            yield bar
    else:
        if lines:
            bar.draw = lambda: print(bar.words, file=sys.stderr, flush=True)
        yield bar


def in_notebook() -> bool:
    """Return whether this is a Jupyter kernel, which has imported IPython."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


def _draw_in_notebook(bar: ProgressBar) -> None:
    """Draw the bar in one element of a notebook's output; it needs no widgets."""
    jupyter: Any = import_module("IPython.display")

    def html() -> Any:
        meter = f"<progress value='{bar.done}' max='{bar.total}'></progress>"
        return jupyter.HTML(f"{meter} {escape(bar.words)}")

    handle = jupyter.display(html(), display_id=True)
    bar.draw = lambda: handle.update(html())
