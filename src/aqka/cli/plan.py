"""The commands ``aqka plan`` and ``aqka tiles``: parse, call, print."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from aqka._util.text import percent
from aqka.cli.options import AllowCode, AsJson, StudyFile, say
from aqka.errors import InputError

if TYPE_CHECKING:
    from aqka.designs.resolve import Choice
    from aqka.planning.device import DeviceModel
    from aqka.planning.quotes import Quote
    from aqka.study.schema import Study


def plan(
    study: StudyFile,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Instead of the study's: shots (20000), QPU time (5 min) or money ($100)."
        ),
    ] = None,
    queue: Annotated[int, typer.Option(min=0, help="Jobs waiting before each of ours.")] = 0,
    rate: Annotated[
        float | None, typer.Option(help="Price of a QPU minute, instead of the study's.")
    ] = None,
    constants: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a constant of the device."),
    ] = None,
    allow_code: AllowCode = False,
    as_json: AsJson = False,
) -> None:
    """Quote a study before paying for it: shots, jobs, QPU time, queues, cost.

    Without a study file, aqka.quote(...) in Python does the same for any number of points.
    """
    from aqka.study.backends import ibm_device
    from aqka.study.directory import prepare
    from aqka.study.quoting import better_design_of, promised_shares, settle_design, study_quote

    device = _device(constants or [])
    prepared = prepare(study, allow_code=allow_code)
    backend = prepared.study.backend
    if backend.name == "ibm" and (backend.device or "").startswith("fake_"):
        ibm_device(backend)  # refuses one that does not exist; what a service has it must tell
    prepared = replace(prepared, study=_changed(prepared.study, budget, rate))
    found = better_design_of(prepared)
    settled = settle_design(prepared, {"design": found.design.name, "design_reason": found.reason})
    made = study_quote(settled, device=device, queue=queue)
    promise = promised_shares(prepared)
    show_quote(made, prepared.study.budget.rate, device, as_json, found, promise)


def _changed(study: "Study", budget: str | None, rate: float | None) -> "Study":
    """Return a study with another budget or price."""
    from aqka.planning.budget import parse_budget

    changes: dict[str, object] = {} if rate is None else {"rate": rate}
    if budget is not None:
        parse_budget(budget)
        changes["train" if study.budget.total is None else "total"] = budget
    return study.changed("budget", **changes)


def show_quote(
    quote: "Quote",
    rate: float | None,
    device: "DeviceModel",
    as_json: bool,
    found: "Choice | None" = None,
    promise: "tuple[float, float] | None" = None,
) -> None:
    """Print a quote, the better design, and between which shares of new points will cost shots."""
    from aqka.cli._tables import print_quote

    if as_json:
        names = ("submissions", "jobs", "executions")
        facts = asdict(quote) | {name: getattr(quote, name) for name in names}
        facts["total"] = asdict(quote.total) | {
            "wall_seconds": quote.total_wall_seconds,
            "cost": quote.total_cost,
        }
        if found is not None:
            facts["better"] = {"design": found.design.name, "reason": found.reason}
        if promise is not None:
            facts["share_of_new_points"] = list(promise)
        facts |= {"device": asdict(device), "sources": device.sources}
        typer.echo(json.dumps(facts, indent=2))
        return
    print_quote(quote, device, rate, Console())
    if promise is not None:
        low, high = promise
        say(
            f"Prior: between {percent(low)} and {percent(high)} of new points will cost shots, by "
            "what the labels of the training points say of each other. After training, aqka "
            "predict says how many before the first shot."
        )
    if found is not None and found.design.name == quote.design:
        say(f"Design: {found.reason}")
    elif found is not None:
        say(f'Advice: set method.design = "{found.design.name}". {found.reason}')


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
    return HERON.with_constants(values)


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
    import numpy as np

    from aqka.backends import RuntimeBackend
    from aqka.backends.tiles import find_tiles
    from aqka.study.backends import find_chip, ibm_device
    from aqka.study.directory import prepare
    from aqka.study.quoting import settle_design
    from aqka.study.schema import BackendSection

    if (study is None) == (device is None):
        raise InputError("give a study file, or --device with --qubits.")
    if study is not None:
        chip, circuit = find_chip(settle_design(prepare(study)))
    else:
        chip = ibm_device(BackendSection(name="ibm", device=device))
        circuit = RuntimeBackend(chip, np.zeros((1, qubits))).circuit
    found = find_tiles(circuit, chip, int(count) if count.isdecimal() else count)
    typer.echo(found.describe())
    if picture is not None:
        found.draw(picture)
        typer.echo(f"wrote {picture}")
