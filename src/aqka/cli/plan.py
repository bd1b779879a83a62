"""The commands ``aqka plan`` and ``aqka tiles``: parse, call, print."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from aqka._util.text import percent
from aqka.cli.options import AllowCode, AsJson, StudyFile, make_table, say
from aqka.errors import InputError

if TYPE_CHECKING:
    from aqka.designs.resolve import Choice
    from aqka.planning.device import DeviceModel
    from aqka.planning.quotes import Quote


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
    from aqka.planning.budget import parse_budget
    from aqka.study.backends import ibm_device
    from aqka.study.directory import prepare
    from aqka.study.quoting import better_design_of, promised_shares, settle_design, study_quote

    device = _device(constants or [])
    prepared = prepare(study, allow_code=allow_code)
    backend = prepared.study.backend
    if backend.name == "ibm" and (backend.device or "").startswith("fake_"):
        ibm_device(backend)  # refuses one that does not exist; only the service knows its own
    changes: dict[str, object] = {} if rate is None else {"rate": rate}
    if budget is not None:
        parse_budget(budget)
        changes["train" if prepared.study.budget.total is None else "total"] = budget
    prepared = replace(prepared, study=prepared.study.changed("budget", **changes))
    found = better_design_of(prepared)
    made = study_quote(settle_design(prepared, found), device=device, queue=queue)
    promise = promised_shares(prepared)
    show_quote(made, prepared.study.budget.rate, device, as_json, found, promise)


def show_quote(
    quote: "Quote",
    rate: float | None,
    device: "DeviceModel",
    as_json: bool,
    found: "Choice | None" = None,
    promise: "tuple[float, float] | None" = None,
) -> None:
    """Print a quote, the better design, and between which shares of new points will cost shots."""
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
    _print_quote(quote, device, rate)
    if promise is not None:
        low, high = promise
        say(
            f"Prior: between {percent(low)} and {percent(high)} of new points will cost shots, "
            "judging by how well the training labels predict each other. After training, aqka "
            "predict gives the number before it spends a shot."
        )
    if found is not None:
        name = found.design.name
        said = "Design:" if name == quote.design else f'Advice: set method.design = "{name}".'
        say(f"{said} {found.reason}")


def _print_quote(quote: "Quote", device: "DeviceModel", rate: float | None) -> None:
    from aqka.planning.budget import duration

    title = f"{quote.n_points} points, {quote.shots:,} shots"
    rows = _quote_rows(quote, device, rate)
    Console().print(make_table(title, ["figure", "value", "how"], rows, left=["how"]))
    if quote.parts:  # training, predictions and all the rest, and what they come to
        per_second = None if quote.cost is None else quote.cost / quote.qpu_seconds
        training = ("training", quote.shots, quote.jobs, quote.qpu_seconds)
        parts = [(p.name, p.shots, p.jobs, p.qpu_seconds) for p in (*quote.parts, quote.total)]
        bill = []
        for name, shots, jobs, seconds in (training, *parts):
            cost = "–" if per_second is None else f"{per_second * seconds:,.2f} {quote.currency}"
            bill.append((name, f"{shots:,}", f"{jobs:,}", duration(seconds), cost.strip()))
        headings = ["part", "shots", "jobs", "QPU time", "cost"]
        Console().print(make_table("the whole bill, at most", headings, bill))
    for title, sentences in (("Warning", quote.warnings), ("Advice", quote.advice)):
        for sentence in sentences:
            say(f"{title}: {sentence}")
    if quote.split:
        say(f"Split: {quote.split}")
    of = "everything above" if quote.parts else "the training kernel alone; predictions are extra"
    say(
        f"An estimate of {of}. Times are as if on IBM hardware, also for a simulator. Constants "
        "and their sources: --json."
    )


def _quote_rows(
    quote: "Quote", device: "DeviceModel", rate: float | None
) -> list[tuple[str, str, str]]:
    from aqka.planning.budget import duration

    unit, n_units, how = quote.units
    each = "one shot each" if quote.tiles == 1 else f"{quote.tiles} shots each, one on every tile"
    execution = (
        f"rep_delay {duration(device.rep_delay)} + {duration(device.execution_overhead)} + "
        f"depth {quote.depth} × {duration(device.layer_time)}"
    )
    job, queued = duration(device.job_overhead), duration(device.queued_job_seconds)
    transpiled = duration(device.transpile_seconds)
    rows = [
        (f"{unit}s", f"{n_units:,}", how),
        ("shots", f"{quote.shots:,}", "of all rounds"),
        ("executions", f"{quote.executions:,}", each),
        (f"shots per {unit}", f"{quote.shots / n_units:.3g}", "mean"),
        ("submissions", f"{quote.submissions}", "warm-up and rounds, without empty ones"),
        ("shots per round", _span(quote.shots_per_round), "smallest to largest"),
        ("jobs", f"{quote.jobs}", f"{_span(quote.jobs_per_round)} per round"),
        ("one execution", duration(quote.execution_seconds), execution),
        ("QPU time", duration(quote.qpu_seconds), f"jobs × {job} + executions × one execution"),
        ("queue time", duration(quote.queue_seconds), f"submissions × waiting jobs × {queued}"),
        ("classical time", duration(quote.classical_seconds), "between two submissions, ∝ N³"),
        (
            "wall time",
            duration(quote.wall_seconds),
            f"transpile once ({transpiled}) + queue + QPU + classical",
        ),
        ("session time", duration(quote.session_seconds), "QPU + classical: billed in a session"),
    ]
    if quote.cost is not None:
        price = f"{quote.cost:,.2f} {quote.currency}".strip()
        rows.append(("cost", price, f"QPU time at {rate:g} per minute, outside a session"))
    if quote.tiles > 1:
        more = quote.shots / quote.executions
        how = f"QPU time of {quote.shots:,} executions, {more:.1f} × as many"
        if quote.untiled_cost is not None:
            how += f"; {quote.untiled_cost:,.2f} {quote.currency}".rstrip()
        rows.append(("without tiles", duration(quote.untiled_seconds), how))
    return rows


def _span(counts: tuple[int, ...]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _device(constants: list[str]) -> "DeviceModel":
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
    """Show how many copies of the circuit fit side by side on a chip, where, and how good."""
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
