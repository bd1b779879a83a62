"""The command ``aqka bench``, which runs the benchmarks of a clone."""

import subprocess
from pathlib import Path

import typer

import aqka_research
from aqka.errors import InputError

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: aqka bench")
def bench() -> None:
    """Measure speed and agreement as in docs/measured/benchmarks.md; needs a clone of the project.

    It runs 'make bench' there, which installs the libraries it compares with and writes the page.
    """
    clone = Path(aqka_research.__file__).parents[3]
    if not (clone / "Makefile").is_file():
        raise InputError("the benchmarks need a clone of the repository; run 'make bench' in one.")
    try:
        done = subprocess.run(["make", "bench"], cwd=clone, check=False)
    except FileNotFoundError:
        raise InputError("make is not installed; it sets up what the benchmarks need.") from None
    raise typer.Exit(done.returncode)
