"""The commands ``aqka report``, ``aqka validate`` and ``aqka serve``: parse, call, print."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from aqka._util.files import as_json as written
from aqka._util.text import inert
from aqka.cli.options import AsJson, make_table, say

if TYPE_CHECKING:
    from aqka.report.run_report import RunReport

SHOWN = 20  # qubits of a validation


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Directory of a run, or of several to compare.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(help="Where the page goes; default: report.html in the run's directory."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON, and where the page is.")
    ] = False,
) -> None:
    """Write one HTML file about a run that opens anywhere, offline; or compare several runs."""
    from threadpoolctl import threadpool_limits

    from aqka.report.run_page import collect, summary, write_report
    from aqka.study.directory import REPORT_NAME

    target = output or (Path("comparison.html") if len(runs) > 1 else runs[0] / REPORT_NAME)
    with threadpool_limits(1):
        reports = collect(runs)
        write_report(reports, target)
    words = _sentences(reports)
    if as_json:
        facts = {"words": words, "runs": [summary(one) for one in reports]}
        typer.echo(written({"file": str(target)} | facts), nl=False)
        return
    for sentence in words:
        typer.echo(sentence)
    typer.echo(f"\nThe report is in {inert(target, 300)}")


def _sentences(reports: "Sequence[RunReport]") -> list[str]:
    from aqka.report.answers import answer_questions, decide
    from aqka.report.comparison import comparison_sentences, letter_names

    if len(reports) > 1:
        return [*letter_names(reports), *comparison_sentences(reports)]
    answers = answer_questions(reports[0]).items()
    return [decide(reports[0]).words, *(f"{question} {words}" for question, words in answers)]


def validate(
    run: Annotated[Path, typer.Argument(help="Directory of a run that measured points.")],
    points: Annotated[int, typer.Option(min=1, help="How many points to compare, at most.")] = 20,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the damping on the chip here (PNG, SVG or PDF).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare a run's points with their exact states, qubit by qubit; nothing is spent.

    Exact are whole states up to 14 qubits, and light cones above.
    """
    from aqka.study.backends import ibm_device
    from aqka.study.store import RunStore, chip_places, validate_run

    store = RunStore(run)
    places = None if picture is None else chip_places(store)
    found = validate_run(store, points)
    if picture is not None and places is not None:
        section = store.study.on(store.results.get("backend")).backend
        found.draw(picture, ibm_device(section), places)
    if as_json:
        typer.echo(written(found.facts()), nl=False)
        return
    worst = sorted(found.p_values.argsort(kind="stable")[:SHOWN].tolist())
    rows = [
        (
            qubit,
            *(f"{ratio:.2f}" for ratio in found.ratios[qubit]),
            f"{found.p_values[qubit]:.2g}",
            f"{found.damping[qubit]:.3f} ± {found.damping_errors[qubit]:.3f}",
        )
        for qubit in worst
    ]
    some = f", the {SHOWN} qubits that differ most" if len(found.damping) > SHOWN else ""
    title = f"{found.n_points} points against their exact states{some}"
    headings = ["qubit", "χ²/n of X", "of Y", "of Z", "p", "damping"]
    Console().print(make_table(title, headings, rows))
    say(
        f"The {found.n_points} points are spread evenly over those of the run; --points sets how "
        "many. χ²/n is the squared difference in units of its shot noise, averaged over them."
    )
    say(found.sentence)
    if picture is not None:
        say(f"The chip is in {inert(picture, 300)}")


def serve(
    folder: Annotated[Path, typer.Argument(help="Folder with runs, at any depth.")] = Path("."),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: a free one.")] = 0,
) -> None:
    """Show the runs of a folder in a browser on this machine, live; nothing is written.

    Anybody with the printed address can read the runs; it is a new one each time. Ctrl-C ends it.
    """
    from aqka._util.optional import require

    require("starlette", "serve")
    require("uvicorn", "serve")
    from threadpoolctl import threadpool_limits

    from aqka.serve.server import RunServer

    server = RunServer(folder, port)
    typer.echo(f"{server.address}  (Ctrl-C ends it)")
    try:
        with threadpool_limits(1):
            server.run()
    except KeyboardInterrupt:  # which the server hands on when it has ended
        return
