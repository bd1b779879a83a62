"""What is answered at which address. Every address begins with a secret; all else is not there."""

import secrets
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from aqka._util.text import inert
from aqka.serve.folder_watch import CANNOT_BE_READ, FolderWatch
from aqka.serve.pages import render

# A page elsewhere may send a browser to our port under a name of its own; it is not answered.
HOSTS = ["127.0.0.1", "localhost"]
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
    """Return the application that shows the runs of a folder to who knows the token."""
    watch = FolderWatch(folder)

    def overview(request: Request) -> Response:
        page, policy = render("overview", folder=inert(watch.folder, 300))
        return _html(page, policy)

    def runs(request: Request) -> Response:
        rows = [look.row() | {"key": key} for key, look in watch.runs().items()]
        return JSONResponse({"runs": rows}, headers=HEADERS)

    def run(request: Request) -> Response:
        found = watch.run(request.path_params["key"])
        if found is None:
            return _absent()
        page, policy = render("run", name=found[1].name)
        return _html(page, policy)

    def status(request: Request) -> Response:
        found = watch.run(request.path_params["key"])
        if found is None:
            return _absent()
        version, look = found
        facts = look.row() | {
            "version": version,
            "jobs": [asdict(job) for job in look.jobs],
            "queue_seconds": look.queue_seconds,
        }
        return JSONResponse(facts, headers=HEADERS)

    def report(request: Request) -> Response:
        try:
            page = watch.report(request.path_params["key"])
        except CANNOT_BE_READ as error:
            words = f"No report: {inert(error, 300)}"
            return PlainTextResponse(words, headers=_with(NOTHING_ELSE))
        # The page has a policy of its own, which no header can widen.
        return _absent() if page is None else _html(page, "frame-ancestors 'self'")

    routes = {
        "/": overview,
        "/runs.json": runs,
        "/run/{key:str}/": run,
        "/run/{key:str}/status.json": status,
        "/run/{key:str}/report": report,
    }
    app = Starlette(
        routes=[
            Route(f"/{{token:str}}{path}", _guarded(token, answer), methods=["GET"])
            for path, answer in routes.items()
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS)],
        exception_handlers={404: lambda request, error: _absent()},
    )
    app.router.redirect_slashes = False  # who guesses addresses is led nowhere
    return app


def _guarded(token: str, answer: Answer) -> Answer:
    """Answer only who knows the token; to all others nothing is there."""

    def checked(request: Request) -> Response:
        given = request.path_params["token"].encode()
        return answer(request) if secrets.compare_digest(given, token.encode()) else _absent()

    return checked


def _with(policy: str) -> dict[str, str]:
    return HEADERS | {"Content-Security-Policy": policy}


def _html(page: str, policy: str) -> Response:
    return HTMLResponse(page, headers=_with(policy))


def _absent() -> Response:
    return PlainTextResponse("not found", status_code=404, headers=_with(NOTHING_ELSE))
