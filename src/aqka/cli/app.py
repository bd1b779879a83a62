"""The command line: parses, calls, prints."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import aqka
from aqka._util.text import inert
from aqka.cli import compare as cli_compare
from aqka.cli import ledger as cli_ledger
from aqka.cli import report as cli_report
from aqka.cli import reproduce as cli_reproduce
from aqka.cli import run as cli_run
from aqka.errors import InputError, LedgerError

if TYPE_CHECKING:
    from aqka.evaluation.demo.demo import Demo
    from aqka.insight.diagnostics import Diagnostics
    from aqka.planning.device import DeviceModel
    from aqka.planning.quotes import Quote

app = typer.Typer(
    help="Quantum-kernel learning under a shot budget.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(cli_run.app)
app.add_typer(cli_report.app)
app.add_typer(cli_ledger.app, name="ledger")
app.command(epilog="Example: aqka reproduce synthetic --quick")(cli_reproduce.reproduce)
app.command(epilog="Example: aqka compare --quick")(cli_compare.compare)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"aqka {aqka.__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Quantum-kernel learning under a shot budget."""


@app.command(epilog="Example: aqka demo --seeds 10 --picture demo.png")
def demo(
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Repetitions to average.")] = 5,
    picture: Annotated[Path, typer.Option(help="Where the PNG goes.")] = Path("aqka-demo.png"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Spend a shot budget on two tasks with several allocators, side by side."""
    from rich.progress import Progress
    from threadpoolctl import threadpool_limits

    from aqka.evaluation.demo.demo import count_runs, run_demo

    if not picture.parent.is_dir():
        raise InputError(f"--picture: the directory {picture.parent} does not exist.")
    if picture.suffix != ".png" or picture.is_dir():
        raise InputError(f"--picture must be a file name ending in .png, got {picture}.")
    errors = Console(stderr=True)
    with Progress(console=errors, disable=not errors.is_terminal, transient=True) as progress:
        bar = progress.add_task("spending shots", total=count_runs(seeds))
        # Matrices of a few hundred rows are faster on one BLAS thread than on several.
        with threadpool_limits(1):
            finished = run_demo(seeds, on_run=lambda _: progress.advance(bar))
    drawn = _draw(finished, picture, errors)
    if as_json:
        typer.echo(json.dumps(_demo_as_json(finished, drawn), indent=2))
    else:
        _print_demo(finished, drawn)


def _draw(finished: "Demo", picture: Path, errors: Console) -> Path | None:
    """Draw the picture where matplotlib is installed."""
    try:
        from aqka.evaluation.demo.figure import draw_demo
    except ImportError:
        errors.print("No picture: matplotlib is missing. pip install 'aqka\\[plot]' brings it.")
        return None
    draw_demo(finished, picture)
    return picture


def _demo_as_json(finished: "Demo", picture: Path | None) -> dict[str, object]:
    return {
        "results": [asdict(result) for result in finished.results],
        "majority_accuracy": finished.majority,
        "exact_kernel_accuracy": finished.exact,
        "diagnostics": _advised(finished.diagnostics),
        "exact_kernel_diagnostics": _advised(finished.true_diagnostics),
        "picture": str(picture) if picture else None,
    }


def _advised(diagnostics: "dict[str, Diagnostics]") -> dict[str, dict[str, object]]:
    return {task: asdict(found) | {"advice": found.advice} for task, found in diagnostics.items()}


def _print_demo(finished: "Demo", picture: Path | None) -> None:
    from rich.table import Table

    from aqka.evaluation.demo.demo import ALLOCATORS, READINGS, TABLE_SHOTS_PER_PAIR

    console = Console()
    for task, majority in finished.majority.items():
        shots = next(
            r.shots
            for r in finished.results
            if (r.task, r.shots_per_pair) == (task, TABLE_SHOTS_PER_PAIR)
        )
        table = Table(title=f"{task}: {shots:,} shots, {TABLE_SHOTS_PER_PAIR:g} per pair")
        table.add_column("allocator", no_wrap=True)
        for heading in ("fixed ridge", "balanced", "tuned ridge", "balanced"):
            table.add_column(heading, justify="right")
        for allocator in ALLOCATORS:
            cells = []
            for reading in READINGS:
                key = (task, reading, allocator, TABLE_SHOTS_PER_PAIR)
                mean, error = finished.mean(*key, "accuracy")
                balanced, _ = finished.mean(*key, "balanced_accuracy")
                spread = "" if error is None else f" ± {error:.3f}"
                cells += [f"{mean:.3f}{spread}", f"{balanced:.3f}"]
            table.add_row(allocator, *cells)
        table.add_section()
        table.add_row("majority class", f"{majority:.3f}", "0.500", f"{majority:.3f}", "0.500")
        table.add_row("exact kernel", f"{finished.exact[task]:.3f}", "", "", "")
        console.print(table)
        console.print(
            f"  The exact kernel has {finished.true_diagnostics[task].advice}\n"
            f"  After these shots: {finished.diagnostics[task].advice}\n",
            highlight=False,
            soft_wrap=True,
        )
    console.print(
        "Test accuracy ± standard error. Fixed ridge: the paper's readout, diagonal measured. "
        "Tuned ridge: the same cross-validated readout for all, diagonal known.\n"
        "A small fixed ridge does not damp the shot noise that the inverse amplifies, so accuracy "
        "can fall as shots grow;\nnystrom and hybrid reconstruct with it even where the readout is "
        "tuned.",
        highlight=False,
        soft_wrap=True,
    )
    if picture:
        console.print(f"Picture: {picture}", highlight=False, soft_wrap=True)


@app.command(
    epilog="Example: aqka plan --points 150 --budget '5 min' --queue 50 --rate 96 "
    "--set rep_delay=1e-4"
)
def plan(
    points: Annotated[int | None, typer.Option(min=2, help="Number of training points N.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Shots (20000), QPU time (300 s, 5 min) or money ($100, 50 EUR)."),
    ] = None,
    study: Annotated[
        Path | None, typer.Option(help="Take all but --set from a study file instead.")
    ] = None,
    qubits: Annotated[int, typer.Option(min=1, help="Qubits of the feature map.")] = 4,
    depth: Annotated[
        int | None,
        typer.Option(min=1, help="Depth of the fidelity circuit; default: the ZZ map's."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds T after the warm-up.")] = 4,
    warmup: Annotated[float, typer.Option(help="Fraction of the budget for the warm-up.")] = 0.2,
    queue: Annotated[int, typer.Option(min=0, help="Jobs waiting before each of ours.")] = 0,
    rate: Annotated[float | None, typer.Option(help="Price of a QPU minute.")] = None,
    measure_diagonal: Annotated[
        bool, typer.Option("--measure-diagonal", help="Spend shots on the diagonal too.")
    ] = False,
    constants: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a constant of the device."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Quote a run before paying for it: shots, jobs, QPU time, queues, cost."""
    from aqka.allocators.schedule import Schedule
    from aqka.planning.quotes import quote

    device = _device(constants or [])
    if study is not None:
        if points is not None or budget is not None:
            raise InputError("--study has its own points and budget; leave the options out.")
        offer, rate = _study_quote(study, device)
        _show_quote(offer, device, rate, as_json)
        return
    if points is None or budget is None:
        raise InputError("--points and --budget are needed, or --study with a study file.")
    offer = quote(
        points,
        budget,
        n_qubits=qubits,
        depth=depth,
        schedule=Schedule(warmup=warmup, rounds=rounds),
        queue=queue,
        rate=rate,
        diagonal="measured" if measure_diagonal else "known",
        device=device,
    )
    _show_quote(offer, device, rate, as_json)


def _study_quote(path: Path, device: "DeviceModel") -> "tuple[Quote, float | None]":
    from aqka.study.carry_out import study_quote
    from aqka.study.directory import prepare

    prepared = prepare(path)
    return study_quote(prepared, device=device), prepared.study.budget.rate


def _show_quote(offer: "Quote", device: "DeviceModel", rate: float | None, as_json: bool) -> None:
    from aqka.cli.quote_table import print_quote

    if as_json:
        derived = {"submissions": offer.submissions, "jobs": offer.jobs}
        model = {"device": asdict(device), "sources": device.sources}
        typer.echo(json.dumps(asdict(offer) | derived | model, indent=2))
    else:
        print_quote(offer, device, rate, Console())


def _device(constants: list[str]) -> "DeviceModel":
    """Return the default device with ``name=value`` constants changed."""
    from aqka.planning.device import HERON

    values = {}
    for constant in constants:
        name, _, text = constant.partition("=")
        try:
            values[name.strip()] = float(text)
        except ValueError:
            raise InputError(
                f"--set takes NAME=VALUE with a number in seconds (max_executions: a count), "
                f"got {constant!r}; for example --set rep_delay=1e-4."
            ) from None
    return HERON.changed(values)


@app.command(epilog="Example: aqka bench")
def bench() -> None:
    """Measure speed and agreement as in docs/measured/benchmarks.md; needs a clone of the project.

    It runs 'make bench' there, which installs the libraries it compares with and writes the page.
    """
    import subprocess

    clone = Path(aqka.__file__).parents[2]
    if not (clone / "benchmarks" / "__main__.py").is_file():
        raise InputError(
            "the benchmarks are not part of the installed package; in a clone of the repository "
            "run 'make bench'."
        )
    try:
        done = subprocess.run(["make", "bench"], cwd=clone, check=False)
    except FileNotFoundError:
        raise InputError("make is not installed; it sets up what the benchmarks need.") from None
    raise typer.Exit(done.returncode)


def main() -> None:
    """Run the command line; input that cannot be used ends with a message and exit code 2."""
    try:
        app()
    except (InputError, LedgerError) as error:
        typer.echo(f"error: {inert(error, limit=None)}", err=True)
        sys.exit(2)
