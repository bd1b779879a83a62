"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Run = Annotated[Path, typer.Argument(help="Directory of a run.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
