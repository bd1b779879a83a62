import json
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from aqka.cli.app import app


def run(*arguments: object):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def test_list_names_every_experiment():
    listed = json.loads(run("list", "--json").stdout)
    assert {"synthetic", "scaling"} <= {one["name"] for one in listed}
    assert all(one["claims"] > 0 for one in listed)
    assert "synthetic" in run("list").stdout


def test_a_quick_run_prints_verdicts_and_writes_the_report(tmp_path):
    common = ("synthetic", "--quick", "--seeds", 1, "--workers", 1, "--out", tmp_path / "r")
    first = run(*common)
    assert first.exit_code == 0, first.output
    assert "n_pairs ≈ 25,000" in first.stdout
    assert "reproduced" in first.stdout
    report = tmp_path / "r-quick" / "paper" / "reproduction.md"
    assert "| claim | paper | ours ± SE | verdict |" in report.read_text()
    again = run(*common, "--json", "--report", tmp_path / "elsewhere.md")
    (verdicts,) = json.loads(again.stdout)
    assert verdicts["experiment"] == "synthetic"
    assert (tmp_path / "elsewhere.md").read_text() == report.read_text()
    # Nothing was computed again.
    store = tmp_path / "r-quick" / "paper" / "synthetic" / "results.jsonl"
    assert len(store.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "experiment must be one of"),
        (["all", "synthetic"], "stand alone"),
        (["synthetic", "--protocol", "x"], "protocol must be"),
    ],
)
def test_what_cannot_work_is_refused(arguments, message):
    result = run(*arguments)
    assert message in str(result.exception)


def test_ctrl_c_says_how_to_go_on(tmp_path):
    arguments = ["reproduce", "scaling", "--workers", "2", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        [sys.executable, "-m", "aqka", *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    store = tmp_path / "out" / "paper" / "scaling" / "results.jsonl"
    while not store.exists():
        time.sleep(0.05)
        assert process.poll() is None
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "To go on:\n  aqka " + " ".join(arguments) in errors
    assert "Traceback" not in errors


def test_readings_write_a_page_and_a_picture_and_find_all_again(tmp_path):
    common = ("heatmap", "gini", "--readings", "--quick", "--seeds", 1, "--workers", 1)
    common = (*common, "--out", tmp_path / "r", "--report", tmp_path / "page" / "readings.md")
    first = run(*common)
    assert first.exit_code == 0, first.output
    assert "claims hold under some reading" in first.stdout
    page = (tmp_path / "page" / "readings.md").read_text()
    assert "A quick run" in page
    for part in ("In plain words", "fail under all", "few seeds", "Rules changed since"):
        assert part in page
    assert "| `oracle=bare` | 4 |" in page
    assert (tmp_path / "page" / "readings.png").stat().st_size > 5000
    facts = json.loads(run(*common, "--json").stdout)
    assert (tmp_path / "page" / "readings.md").read_text() == page
    largest = next(one for one in facts if "largest count" in one["says"])
    assert largest["verdict"] == "not reproduced"
    assert "literal; oracle=bare" in largest["holds_under"]
