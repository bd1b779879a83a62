"""The command ``aqka tiles``: parse, call, print."""

from pathlib import Path
from typing import Annotated

import typer

from aqka.errors import InputError


def tiles(
    study: Annotated[
        Path | None, typer.Argument(help="A study file whose backend is IBM's.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Instead of a study: ibm_fez, or fake_fez without account.")
    ] = None,
    qubits: Annotated[int, typer.Option(min=2, help="Qubits of the ZZ map, without a study.")] = 4,
    count: Annotated[
        str, typer.Option("--tiles", help="How many: a number, or auto for all good ones.")
    ] = "auto",
    picture: Annotated[
        Path | None, typer.Option(help="Draw the chip with its tiles here (PNG, SVG or PDF).")
    ] = None,
) -> None:
    """Say how many copies of the circuit fit on a chip side by side, where, and how good."""
    from aqka.backends.tiles import find_tiles
    from aqka.study.chip import chip_of

    if (study is None) == (device is None):
        raise InputError("give a study file, or --device with --qubits.")
    chip, circuit = chip_of(study, device, qubits)
    found = find_tiles(circuit, chip, int(count) if count.isdecimal() else count)
    typer.echo(found.describe())
    if picture is not None:
        found.draw(picture)
        typer.echo(f"wrote {picture}")
