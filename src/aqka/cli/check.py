"""The command ``aqka check``: parse, call, print."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from aqka._util.files import as_json as as_json_bytes
from aqka._util.progress_bar import progress_bar
from aqka._util.text import inert
from aqka.cli.options import AsJson

if TYPE_CHECKING:
    from aqka.insight.preflight import Preflight
    from aqka.study.check import StudyCheck


def check(
    study: Annotated[Path, typer.Argument(help="Study file, in TOML; see aqka init.")],
    write: Annotated[
        bool, typer.Option("--write", help="Put the best settings that were found into the file.")
    ] = False,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="Let a module:function in the study file run.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say whether a study's kernel is worth any shots, by simulating it; nothing is spent."""
    from aqka.cli.check_table import print_check
    from aqka.study.check import StudyCheck
    from aqka.study.edit_study import write_settings
    from aqka.study.schema import load_study

    read, text = load_study(study)
    asked = StudyCheck.of(read, study.parent, allow_code=allow_code)
    found = run_with_bar(asked)
    changes = asked.changes(found.scan.candidates[found.scan.best])
    if write and changes:
        write_settings(study, text, changes)
    if as_json:
        written = {"written": changes if write else {}}
        typer.echo(as_json_bytes(found.facts() | written), nl=False)
        return
    print_check(found, Console())
    if write:
        name = inert(study, 300)
        typer.echo(f"{name} has the best settings now." if changes else f"{name} stays as it is.")


def run_with_bar(check: "StudyCheck") -> "Preflight":
    """Run a check on one thread, with a bar where somebody watches."""
    from threadpoolctl import threadpool_limits

    from aqka.insight.preflight import count_steps

    with (
        threadpool_limits(1),
        progress_bar("simulating", count_steps(len(check.candidates))) as bar,
    ):

        def step(words: str) -> None:
            bar.describe(words)
            bar.advance()

        return check.run(step)
