"""`aqka compare` as a user meets it."""

import json

from typer.testing import CliRunner

from aqka.cli.app import app
from aqka.evaluation.compare.comparison import (
    FIXED,
    METHODS,
    TUNED,
)


def test_the_command_writes_its_page(tmp_path):
    arguments = ["compare", "--quick", "--seeds", "2", "--json", "--workers", "1"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "c")])
    printed = json.loads(done.stdout)
    assert {row["method"] for row in printed["means"]} > set(METHODS)
    assert set(printed["shot_ratios"]) == {FIXED, TUNED}
    page = (tmp_path / "c-quick" / "comparison.md").read_text()
    assert "## moons, ZZ 2 qubits" in page
    assert "balanced accuracy" in page
