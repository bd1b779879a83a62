"""A study of thirty qubits: plan, run, resume, report and new points without a vector of 2^30."""

import json

import numpy as np
import pytest

from aqka.errors import InputError
from aqka.report.run_page import run_page
from aqka.report.run_report import run_report
from aqka.study.carry_out import carry_out, resume
from aqka.study.directory import prepare
from aqka.study.new_points import predict_new_points
from aqka.study.quoting import make_offer, settle_design
from aqka.study.schema import parse_study
from aqka.study.store import RunStore

STUDY = """
[data]
source = "breast-cancer"
[split]
train = 20
test = 8
[feature_map]
qubits = 30
range = [0.0, 1.5]
[backend]
name = "light-cone"
[budget]
train = "3840 shots"
[method]
design = "points"
"""


def test_thirty_qubits_from_plan_to_new_points(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    prepared = prepare(path)
    offer = make_offer(prepared)
    quoted, backends = offer.quoted, offer.backends
    assert (quoted.n_qubits, quoted.shots, quoted.design) == (30, 3840, "points")
    assert not backends.train.is_paid
    run = carry_out(prepared, tmp_path / "run")
    assert len(run.results["results"]["predictions"]) == 8
    expected = (run.directory / "results.json").read_bytes()
    (run.directory / "results.json").unlink()
    resume(RunStore(run.directory))
    assert (run.directory / "results.json").read_bytes() == expected
    page = run_page(run_report(run.directory))
    assert "ZZ map, neighbours coupled, 2 repetitions" in page
    table = prepared.points.train[:2] + 10.0
    np.savez(tmp_path / "new.npz", X=table)
    answer = predict_new_points(run.directory, tmp_path / "new.npz")
    assert answer.budget == 2 * 192
    assert json.loads(json.dumps(answer.rows()))[0]["shots"] > 0


def test_pairs_of_it_are_refused_in_the_file():
    with pytest.raises(InputError, match=r"measures points: leave method\.design out"):
        parse_study(STUDY.replace('design = "points"', 'design = "pairs"'))
    with pytest.raises(InputError, match="less than or equal to 256"):
        parse_study(STUDY.replace("qubits = 30", "qubits = 257"))


@pytest.mark.parametrize(
    ("change", "to", "words"),
    [
        ("qubits = 30", "qubits = 30\nreps = 12", "depends on 15 qubits, at most 14 are possible"),
        ("qubits = 30", 'qubits = 30\nmap = "zz-full"', "depends on 30 qubits"),
        ('"light-cone"', '"ibm"\ndevice = "fake_manila"', "needs 30 qubits but fake_manila has 5"),
    ],
)
def test_what_cannot_run_is_refused_by_the_plan(tmp_path, change, to, words):
    text = STUDY.replace("train = 20", "train = 40")
    path = tmp_path / "study.toml"
    path.write_text(text.replace(change, to))
    with pytest.raises(InputError, match=words):
        make_offer(prepare(path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["study.toml"]


def test_errors_of_gates_and_bits_reach_the_light_cones_of_a_study(tmp_path):
    path = tmp_path / "study.toml"
    named = STUDY.replace('"light-cone"', '"light-cone"\nnoise = [0.001, 0.01, 0.02]')
    path.write_text(named)
    noisy = make_offer(prepare(path)).backends.train
    path.write_text(named.replace("0.001, 0.01, 0.02", "0.0, 0.0"))
    clean = make_offer(prepare(path)).backends.train
    none = np.zeros((0, 2), dtype=int)
    exact, damped = clean.expectations(none), noisy.expectations(none)
    shrunk = np.sum(exact * damped) / np.sum(exact**2)
    assert 0.85 < shrunk < 0.97
    assert noisy.fingerprint() != clean.fingerprint()


def test_a_fake_device_of_a_study_measures_thirty_qubits_as_points(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace('"light-cone"', '"ibm"\ndevice = "fake_torino"'))
    offer = make_offer(prepare(path))
    backend = offer.backends.train
    assert not backend.measures_pairs
    assert backend.joint_pairs.tolist() == [[k, k + 1] for k in range(29)]
    assert backend.circuit.count_ops()["cz"] == 2 * 2 * 29  # a line, and no swap
    assert (offer.quoted.design, offer.quoted.shots) == ("points", 3840)


def test_the_default_design_is_points_where_nothing_else_can_be_measured(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY.replace('design = "points"', 'design = "auto"'))
    settled = settle_design(prepare(tmp_path / "study.toml"))
    assert settled.study.method.design == "points"
    assert "the backend measures no pairs" in settled.design_reason
