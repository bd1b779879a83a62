"""The command ``aqka demo``: parse, call, print."""

import json
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from aqka._util.progress_bar import progress_bar
from aqka.cli.options import AsJson
from aqka.errors import InputError

if TYPE_CHECKING:
    from aqka.demo.paper import Demo
    from aqka.insight.diagnostics import Diagnostics


def demo(
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Repetitions to average.")] = 5,
    picture: Annotated[Path, typer.Option(help="Where the PNG goes.")] = Path("aqka-demo.png"),
    paper: Annotated[
        bool, typer.Option("--paper", help="The paper's allocators side by side on two tasks.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run Iris end to end, the usual way beside ours: accuracy, shots, QPU time and money."""
    _check_picture(picture)
    if paper:
        _paper_demo(seeds, picture, as_json)
    else:
        _iris_demo(seeds, picture, as_json)


def _iris_demo(seeds: int, picture: Path, as_json: bool) -> None:
    from threadpoolctl import threadpool_limits

    from aqka.cli.demo_tables import print_iris
    from aqka.demo.iris import STEPS, run_iris

    with threadpool_limits(1), progress_bar("spending shots", seeds * len(STEPS)) as bar:
        finished = run_iris(seeds, on_run=bar.advance)
    saved = _draw(finished, picture, "draw_iris")
    if as_json:
        facts = asdict(finished) | {"picture": str(saved) if saved else None}
        typer.echo(json.dumps(facts, indent=2))
    else:
        print_iris(finished, saved, Console())


def _paper_demo(seeds: int, picture: Path, as_json: bool) -> None:
    from threadpoolctl import threadpool_limits

    from aqka.cli.demo_tables import print_demo
    from aqka.demo.paper import count_runs, run_demo

    # Matrices of a few hundred rows are faster on one BLAS thread than on several.
    with threadpool_limits(1), progress_bar("spending shots", count_runs(seeds)) as bar:
        finished = run_demo(seeds, on_run=bar.advance)
    saved = _draw(finished, picture, "draw_demo")
    if as_json:
        typer.echo(json.dumps(_demo_facts(finished, saved), indent=2))
    else:
        print_demo(finished, saved, Console())


def _check_picture(picture: Path) -> None:
    if not picture.parent.is_dir():
        raise InputError(f"--picture: the directory {picture.parent} does not exist.")
    if picture.suffix != ".png" or picture.is_dir():
        raise InputError(f"--picture must be a file name ending in .png, got {picture}.")


def _draw(finished: object, picture: Path, function: str) -> Path | None:
    """Draw the picture where matplotlib is installed, and return where it is."""
    try:
        draw = getattr(import_module("aqka.demo.figures"), function)
    except ImportError:
        errors = Console(stderr=True)
        errors.print("No picture: matplotlib is missing. pip install 'aqka\\[plot]' brings it.")
        return None
    draw(finished, picture)
    return picture


def _demo_facts(finished: "Demo", picture: Path | None) -> dict[str, object]:
    return {
        "results": [asdict(result) for result in finished.results],
        "majority_accuracy": finished.majority,
        "exact_kernel_accuracy": finished.exact,
        "diagnostics": _with_advice(finished.diagnostics),
        "exact_kernel_diagnostics": _with_advice(finished.true_diagnostics),
        "picture": str(picture) if picture else None,
    }


def _with_advice(diagnostics: "dict[str, Diagnostics]") -> dict[str, dict[str, object]]:
    return {task: asdict(found) | {"advice": found.advice} for task, found in diagnostics.items()}
