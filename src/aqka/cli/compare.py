"""The command ``aqka compare``: parse, call, print."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from aqka._util.progress_bar import progress_bar
from aqka.cli.options import AsJson
from aqka.cli.stopping import keeping_finished_cells

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
    as_json: AsJson = False,
) -> None:
    """Compare allocators and readouts on eight tasks and five budgets.

    A comparison that was stopped goes on where it was when the same command is given again.
    """
    from aqka.cli.comparison_table import print_comparison
    from aqka.evaluation.compare.comparison import BASELINE_SHOTS_PER_PAIR, SHOTS_PER_PAIR
    from aqka.evaluation.compare.comparison import compare as run
    from aqka.evaluation.compare.page import write_comparison
    from aqka.evaluation.compare.tasks import TASKS

    tasks = QUICK_TASKS if quick else tuple(TASKS)
    directory = out.with_name(f"{out.name}-quick") if quick else out
    directory.mkdir(parents=True, exist_ok=True)
    with keeping_finished_cells(), progress_bar("comparing", len(tasks) * seeds) as bar:
        found = run(
            seeds,
            tasks=tasks,
            budgets=(1.0, 10.0) if quick else SHOTS_PER_PAIR,
            baseline_budgets=(1.0, 10.0, 100.0) if quick else BASELINE_SHOTS_PER_PAIR,
            store=directory / "results.jsonl",
            workers=workers,
            on_cell=bar.advance,
        )
    page = report or directory / "comparison.md"
    write_comparison(found, page)
    if as_json:
        typer.echo(json.dumps(_comparison_facts(found), indent=2))
    else:
        print_comparison(found, page, Console())


def _comparison_facts(found: "Comparison") -> dict[str, object]:
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
