"""A bar that shows how far a long piece of work is: in a terminal, in a notebook, in a log."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class ProgressBar(ABC):
    """Work of which some is done; made by :func:`progress_bar`."""

    def __init__(self, text: str, total: int) -> None:
        self.text, self.total, self.done = text, total, 0

    def advance(self, *_: object) -> None:
        """Count one more piece of work; what is passed is of no interest."""
        self.reach(self.done + 1)

    def reach(self, done: int) -> None:
        """Say how much is done in all."""
        self.done = done
        self._draw()

    def describe(self, text: str) -> None:
        """Say what is being done now."""
        self.text = text
        self._draw()

    @abstractmethod
    def _draw(self) -> None:
        """Show what has changed."""


class SilentBar(ProgressBar):
    """Shows nothing: nobody watches."""

    def _draw(self) -> None:
        pass


class TerminalBar(ProgressBar):
    """One line of a terminal that is redrawn."""

    def __init__(self, text: str, total: int, progress: "Progress", line: "TaskID") -> None:
        super().__init__(text, total)
        self._progress, self._line = progress, line

    def _draw(self) -> None:
        self._progress.update(self._line, description=self.text, completed=self.done)


class NotebookBar(ProgressBar):
    """An element of a notebook's output that is redrawn; it needs no widgets."""

    def __init__(self, text: str, total: int) -> None:
        super().__init__(text, total)
        self._jupyter: Any = import_module("IPython.display")
        self._handle = self._jupyter.display(self._html(), display_id=True)

    def _draw(self) -> None:
        self._handle.update(self._html())

    def _html(self) -> Any:
        return self._jupyter.HTML(
            f"<progress value='{self.done}' max='{self.total}'></progress> "
            f"{self.done:,} of {self.total:,} {escape(self.text)}"
        )


class LineBar(ProgressBar):
    """A new line for each change, for a log."""

    def _draw(self) -> None:
        print(f"{self.done:,} of {self.total:,} {self.text}", file=sys.stderr, flush=True)


@contextmanager
def progress_bar(text: str, total: int, *, lines: bool = False) -> Iterator[ProgressBar]:
    """Show a bar during the block, on the standard error; a terminal's leaves nothing behind.

    Parameters
    ----------
    text
        What is counted.
    total
        When it is done.
    lines
        Whether to print lines where there is neither a terminal nor a notebook.
    """
    errors = Console(stderr=True)
    if in_notebook():
        yield NotebookBar(text, total)
    elif errors.is_terminal:
        with _new_progress(errors) as progress:
            yield TerminalBar(text, total, progress, progress.add_task(text, total=total))
    else:
        yield LineBar(text, total) if lines else SilentBar(text, total)


def in_notebook() -> bool:
    """Return whether this is a Jupyter kernel; who is in one has imported IPython."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


def _new_progress(console: Console) -> "Progress":
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, transient=True)
