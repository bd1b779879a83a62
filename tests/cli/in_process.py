"""The command line without a process of its own."""

import sys

import pytest

from aqka.cli import app as cli


def call(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["aqka", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    return stop.value.code or 0, shown.out, shown.err
