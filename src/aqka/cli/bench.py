"""The command ``aqka bench``, which runs the benchmarks of a clone."""

import subprocess
from pathlib import Path

import typer

import aqka
from aqka.errors import InputError


def bench() -> None:
    """Measure speed and agreement as in docs/measured/benchmarks.md; needs a clone of the project.

    It runs 'make bench' there, which installs the libraries it compares with and writes the page.
    """
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
