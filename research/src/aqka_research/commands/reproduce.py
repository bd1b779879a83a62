"""The command ``aqka reproduce``: parse, call, print."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from aqka._util.progress_bar import progress_bar
from aqka.cli.options import AsJson
from aqka.errors import InputError
from aqka_research.commands.reproduce_readings import reproduce_readings
from aqka_research.commands.stopping import keeping_finished_cells

if TYPE_CHECKING:
    from aqka_research.reproduce.reproduction import Reproduction, Setup

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: aqka reproduce synthetic --quick")
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
    readings: Annotated[
        bool,
        typer.Option(
            "--readings",
            help="Both protocols and every reading of the paper's open choices: what holds when.",
        ),
    ] = False,
    so_far: Annotated[
        bool,
        typer.Option(
            "--so-far", help="With --readings: the page of what is finished; run nothing else."
        ),
    ] = False,
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
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments again and judge every number it states.

    Writes for each experiment its results, figures and a report with all claims. A run that was
    stopped goes on where it was when the same command is given again.
    """
    from aqka._util.files import as_json as written
    from aqka_research.commands.reproduction_table import print_reproductions
    from aqka_research.reproduce.page import overview
    from aqka_research.reproduce.reproduction import set_up, verdicts

    if names == ["list"]:
        _show_experiments(as_json)
        return
    out = out.with_name(f"{out.name}-quick") if quick else out
    if so_far and not readings:
        raise InputError("so-far is for --readings: it writes their page from what is finished.")
    if readings:
        from aqka_research.reproduce.reading_study import HowToRun

        if kernel is not None or protocol != "paper":
            raise InputError(
                "readings runs both protocols on its own kernel; drop the other option."
            )
        page = report or out / "readings" / "readings.md"
        how = HowToRun(workers, scheduler, so_far=so_far, quick=quick, seeds=seeds)
        reproduce_readings(_experiments_of(names), out, page, how, as_json)
        return
    setups = [
        set_up(name, out, quick=quick, seeds=seeds, protocol=protocol, kernel=kernel)
        for name in _experiments_of(names)
    ]
    if kernel is not None and not any("kernel" in setup.parameters for setup in setups):
        raise InputError(
            "kernel is for experiments that resample a measured one: hardware, head-to-head, svm."
        )
    done = _reproduce_all(setups, workers, scheduler)
    page = report or out / protocol / "reproduction.md"
    page.write_text(overview(done), encoding="utf-8")
    if as_json:
        typer.echo(written([verdicts(one) for one in done]), nl=False)
    else:
        print_reproductions(done, page, Console())


def _experiments_of(names: list[str]) -> list[str]:
    """Return the experiments that the arguments mean, each once."""
    from aqka_research.reproduce.experiments import experiment_names

    if "all" in names or "list" in names:
        if len(names) > 1:
            raise InputError("'all' and 'list' stand alone; name experiments, or one of the two.")
        return experiment_names()
    return list(dict.fromkeys(names))


def _reproduce_all(
    setups: "list[Setup]", workers: int | None, scheduler: str | None
) -> "list[Reproduction]":
    from aqka_research.reproduce.reproduction import reproduce as run

    done = []
    total = sum(len(setup.cells) for setup in setups)
    with keeping_finished_cells(), progress_bar("", total) as bar:
        for setup in setups:
            bar.describe(setup.name)
            done.append(run(setup, workers=workers, scheduler=scheduler, on_cell=bar.advance))
    return done


def _show_experiments(as_json: bool) -> None:
    from aqka_research.commands.reproduction_table import print_experiments
    from aqka_research.reproduce.experiments import experiment_names, make_experiment

    known = {name: make_experiment(name) for name in experiment_names()}
    if not as_json:
        print_experiments(known, Console())
        return
    facts = [
        {"name": name, "title": one.title, "place": one.place, "claims": len(one.claims)}
        for name, one in known.items()
    ]
    typer.echo(json.dumps(facts, indent=2))
