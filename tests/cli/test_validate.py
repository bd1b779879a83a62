"""`aqka validate` as a user meets it."""

import json

import pytest

from aqka.study.carry_out import carry_out
from aqka.study.directory import prepare
from tests.cli.in_process import call
from tests.study.helpers import write_study

POINTS = {"method": 'design = "points"', "budget": "7200 shots"}


def run_of(tmp_path, **settings):
    path = write_study(tmp_path, **settings, rounds=1, test_shots=0)
    return carry_out(prepare(path), tmp_path / "run").directory


def test_a_noiseless_run_agrees_with_its_states(tmp_path, monkeypatch, capsys):
    run = run_of(tmp_path, **POINTS)
    code, out, _ = call(monkeypatch, capsys, "validate", run)
    assert code == 0
    assert "12 points against their exact states" in out
    assert "0 of 2 qubits differ" in out
    assert "by chance, 1 % of noiseless runs" in out
    assert "χ²/n is the squared difference in units of its shot noise" in out
    code, _, err = call(monkeypatch, capsys, "validate", run, "--picture", "chip.png")
    assert code == 2
    assert "a picture needs a run of one tile on a device with a chip" in err


def test_a_noisy_device_shows_its_damping_on_the_chip(tmp_path, monkeypatch, capsys):
    run = run_of(tmp_path, backend="ibm", extra='device = "fake_manila"', **POINTS)
    picture = tmp_path / "chip.svg"
    given = ("validate", run, "--points", "8", "--json", "--picture", picture)
    code, out, _ = call(monkeypatch, capsys, *given)
    assert code == 0
    found = json.loads(out)
    assert found["points"] == 8
    for qubit in found["qubits"]:
        assert qubit["damping"] + 4 * qubit["damping_error"] < 1
    assert found["chi_square_per_degree"] > 1.5
    assert found["differing"] == [0, 1]
    assert "damping" in picture.read_text()


@pytest.mark.parametrize("begun", [True, False])
def test_what_cannot_be_compared_is_refused(tmp_path, monkeypatch, capsys, begun):
    place = run_of(tmp_path) if begun else tmp_path
    code, _, err = call(monkeypatch, capsys, "validate", place)
    assert code == 2
    assert ("measured pairs, and only points" if begun else "holds no run") in err
