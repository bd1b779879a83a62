"""The command ``aqka compare``: parse, call, print."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from aqka.evaluation.compare.comparison import Comparison

QUICK_TASKS = ("moons, ZZ 2 qubits", "breast cancer, ZZ 4 qubits")


def compare(
    seeds: Annotated[int, typer.Option(min=2, help="Repetitions, each with other data.")] = 20,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two tasks and two budgets: does everything work?")
    ] = False,
    out: Annotated[Path, typer.Option(help="Directory for results.")] = Path("comparison"),
    report: Annotated[
        Path | None, typer.Option(help="Where the page goes; default: in the directory.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes to use; default: all cores.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Compare allocators and readouts on eight tasks and five budgets.

    A comparison that was stopped goes on where it was when the same command is given again.
    """
    from rich.progress import Progress, TimeRemainingColumn

    from aqka.evaluation.compare.comparison import BASELINE_SHOTS_PER_PAIR, SHOTS_PER_PAIR
    from aqka.evaluation.compare.comparison import compare as run
    from aqka.evaluation.compare.page import write_comparison
    from aqka.evaluation.compare.tasks import TASKS

    tasks = QUICK_TASKS if quick else tuple(TASKS)
    budgets = (1.0, 10.0) if quick else SHOTS_PER_PAIR
    baseline = (1.0, 10.0, 100.0) if quick else BASELINE_SHOTS_PER_PAIR
    directory = out.with_name(f"{out.name}-quick") if quick else out
    directory.mkdir(parents=True, exist_ok=True)
    errors = Console(stderr=True)
    columns = (*Progress.get_default_columns()[:2], TimeRemainingColumn())
    with Progress(
        *columns, console=errors, disable=not errors.is_terminal, transient=True
    ) as progress:
        bar = progress.add_task("comparing", total=len(tasks) * seeds)
        try:
            found = run(
                seeds,
                tasks=tasks,
                budgets=budgets,
                baseline_budgets=baseline,
                store=directory / "results.jsonl",
                workers=workers,
                on_cell=lambda *_: progress.advance(bar),
            )
        except KeyboardInterrupt:
            command = shlex.join(["aqka", *sys.argv[1:]])
            typer.echo(f"\nStopped; what is finished is kept. To go on:\n  {command}", err=True)
            raise typer.Exit(130) from None
    page = report or directory / "comparison.md"
    write_comparison(found, page)
    if as_json:
        typer.echo(json.dumps(_as_json(found), indent=2))
    else:
        _print(found, page)


def _as_json(found: "Comparison") -> dict[str, object]:
    from aqka.evaluation.compare.page import MEASURES, RATIO_AIMS, overall_rows

    return {
        "means": [
            dict(zip(("method", *MEASURES), row, strict=True)) for row in overall_rows(found)
        ],
        "shot_ratios": {
            baseline: {"value": ratio.value, "at_least": ratio.bound}
            for baseline in RATIO_AIMS
            for ratio in (found.mean_ratio(baseline),)
        },
        "losses": [loss | {"by": loss["by"].value} for loss in found.losses()],
        "rows": found.results.rows,
    }


def _print(found: "Comparison", page: Path) -> None:
    from rich.table import Table

    from aqka.evaluation.compare.page import aim_lines, overall_rows

    table = Table(title="Means over all tasks and budgets")
    table.add_column("allocator + readout")
    for heading in ("accuracy", "balanced", "correlation"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in overall_rows(found):
        table.add_row(*row)
    console = Console()
    console.print(table)
    for line in aim_lines(found):
        console.print(line.replace("`", "").replace("**", ""), markup=False, highlight=False)
    console.print(f"Full tables: {page}", markup=False, highlight=False)
