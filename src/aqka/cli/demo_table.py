"""The demo's results as tables."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from aqka.demo.paper import ALLOCATORS, READINGS, TABLE_SHOTS_PER_PAIR, Demo

NOTE = (
    "Test accuracy ± standard error. Fixed ridge: the paper's readout, diagonal measured. "
    "Tuned ridge: the same cross-validated readout for all, diagonal known.\n"
    "A small fixed ridge does not damp the shot noise that the inverse amplifies, so accuracy "
    "can fall as shots grow;\nnystrom and hybrid reconstruct with it even where the readout is "
    "tuned."
)


def print_demo(demo: Demo, picture: Path | None, console: Console) -> None:
    """Print a table for each task, what its kernel is like, and where the picture is."""
    for task in demo.majority:
        console.print(_task_table(demo, task))
        console.print(
            f"  The exact kernel has {demo.true_diagnostics[task].advice}\n"
            f"  After these shots: {demo.diagnostics[task].advice}\n",
            highlight=False,
            soft_wrap=True,
        )
    console.print(NOTE, highlight=False, soft_wrap=True)
    if picture:
        console.print(f"Picture: {picture}", highlight=False, soft_wrap=True)


def _task_table(demo: Demo, task: str) -> Table:
    at_table = (run for run in demo.results if run.shots_per_pair == TABLE_SHOTS_PER_PAIR)
    shots = next(run.shots for run in at_table if run.task == task)
    table = Table(title=f"{task}: {shots:,} shots, {TABLE_SHOTS_PER_PAIR:g} per pair")
    table.add_column("allocator", no_wrap=True)
    for heading in ("fixed ridge", "balanced", "tuned ridge", "balanced"):
        table.add_column(heading, justify="right")
    for allocator in ALLOCATORS:
        table.add_row(allocator, *_accuracy_cells(demo, task, allocator))
    table.add_section()
    majority = f"{demo.majority[task]:.3f}"
    table.add_row("majority class", majority, "0.500", majority, "0.500")
    table.add_row("exact kernel", f"{demo.exact[task]:.3f}", "", "", "")
    return table


def _accuracy_cells(demo: Demo, task: str, allocator: str) -> list[str]:
    """Return accuracy and balanced accuracy, as each reading has them."""
    cells = []
    for reading in READINGS:
        key = (task, reading, allocator, TABLE_SHOTS_PER_PAIR)
        mean, error = demo.mean(*key, "accuracy")
        balanced, _ = demo.mean(*key, "balanced_accuracy")
        spread = "" if error is None else f" ± {error:.3f}"
        cells += [f"{mean:.3f}{spread}", f"{balanced:.3f}"]
    return cells
