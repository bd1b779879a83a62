"""``python -m aqka_research.figures``, which ``make figures`` runs: parse, call, print."""

import time
from pathlib import Path
from typing import Annotated

import typer

from aqka.errors import InputError
from aqka_research.commands.stopping import keeping_finished_cells

app = typer.Typer(add_completion=False)


@app.command()
def figures(
    pages: Annotated[
        list[str] | None, typer.Argument(metavar="[PAGE]…", help="Pages; default: all.")
    ] = None,
    status: Annotated[
        bool, typer.Option("--status", help="List the pages whose code has changed since.")
    ] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Small runs of everything, in build/figures, in minutes."),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Compute current pages too, from the start. If stopped, go on without it.",
        ),
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes to use; default: all cores.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Dask scheduler to run on, such as tcp://node:8786.")
    ] = None,
) -> None:
    """Compute the measured pages of the documentation; needs a clone of the project.

    Pages that are current are left alone, and a run that was stopped goes on where it was.
    """
    from aqka_research.figures.run import CLONE, WORK, chosen_pages, forget, make_page
    from aqka_research.figures.run import status as status_of

    if not (CLONE / "Makefile").is_file():
        raise InputError("the pages need a clone of the repository; run this in one.")
    chosen = chosen_pages(pages or [])
    if status:
        found = status_of(chosen)
        for one in found:
            typer.echo(f"{one.page.name:20} {one.page.minutes:6g} min  {one.state}")
        stale = [one.page for one in found if not one.current]
        minutes = sum(page.minutes for page in stale)
        typer.echo(f"{len(stale)} of {len(found)} to compute, about {minutes:.0f} minutes.")
        raise typer.Exit(bool(stale))
    directory: dict[str, Path] = {"directory": WORK / "quick" / "pages"} if quick else {}
    if force:
        forget(chosen)
    begun, computed = time.monotonic(), 0
    with keeping_finished_cells():
        for page in chosen:
            computed += make_page(
                page,
                size="quick" if quick else "full",
                workers=workers,
                scheduler=scheduler,
                say=typer.echo,
                **directory,
            )
    minutes = (time.monotonic() - begun) / 60
    typer.echo(f"{computed} of {len(chosen)} pages computed in {minutes:.0f} minutes.")


if __name__ == "__main__":
    app()
