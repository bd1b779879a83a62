"""The last words of a sweep that was stopped."""

import sys

import pytest
import typer

from aqka.cli.options import this_command
from aqka_research.commands.stopping import STOPPED_SWEEP, keeping_finished_cells


def test_a_stopped_sweep_repeats_the_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["aqka", "compare", "--out", "two words"])
    assert this_command() == "aqka compare --out 'two words'"
    with pytest.raises(typer.Exit) as stop, keeping_finished_cells():
        raise KeyboardInterrupt
    assert stop.value.exit_code == STOPPED_SWEEP
    assert capsys.readouterr().err.endswith("To go on:\n  aqka compare --out 'two words'\n")
