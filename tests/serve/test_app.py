"""What the server answers, to whom, and what it lets a browser do."""

import json
import socket
import urllib.error
import urllib.request
from http.client import HTTPConnection

import pytest

from aqka.cli.report import serve
from aqka.errors import InputError
from aqka.serve import server as server_module
from aqka.serve.server import ENVIRONMENT, HOST, TEMPLATES, RunServer
from tests.serve.conftest import serving
from tests.study.helpers import PATIENCE


@pytest.fixture(scope="module")
def address(folder):
    with serving(folder) as found:
        yield found


def ask(address, method="GET", **headers):
    request = urllib.request.Request(address, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def keys(address):
    return {run["name"]: run["key"] for run in json.loads(ask(f"{address}runs.json")[2])["runs"]}


def test_who_does_not_know_the_address_is_told_nothing(address):
    base, token = address.rstrip("/").rsplit("/", 1)
    assert base.startswith(f"http://{HOST}:")
    assert len(token) >= 32
    run = next(iter(keys(address).values()))
    for path in ("", "x/", f"{token}x/", f"{token[:-1]}/", f"x/run/{run}/report", "runs.json"):
        code, headers, body = ask(f"{base}/{path}")
        assert (code, body) == (404, "not found")
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert ask(f"{base}/{token}/run/../../etc/passwd")[0] == 404
    assert ask(f"{base}/{token}/run/..%2f..%2fetc%2fpasswd/report")[0] == 404


def test_addresses_differ_from_start_to_start(folder):
    servers = [RunServer(folder) for _ in range(2)]
    tokens = {server.address.rstrip("/").rsplit("/", 1)[1] for server in servers}
    assert len(tokens) == 2
    for server in servers:
        server._socket.close()


def test_another_name_for_this_machine_is_not_answered(address):
    code, _, body = ask(address, Host="runs.example")
    assert code == 400
    assert "Runs" not in body


def test_nothing_can_be_written(address):
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert ask(address, method)[0] == 405


def test_pages_may_ask_nobody_else(address):
    found = keys(address)
    places = ["", "runs.json", *(f"run/{found['done/run']}/{x}" for x in ("", "status.json"))]
    for place in places:
        code, headers, _ = ask(address + place)
        assert code == 200
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "uvicorn" not in headers.get("server", "")
    policy = ask(address)[1]["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    report = ask(f"{address}run/{found['done/run']}/report")
    assert report[1]["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert 'http-equiv="Content-Security-Policy" content="default-src' in report[2]


def test_a_run_that_cannot_be_read_says_so_in_plain_text(address):
    code, headers, body = ask(f"{address}run/{keys(address)['damaged']}/report")
    assert code == 200
    assert headers["content-type"].startswith("text/plain")
    assert body.startswith("No report: ")


def is_closed(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x", b"GET /half"])
def test_half_a_request_is_not_waited_for(folder, monkeypatch, sent):
    monkeypatch.setattr(server_module, "REQUEST_SECONDS", 0.1)
    with serving(folder) as address:
        port = int(address.split(":")[2].split("/")[0])
        with socket.create_connection((HOST, port), timeout=PATIENCE) as half_open:
            half_open.sendall(sent)
            assert is_closed(half_open)


def test_nor_after_a_whole_one(address, monkeypatch):
    connection = HTTPConnection(HOST, int(address.split(":")[2].split("/")[0]), timeout=PATIENCE)
    connection.request("GET", "/nothing")
    assert connection.getresponse().read() == b"not found"
    monkeypatch.setattr(server_module, "REQUEST_SECONDS", 0.1)
    connection.sock.sendall(b"GET /half")
    assert is_closed(connection.sock)
    connection.close()


def test_templates_escape_and_miss_nothing_silently():
    assert ENVIRONMENT.autoescape is True
    for file in TEMPLATES.glob("*.html"):
        assert "safe" not in file.read_text()
    for file in TEMPLATES.glob("*.js"):
        assert "innerHTML" not in file.read_text()


def test_a_port_that_is_taken_is_named(address, folder):
    port = int(address.split(":")[2].split("/")[0])
    with pytest.raises(InputError, match=f"--port {port} cannot be used"):
        RunServer(folder, port)


def test_the_command_prints_the_address_and_ends_by_ctrl_c(folder, monkeypatch, capsys):
    def interrupted(server):
        assert server.address in capsys.readouterr().out
        server._socket.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(RunServer, "run", interrupted)
    serve(folder, 0)
