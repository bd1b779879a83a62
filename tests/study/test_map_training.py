"""Studies that train their feature map before they measure."""

import json

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector

from aqka import InputError, StatevectorBackend
from aqka.report.run_page import run_page
from aqka.report.run_report import study_report
from aqka.study.carry_out import carry_out, resume
from aqka.study.check import StudyCheck
from aqka.study.directory import prepare
from aqka.study.schema import load_study
from aqka.study.store import RunStore
from tests.study.circuits import qpy_bytes, with_map
from tests.study.helpers import QUICK, small, write_study


def trainable():
    x, w = ParameterVector("x", 2), ParameterVector("w", 3)
    circuit = QuantumCircuit(2)
    for k in range(2):
        circuit.ry(x[k] + w[k], k)
    circuit.crz(w[2], 0, 1)
    circuit.rx(x[0], 1)
    return circuit


def own_circuit(directory, train='["w"]'):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "map.qpy").write_bytes(qpy_bytes(trainable()))
    return with_map(directory, f'map.qpy"\ntrain = {train} #', method=QUICK)


def scales(directory, train="true"):
    text = small(method=QUICK).replace("qubits = 2\n", f"qubits = 2\ntrain = {train}\n")
    return write_study(directory, text)


def test_the_trained_map_is_what_runs_what_is_kept_and_what_resumes(tmp_path, monkeypatch):
    prepared = prepare(own_circuit(tmp_path))
    assert prepared.circuit.num_parameters == prepared.points.train.shape[1] == 2
    done = carry_out(prepared, tmp_path / "run")
    trained = json.loads((tmp_path / "run" / "results.json").read_text())["map_training"]
    assert trained["history"][-1] <= trained["history"][0]
    assert len(trained["scale_grid"]) == 9
    monkeypatch.setattr("aqka.study.directory.train_map", None)  # it is not trained again
    resumed = resume(RunStore(tmp_path / "run"))
    assert np.array_equal(resumed.session.table.hits, done.session.table.hits)
    assert resumed.results["map_training"] == trained
    page = run_page(study_report(done))
    assert "Training of the feature map" in page
    assert "held-out training points" in page


def test_scales_of_a_built_in_map_are_put_into_its_circuit(tmp_path):
    prepared = prepare(scales(tmp_path))
    theta = np.array(prepared.map_training["theta"])
    X = prepared.points.train
    expected = StatevectorBackend(X * theta).kernel()
    assert np.allclose(StatevectorBackend(X, prepared.feature_map).kernel(), expected)


def test_a_check_shows_scales_trained_map_and_rbf_side_by_side(tmp_path):
    study, _ = load_study(own_circuit(tmp_path))
    found = StudyCheck.of(study, tmp_path).run()
    names = [model.name for model in found.models]
    rows = ["best of nine scales", "trained map, exact", "trained map, at this budget"]
    assert {*rows, "RBF SVM"} <= set(names)
    assert {*rows} <= {s["name"] for s in found.facts()["scores"]}
    # The verdict is on the map before training, and says so beside what training brings.
    assert "This is about the map before training" in found.recommendation.sentence
    trained = found.training[-1]
    assert trained.name == rows[-1]
    assert f"{trained.means[0]:.2f} ± {trained.errors[0]:.2f} at" in found.recommendation.sentence


def test_a_map_that_is_too_wide_to_train_is_refused_by_run_and_check(tmp_path):
    (tmp_path / "map.qpy").write_bytes(qpy_bytes(trainable().tensor(QuantumCircuit(13))))
    path = with_map(tmp_path, 'map.qpy"\ntrain = ["w"] #', method=QUICK)
    for begin in (prepare, lambda path: StudyCheck.of(load_study(path)[0], tmp_path)):
        with pytest.raises(InputError, match=r"feature_map.train .* at most 14 .* has 15"):
            begin(path)


@pytest.mark.parametrize(
    ("write", "train", "message"),
    [
        (scales, '["w"]', "train must be true"),
        (own_circuit, "[]", "train must be true"),
        (own_circuit, '["v"]', "'v', which is no parameter"),
        (own_circuit, '["w", "x"]', "names all 5 parameters"),
        (scales, '"yes please"', "train"),
    ],
)
def test_what_cannot_be_trained_is_refused(write, train, message, tmp_path):
    with pytest.raises(InputError, match=message):
        prepare(write(tmp_path, train))
