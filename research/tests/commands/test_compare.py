"""`aqka compare` as a user meets it."""

import json

from typer.testing import CliRunner

from aqka.cli.app import app
from aqka_research.compare.comparison import METHODS


def test_the_command_writes_its_page(tmp_path):
    arguments = ["compare", "--quick", "--seeds", "2", "--json", "--workers", "1"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "c")])
    printed = json.loads(done.stdout)
    assert {row["method"] for row in printed["means"]} > set(METHODS)
    assert len(printed["aims"]) == 4
    page = (tmp_path / "c-quick" / "comparison.md").read_text()
    assert "| moons, ZZ 2 qubits |" in page
    assert "balanced accuracy" in page
    assert not list(tmp_path.rglob("runs.json"))  # only the confirmation half is counted


def test_a_quick_look_at_the_confirmation_half_is_refused(tmp_path):
    arguments = ["compare", "--quick", "--half", "confirmation", "--out", str(tmp_path / "c")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert not list(tmp_path.iterdir())
