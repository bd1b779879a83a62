"""The command ``aqka serve``: parse, call, print."""

from pathlib import Path
from typing import Annotated

import typer

from aqka._util.optional import require


def serve(
    folder: Annotated[Path, typer.Argument(help="Folder with runs, at any depth.")] = Path("."),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: a free one.")] = 0,
) -> None:
    """Show the runs of a folder in a browser on this machine, live; nothing is written.

    Who has the printed address can read the runs; a new one is made each time. Ctrl-C ends it.
    """
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
