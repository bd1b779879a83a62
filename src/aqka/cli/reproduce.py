"""The command ``aqka reproduce``: parse, call, print."""

import json
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from aqka.errors import InputError

if TYPE_CHECKING:
    from aqka.evaluation.reproduce.reproduction import Plan, Reproduction


def reproduce(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME…", help="Experiments; or 'list', or 'all'.")
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Small runs that show that everything works.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Repetitions instead of the experiment's own.")
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            help="paper: as the paper did; fair: known diagonal, the same tuned ridge for all."
        ),
    ] = "paper",
    out: Annotated[Path, typer.Option(help="Directory for results.")] = Path("reproduction"),
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes to use; default: all cores.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Dask scheduler to run on, such as tcp://node:8786.")
    ] = None,
    kernel: Annotated[
        Path | None,
        typer.Option(
            help="Kernel measured on a device, an npz file, instead of a fake device's.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Where the overview goes; default: in the directory.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Run the paper's experiments again and judge every number it states.

    Writes for each experiment its results, figures and a report with all claims. A run that was
    stopped goes on where it was when the same command is given again.
    """
    from aqka.evaluation.reproduce.page import write_overview
    from aqka.evaluation.reproduce.reproduction import as_json as reproduction_as_json
    from aqka.evaluation.reproduce.reproduction import plan

    if names == ["list"]:
        _print_list(as_json)
        return
    out = out.with_name(f"{out.name}-quick") if quick else out
    plans = [
        plan(name, out, quick=quick, seeds=seeds, protocol=protocol, kernel=kernel)
        for name in _chosen(names)
    ]
    if kernel is not None and not any("kernel" in one.parameters for one in plans):
        raise InputError(
            "kernel is for experiments that resample a measured one: hardware, head-to-head, svm."
        )
    try:
        done = _run(plans, workers, scheduler)
    except KeyboardInterrupt:
        command = shlex.join(["aqka", *sys.argv[1:]])
        typer.echo(f"\nStopped; what is finished is kept. To go on:\n  {command}", err=True)
        raise typer.Exit(130) from None
    overview = report or out / protocol / "reproduction.md"
    write_overview(done, overview)
    if as_json:
        typer.echo(json.dumps([reproduction_as_json(one) for one in done], indent=2))
    else:
        _print(done, overview)


def _chosen(names: list[str]) -> list[str]:
    from aqka.evaluation.reproduce.experiments import experiment_names

    if "all" in names or "list" in names:
        if len(names) > 1:
            raise InputError("'all' and 'list' stand alone; name experiments, or one of the two.")
        return experiment_names()
    return list(dict.fromkeys(names))


def _run(plans: "list[Plan]", workers: int | None, scheduler: str | None) -> "list[Reproduction]":
    from aqka.evaluation.reproduce.reproduction import reproduce as run

    errors = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    done = []
    with Progress(
        *columns, console=errors, disable=not errors.is_terminal, transient=True
    ) as progress:
        bar = progress.add_task("", total=sum(len(one.cells) for one in plans))
        for one in plans:
            progress.update(bar, description=one.name)
            done.append(
                run(
                    one,
                    workers=workers,
                    scheduler=scheduler,
                    on_cell=lambda *_: progress.advance(bar),
                )
            )
    return done


def _print_list(as_json: bool) -> None:
    from rich.table import Table

    from aqka.evaluation.reproduce.experiments import experiment_names, make_experiment

    known = {name: make_experiment(name) for name in experiment_names()}
    if as_json:
        listed = [
            {"name": name, "title": one.title, "place": one.place, "claims": len(one.claims)}
            for name, one in known.items()
        ]
        typer.echo(json.dumps(listed, indent=2))
        return
    table = Table()
    table.add_column("name", no_wrap=True)
    table.add_column("what it shows")
    table.add_column("in the paper")
    table.add_column("claims", justify="right")
    for name, one in known.items():
        table.add_row(name, one.title, one.place, str(len(one.claims)))
    Console().print(table)


def _print(done: "list[Reproduction]", overview: Path) -> None:
    from rich.table import Table

    from aqka.evaluation.reproduce.reproduction import count_verdicts

    console = Console()
    for one in done:
        table = Table(title=f"{one.plan.name}: {one.plan.experiment.title}")
        table.add_column("claim")
        table.add_column("paper", justify="right", no_wrap=True)
        table.add_column("ours ± SE", justify="right", no_wrap=True)
        table.add_column("verdict", no_wrap=True)
        for judgement in one.judgements:
            claim = judgement.claim
            ours = "" if judgement.ours is None else f"{judgement.ours} {claim.unit}"
            paper = f"{claim.rule.sign}{claim.paper} {claim.unit}"
            table.add_row(claim.says, paper, ours, judgement.verdict)
        console.print(table)
    counts = Counter(count_verdicts(done))
    console.print(
        ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common()) + ".",
        highlight=False,
    )
    console.print(f"Report with explanations: {overview}", highlight=False, soft_wrap=True)
