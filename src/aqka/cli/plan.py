"""The command ``aqka plan``: parse, call, print."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from aqka.errors import InputError

if TYPE_CHECKING:
    from aqka.planning.device import DeviceModel
    from aqka.planning.quotes import Quote
    from aqka.sessions.design import DesignChoice


def plan(
    study: Annotated[
        Path | None, typer.Argument(help="Study file: all but --set is taken from it.")
    ] = None,
    points: Annotated[int | None, typer.Option(min=2, help="Number of training points N.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Shots (20000), QPU time (300 s, 5 min) or money ($100, 50 EUR)."),
    ] = None,
    study_option: Annotated[
        Path | None, typer.Option("--study", hidden=True, help="The same, as it was before.")
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
    tiles: Annotated[
        int, typer.Option(min=1, help="Circuits side by side; 'aqka tiles' says how many fit.")
    ] = 1,
    new_points: Annotated[
        int, typer.Option(min=0, help="Points to predict, out of the same budget.")
    ] = 0,
    test_shots: Annotated[
        int | None,
        typer.Option(min=1, help="Shots of a pair of a new and a training point; default: ours."),
    ] = None,
    train_share: Annotated[
        float | None, typer.Option(help="Share of the budget for training; default: ours.")
    ] = None,
    sentinel_shots: Annotated[
        int, typer.Option(min=0, help="Shots on diagonal entries in every training round.")
    ] = 0,
    calibration_shots: Annotated[
        int, typer.Option(min=0, help="Shots of a calibration of the readout, of points.")
    ] = 0,
    measure_diagonal: Annotated[
        bool, typer.Option("--measure-diagonal", help="Spend shots on the diagonal too.")
    ] = False,
    constants: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a constant of the device."),
    ] = None,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="Let a module:function in the study file run.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Quote a run before paying for it: shots, jobs, QPU time, queues, cost.

    The budget covers all that is asked for: training, predictions, sentinels, calibration.
    """
    from aqka.allocators.schedule import Schedule
    from aqka.planning.quotes import Wish, quote
    from aqka.sessions.design import choose_design

    device = _device(constants or [])
    study = study or study_option
    if study is not None:
        if points is not None or budget is not None:
            raise InputError("a study has its own points and budget; leave the options out.")
        _plan_study(study, device, allow_code, as_json)
        return
    if points is None or budget is None:
        raise InputError("--points and --budget are needed, or a study file: aqka plan study.toml.")
    made = quote(
        points,
        budget,
        n_qubits=qubits,
        depth=depth,
        schedule=Schedule(warmup=warmup, rounds=rounds),
        queue=queue,
        rate=rate,
        diagonal="measured" if measure_diagonal else "known",
        device=device,
        tiles=tiles,
        wish=Wish(new_points, train_share, test_shots, sentinel_shots, calibration_shots),
    )
    found = choose_design(points, qubits, made.total_shots, new_points)
    show_quote(made, rate, device, as_json, found)


def _show_designs(found: "DesignChoice") -> None:
    """Print what the shots would be worth on pairs and on points."""
    errors = f"error of a kernel entry: pairs {found.pair_error:.3f}"
    if found.point_error is not None:
        errors += f", points {found.point_error:.3f}"
    words = f"design: {found.reason} Predicted {errors}."
    Console().print(words, highlight=False, markup=False, soft_wrap=True)


def _plan_study(path: Path, device: "DeviceModel", allow_code: bool, as_json: bool) -> None:
    """Quote a study file at the rate that it names, and say what each design promises."""
    from aqka.sessions.design import choose_design
    from aqka.study.carry_out import settle_design, study_quote
    from aqka.study.directory import n_qubits_of, prepare

    prepared = settle_design(prepare(path, allow_code=allow_code))
    made = study_quote(prepared, device=device)
    sizes = len(prepared.points.train), n_qubits_of(prepared)
    found = choose_design(*sizes, made.total_shots, len(prepared.points.test))
    show_quote(made, prepared.study.budget.rate, device, as_json, found)


def show_quote(
    quote: "Quote",
    rate: float | None,
    device: "DeviceModel",
    as_json: bool,
    found: "DesignChoice | None" = None,
) -> None:
    """Print a quote and what each design promises, as tables or as JSON."""
    from aqka.cli.quote_table import print_quote

    if as_json:
        names = ("submissions", "jobs", "executions")
        derived = {name: getattr(quote, name) for name in names} | {"total": quote.totals()}
        model = {"device": asdict(device), "sources": device.sources}
        designs = {} if found is None else {"designs": asdict(found)}
        typer.echo(json.dumps(asdict(quote) | derived | designs | model, indent=2))
        return
    print_quote(quote, device, rate, Console())
    if found is not None:
        _show_designs(found)


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
