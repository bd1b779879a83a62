"""A bar that shows how far many small pieces of work are, where somebody watches."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class ProgressBar:
    """One line that is redrawn; made by :func:`progress_bar`."""

    def __init__(self, progress: "Progress", line: "TaskID") -> None:
        self._progress, self._line = progress, line

    def advance(self, *_: object) -> None:
        """Count one more piece of work; what is passed is of no interest."""
        self._progress.advance(self._line)

    def describe(self, text: str) -> None:
        """Say what is being done now."""
        self._progress.update(self._line, description=text)


@contextmanager
def progress_bar(text: str, total: int) -> Iterator[ProgressBar]:
    """Show a bar on the standard error during the block; it leaves nothing behind."""
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
    errors = Console(stderr=True)
    with Progress(
        *columns, console=errors, disable=not errors.is_terminal, transient=True
    ) as progress:
        yield ProgressBar(progress, progress.add_task(text, total=total))
