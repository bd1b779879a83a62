"""`aqka tiles` as a user meets it."""

import pytest

from tests.cli.in_process import call
from tests.study.helpers import small, write_study


def test_a_device_is_described_and_drawn(tmp_path, monkeypatch, capsys):
    picture = tmp_path / "chip.svg"
    arguments = ("--device", "fake_manila", "--qubits", "2", "--picture", picture)
    code, out, _ = call(monkeypatch, capsys, "tiles", *arguments)
    assert code == 0
    assert out.startswith("2 tiles of 2 qubits on fake_manila (4 of 5 qubits")
    assert "estimated success" in picture.read_text()


def test_a_study_is_described(tmp_path, monkeypatch, capsys):
    text = small().replace('name = "statevector"', 'name = "ibm"\ndevice = "fake_manila"')
    code, out, _ = call(monkeypatch, capsys, "tiles", write_study(tmp_path, text), "--tiles", "1")
    assert code == 0
    assert out.startswith("1 tile of 2 qubits on fake_manila")
    assert [entry.name for entry in tmp_path.iterdir()] == ["study.toml"]


def test_a_study_of_points_has_tiles_of_its_own_circuit(tmp_path, monkeypatch, capsys):
    text = small().replace('name = "statevector"', 'name = "ibm"\ndevice = "fake_manila"')
    said = {}
    for design in ("pairs", "points"):
        named = text.replace('design = "pairs"', f'design = "{design}"')
        arguments = ("tiles", write_study(tmp_path, named), "--tiles", "1")
        code, out, _ = call(monkeypatch, capsys, *arguments)
        assert code == 0
        said[design] = out
    assert said["points"] != said["pairs"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give a study file, or --device"),
        (("--device", "fake_manila", "--qubits", "6"), "needs 6 qubits but fake_manila has 5"),
        (("--device", "fake_manila", "--qubits", "2", "--tiles", "9"), "tiles = 9 is more than"),
        (("--device", "fake_manila", "--qubits", "2", "--tiles", "x"), "tiles must be 'auto'"),
        (("--device", "fake_manlia"), "is not a fake device"),
        (("--device", "fake_manila", "--picture", "chip.bmq"), "picture must end in"),
    ],
)
def test_mistakes(monkeypatch, capsys, arguments, words):
    code, _, err = call(monkeypatch, capsys, "tiles", *arguments)
    assert code == 2
    assert words in err


def test_a_study_without_a_chip(tmp_path, monkeypatch, capsys):
    code, _, err = call(monkeypatch, capsys, "tiles", write_study(tmp_path))
    assert code == 2
    assert "tiles are for 'ibm'" in err
