"""The server: on this machine's own address alone, with a secret that is new each time.

Every address begins with the secret; all else is not there.
"""

import asyncio
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h11
import uvicorn
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from aqka._util.files import explained
from aqka._util.text import inert
from aqka.report.run_page import TEMPLATES as REPORT_TEMPLATES
from aqka.report.run_page import content_hash, new_environment, own_colours
from aqka.serve.runs import CANNOT_BE_READ, FolderWatch

HOST = "127.0.0.1"
REQUEST_SECONDS = 5.0  # that a browser has to send a whole request
TEMPLATES = Path(__file__).parent / "templates"
ENVIRONMENT = new_environment(TEMPLATES)
# A page elsewhere may send a browser to our port under a name of its own; it is not answered.
HOSTS = [HOST, "localhost"]
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
NOTHING_ELSE = "default-src 'none'; frame-ancestors 'self'"

Answer = Callable[[Request], Response]


def make_app(folder: Path, token: str) -> Starlette:
    """Return the application that shows the runs of a folder to those who know the token."""
    watch = FolderWatch(folder)

    def overview(request: Request) -> Response:
        return _page("overview", folder=inert(watch.folder, 300))

    def runs(request: Request) -> Response:
        rows = [look | {"key": key, "jobs": []} for key, look in watch.runs().items()]
        return JSONResponse({"runs": rows}, headers=HEADERS)

    def run(request: Request) -> Response:
        found = watch.run(request.path_params["key"])
        return _absent() if found is None else _page("run", name=found["name"])

    def status(request: Request) -> Response:
        found = watch.run(request.path_params["key"])
        return _absent() if found is None else JSONResponse(found, headers=HEADERS)

    def report(request: Request) -> Response:
        try:
            page = watch.report(request.path_params["key"])
        except CANNOT_BE_READ as error:
            words = f"No report: {inert(error, 300)}"
            return PlainTextResponse(words, headers=_with(NOTHING_ELSE))
        if page is None:
            return _absent()
        # The page has a policy of its own, which no header can widen.
        return HTMLResponse(page, headers=_with("frame-ancestors 'self'"))

    def guarded(answer: Answer) -> Answer:
        def checked(request: Request) -> Response:
            given = request.path_params["token"].encode()
            return answer(request) if secrets.compare_digest(given, token.encode()) else _absent()

        return checked

    routes = {
        "/": overview,
        "/runs.json": runs,
        "/run/{key:str}/": run,
        "/run/{key:str}/status.json": status,
        "/run/{key:str}/report": report,
    }
    app = Starlette(
        routes=[
            Route(f"/{{token:str}}{path}", guarded(answer), methods=["GET"])
            for path, answer in routes.items()
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS)],
        exception_handlers={404: lambda request, error: _absent()},
    )
    app.router.redirect_slashes = False  # a guessed address leads nowhere
    return app


def _page(page_name: str, /, **values: Any) -> Response:
    """Return a page around the reports, whose policy allows its own script, style and server."""
    files = (REPORT_TEMPLATES / "page.css", TEMPLATES / "serve.css")
    style = own_colours() + "".join(path.read_text(encoding="utf-8") for path in files)
    scripts = (TEMPLATES / "live.js", TEMPLATES / f"{page_name}.js")
    script = "".join(path.read_text(encoding="utf-8") for path in scripts)
    page = ENVIRONMENT.get_template(f"{page_name}.html").render(
        values | {"style": Markup(style), "script": Markup(script)}
    )
    policy = (
        f"default-src 'none'; style-src 'sha256-{content_hash(style)}'; "
        f"script-src 'sha256-{content_hash(script)}'; connect-src 'self'; frame-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return HTMLResponse(page, headers=_with(policy))


def _with(policy: str) -> dict[str, str]:
    return HEADERS | {"Content-Security-Policy": policy}


def _absent() -> Response:
    return PlainTextResponse("not found", status_code=404, headers=_with(NOTHING_ELSE))


class ImpatientProtocol(H11Protocol):
    """Closes connections that are opened, or written to, without ever sending a whole request."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start waiting for the first request."""
        super().connection_made(transport)
        self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        """Stop waiting when a request is whole, and wait for the next one that begins."""
        super().data_received(data)
        self._wait_for_request()

    def _wait_for_request(self) -> None:
        is_whole = self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
        if not is_whole and self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.close)
        elif is_whole and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class RunServer:
    """Shows the runs of a folder until it is stopped; port 0 takes a free one.

    Anyone who has its ``address``, which a browser opens, can read the runs.
    """

    def __init__(self, folder: Path, port: int = 0) -> None:
        token = secrets.token_urlsafe(24)
        app = make_app(folder, token)
        with explained(f"--port {port} cannot be used", "; name another, or none for a free one"):
            self._socket = socket.create_server((HOST, port))
        self.address = f"http://{HOST}:{self._socket.getsockname()[1]}/{token}/"
        # The address, with its secret, is in no log.
        self.server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=ImpatientProtocol,
                log_level="error",
                access_log=False,
                server_header=False,
                lifespan="off",
                timeout_graceful_shutdown=1,
            )
        )

    def run(self) -> None:
        """Answer until Ctrl-C."""
        with self._socket:
            self.server.run(sockets=[self._socket])
