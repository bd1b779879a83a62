"""The server: on this machine's own address alone, with a secret that is new each time."""

import asyncio
import secrets
import socket
from pathlib import Path
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from aqka.errors import InputError
from aqka.serve.app import make_app

HOST = "127.0.0.1"
TOKEN_BYTES = 24
REQUEST_SECONDS = 5.0  # that a browser has to send a whole request


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

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_request(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class RunServer:
    """Shows the runs of a folder until it is stopped; port 0 takes a free one.

    Anyone who has its ``address``, which a browser opens, can read the runs.
    """

    def __init__(self, folder: Path, port: int = 0) -> None:
        token = secrets.token_urlsafe(TOKEN_BYTES)
        app = make_app(folder, token)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((HOST, port))
        except OSError as error:
            self._socket.close()
            raise InputError(
                f"--port {port} cannot be used: {error.strerror}; name another, or none for a free "
                "one."
            ) from None
        self.address = f"http://{HOST}:{self._socket.getsockname()[1]}/{token}/"
        # The address, with its secret, is in no log.
        self._server = uvicorn.Server(
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

    @property
    def started(self) -> bool:
        """Whether it answers."""
        return self._server.started

    def run(self) -> None:
        """Answer until Ctrl-C, or until another thread calls ``stop``."""
        with self._socket:
            self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """End ``run`` soon."""
        self._server.should_exit = True
