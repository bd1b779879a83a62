"""The help of commands, and the commands of aqka-research where it is not installed."""

import subprocess
import sys

import pytest

from aqka.cli import app as commands
from tests.cli.in_process import call


def test_commands_have_help_with_an_example(monkeypatch, capsys):
    for command in ("report", "predict", *commands.RESEARCH):
        code, out, _ = call(monkeypatch, capsys, command, "--help")
        assert code == 0
        assert f"Example: aqka {command}" in " ".join(out.split())


def test_the_list_says_the_same_as_the_commands():
    for name, says in commands.RESEARCH.items():
        assert commands.research_command(name).help.startswith(says.rstrip("."))


@pytest.mark.parametrize("arguments", [["reproduce"], ["compare", "--quick"]])
def test_without_aqka_research_its_commands_say_how_to_get_it(arguments, monkeypatch, capsys):
    monkeypatch.setattr(commands, "entry_points", lambda **_: ())
    code, _, said = call(monkeypatch, capsys, *arguments)
    assert code == 2
    assert said.startswith(f"error: 'aqka {arguments[0]}' needs aqka-research")
    assert said.count("\n") == 1
    assert "pip install ./research" in said


def test_the_list_of_commands_does_not_import_research():
    code = (
        "import sys; from typer.testing import CliRunner; from aqka.cli.app import app; "
        "shown = CliRunner().invoke(app, ['--help']).stdout; "
        "sys.exit('reproduce' not in shown or 'aqka_research' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
