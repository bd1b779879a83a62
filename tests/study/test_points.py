"""Studies that measure points: run, resume, status, predict and report."""

import json

import numpy as np
import pytest
from qiskit import QuantumCircuit, qpy
from qiskit.circuit import ParameterVector
from qiskit.providers.fake_provider import GenericBackendV2

from aqka import QuantumRidgeClassifier
from aqka.designs import Points, point_kernel_names
from aqka.errors import InputError
from aqka.planning.device import HERON
from aqka.report.run_page import run_page
from aqka.report.run_report import run_report
from aqka.runs.audit import verify
from aqka.study import quoting
from aqka.study.carry_out import Watcher, carry_out, resume
from aqka.study.directory import prepare
from aqka.study.new_points import predict_new_points
from aqka.study.schema import parse_study
from aqka.study.store import RunStore
from tests.cli.in_process import call
from tests.fake_runtime import FakeRuntime
from tests.report.helpers import without_links
from tests.study.helpers import progress

STUDY = """
[data]
source = "moons"
[split]
train = 24
test = 10
[feature_map]
qubits = 2
range = [1.5, 3.1]
[backend]
name = "{backend}"
[budget]
train = "2400 shots"
[method]
design = "{design}"
{extra}
"""


def write(tmp_path, design="points", backend="statevector", extra=""):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(design=design, backend=backend, extra=extra))
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    home = tmp_path_factory.mktemp("points")
    directory = home / "run"
    carry_out(prepare(write(home)), directory)
    return directory


def test_a_run_of_points_spends_its_budget_and_is_sealed(run):
    found = json.loads((run / "results.json").read_text())
    assert "pairs_seen" not in found["results"]
    assert found["design"] == "points"
    assert found["results"]["shots"] == 2400
    assert found["results"]["shots_per_point"] == 100
    assert found["test_shots"] == 10 * 100  # a new point may take what a training point got
    assert 0 < found["actual"]["test_shots"] <= 1000
    assert found["results"]["accuracy"] >= 0.6
    for place in (run, run / "predictions"):
        assert verify(place).finished
    now = progress(run)
    assert (now.state, now.unit, now.seen, now.units) == ("finished", "points", 24, 24)


def test_the_report_tells_points_and_no_shots_on_pairs(run):
    report = run_report(run)
    page = run_page(report)
    assert report.measured.unit == "point"
    assert report.tested.score == pytest.approx(
        json.loads((run / "results.json").read_text())["results"]["accuracy"]
    )
    assert "on 24 training points, 100 per point" in page
    assert "The kernel that the points give" in page
    assert "Where the shots went" not in page


def test_an_estimator_learns_from_the_run_without_a_shot(run):
    y, numbers = RunStore(run).prepared().points.train_labels, np.arange(24).reshape(-1, 1)
    model = QuantumRidgeClassifier(backend=run).fit(numbers, y)
    assert model.shots_used_ == 0
    assert np.mean(model.predict(numbers) == y) > 0.8


def test_new_points_cost_what_training_points_did(run, tmp_path):
    np.savez(tmp_path / "new.npz", X=np.random.default_rng(0).normal(size=(3, 2)))
    found = predict_new_points(run, tmp_path / "new.npz")
    assert found.budget == 300
    assert len(found.prediction.labels) == 3
    again = predict_new_points(run, tmp_path / "new.npz")
    np.testing.assert_array_equal(again.prediction.f, found.prediction.f)


def test_new_points_as_json_name_their_classes(run, tmp_path, monkeypatch, capsys):
    np.savez(tmp_path / "new.npz", X=np.random.default_rng(0).normal(size=(3, 2)))
    code, out, _ = call(monkeypatch, capsys, "predict", run, tmp_path / "new.npz", "--json")
    assert code == 0
    assert json.loads(out)["classes"] == [0, 1]


def test_predictions_are_confirmed_with_the_rounds_and_tiles_of_points(tmp_path, monkeypatch):
    line = [[k, k + 1] for k in range(7)]
    device = FakeRuntime(tmp_path / "service", GenericBackendV2(8, coupling_map=line, seed=1))
    monkeypatch.setattr("aqka.study.backends.ibm_device", lambda _: device)
    path = write(
        tmp_path, backend='ibm"\ndevice = "ibm_x"\ntiles = 3\noptions = {mode = "job"}\n#"'
    )
    path.write_text(path.read_text().replace("2400 shots", "240 shots"))
    carry_out(prepare(path), tmp_path / "run")
    np.savez(tmp_path / "new.npz", X=np.zeros((3, 2)))
    asked = []

    def decline(part, device):
        asked.append(part)
        raise InputError("declined")

    with pytest.raises(InputError, match="declined"):
        predict_new_points(tmp_path / "run", tmp_path / "new.npz", 100, confirm=decline)
    (part,) = asked
    assert (part.shots, part.submissions) == (300, 4)
    one_tile = 300 * HERON.execution_seconds(1)
    assert part.qpu_seconds < part.jobs * HERON.job_overhead + one_tile / 2


@pytest.mark.parametrize(("budget", "predictions"), [("test_shots = 7", 70), ("", 1000)])
def test_test_shots_are_those_of_a_test_point(tmp_path, budget, predictions):
    path = write(tmp_path)
    path.write_text(path.read_text().replace("[method]", f"{budget}\n[method]"))
    quoted = quoting.make_offer(prepare(path)).quoted
    assert quoted.part("predictions").shots == predictions  # by default as a training point's


def test_a_run_that_only_trained_predicts_with_what_a_training_point_got(tmp_path):
    path = write(tmp_path)
    path.write_text(path.read_text().replace("[method]", "test_shots = 0\n[method]"))
    run = carry_out(prepare(path), tmp_path / "run")
    assert run.found is None
    np.savez(tmp_path / "new.npz", X=np.zeros((2, 2)))
    found = [predict_new_points(run.directory, tmp_path / "new.npz", shots) for shots in (None, 30)]
    assert [one.budget for one in found] == [2 * 100, 2 * 30]


def test_a_run_that_was_stopped_goes_on_to_the_same_results(tmp_path, run):
    class Stopped(Exception):
        pass

    def stop():
        raise Stopped

    extra = 'allocator = "aqka"'
    whole = tmp_path / "whole"
    carry_out(prepare(write(tmp_path, extra=extra)), whole)
    cut = tmp_path / "cut"
    with pytest.raises(Stopped):
        carry_out(prepare(tmp_path / "study.toml"), cut, Watcher(on_round=stop))
    assert progress(cut).state == "stopped"
    resume(RunStore(cut))
    names = ("results", "actual", "test_shots", "design")
    first, second = (json.loads((place / "results.json").read_text()) for place in (whole, cut))
    for place in (first, second):
        for key in ("wall_seconds", "test_wall_seconds"):
            place["actual"].pop(key)
    assert {name: first[name] for name in names} == {name: second[name] for name in names}


def test_auto_chooses_before_the_first_shot_and_stays_with_it(tmp_path, monkeypatch):
    directory = tmp_path / "run"
    carry_out(prepare(write(tmp_path, design="auto")), directory)
    found = json.loads((directory / "results.json").read_text())
    assert found["design"] == "points"
    assert found["design_reason"].startswith("Points: ")
    assert found["design_reason"] in run_report(directory).notes

    def refuse(*arguments):
        raise AssertionError("a begun run must not choose again")

    monkeypatch.setattr(quoting, "better_design_of", refuse)
    resume(RunStore(directory))
    again = json.loads((directory / "results.json").read_text())
    assert again["design_reason"] == found["design_reason"]


def test_a_run_says_at_its_start_why_points_are_measured(tmp_path, monkeypatch, capsys):
    study, directory = write(tmp_path, design="auto"), tmp_path / "run"
    _, _, told = call(monkeypatch, capsys, "run", study, "--output", directory)
    assert "2,400 shots for 24 points in 1 submission," in told
    assert json.loads((directory / "results.json").read_text())["design_reason"] in told


@pytest.mark.parametrize("backend", ["aer", "ibm"])
def test_other_backends_measure_points_too(tmp_path, backend):
    path = write(tmp_path, backend=backend)
    if backend == "ibm":
        path.write_text(path.read_text().replace('"ibm"', '"ibm"\ndevice = "fake_manila"'))
    run = carry_out(prepare(path), tmp_path / "run")
    assert run.results["results"]["shots"] == 2400
    assert run.found.f.shape == (10,)


def test_a_study_calibrates_its_readout_out_of_its_training_budget(tmp_path):
    class Stopped(Exception):
        pass

    def stop():
        raise Stopped

    path = write(tmp_path, backend="ibm", extra="points.calibration_shots = 400")
    path.write_text(path.read_text().replace('"ibm"', '"ibm"\ndevice = "fake_manila"'))
    directory = tmp_path / "run"
    with pytest.raises(Stopped):
        carry_out(prepare(path), directory, Watcher(on_round=stop))
    now = progress(directory)  # the calibration is the first round
    assert (now.shots, now.budget, now.rounds, now.rounds_planned) == (400, 2400, 1, 2)
    run = resume(RunStore(directory))
    results, actual = run.results["results"], run.results["actual"]
    assert (results["shots"], actual["shots"], actual["calibration_shots"]) == (2000, 2000, 400)
    used = {
        row["figure"]: (row["quoted"], row["actual"]) for row in run.results["quote_versus_actual"]
    }
    assert used["shots"] == (2000, 2000)
    assert used["shots for calibration"] == (400, 400)
    assert used["submissions"] == (1, 1)
    confusion = np.array(results["confusion"])
    assert 0 < confusion[:, 1, 0].max() < 0.15  # of manila's readout, two to four per cent
    np.testing.assert_array_equal(run.head.estimate.states.confusion, confusion)
    np.savez(tmp_path / "new.npz", X=np.random.default_rng(0).normal(size=(3, 2)))
    found = predict_new_points(directory, tmp_path / "new.npz")
    assert found.budget == 3 * (2000 // 24)
    report = run_report(directory)
    assert "400 more shots, on reference states" in " ".join(report.notes)
    page = without_links(run_page(report))
    assert "2,000 of 2,000 shots on 24 training points" in page
    assert f"400 more calibrated the readout. {actual['test_shots']:,} more went to" in page
    assert f"{2400 + actual['test_shots']:,} in all" in page


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ('allocator = "nystrom"', "to pairs, not points"),
        ("[sentinels]\npoints = 2", "diagonal entries"),
        ('design = "pairs"\npoints.calibration_shots = 20', "for design = 'points'"),
        (
            "points.calibration_shots = 21",
            "method.points.calibration_shots: input should be a multiple of 2",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(change, words):
    text = STUDY.format(design="points", backend="statevector", extra=change)
    if change.startswith("design"):
        text = text.replace('design = "points"\n', "", 1)
    with pytest.raises(InputError, match=words):
        parse_study(text)


def test_a_map_with_a_reset_is_for_points_only(tmp_path):
    circuit = QuantumCircuit(2)
    for qubit, angle in enumerate(ParameterVector("x", 2)):
        circuit.ry(angle, qubit)
    circuit.cx(0, 1)
    circuit.reset(1)
    with (tmp_path / "map.qpy").open("wb") as file:
        qpy.dump(circuit, file)
    text = write(tmp_path, backend="ibm").read_text()
    text = text.replace('"ibm"', '"ibm"\ndevice = "fake_manila"')
    text = text.replace("qubits = 2\n", 'map = "map.qpy"\n')
    path = tmp_path / "study.toml"
    path.write_text(text.replace('design = "points"', 'design = "pairs"'))
    with pytest.raises(InputError, match="'reset'"):
        prepare(path)
    path.write_text(text)
    run = carry_out(prepare(path), tmp_path / "run")
    assert run.results["results"]["shots"] == 2400
    assert run_report(tmp_path / "run").tested is not None


@pytest.mark.parametrize("name", point_kernel_names())
def test_a_study_names_its_kernel_of_points(tmp_path, name):
    class Stopped(Exception):
        pass

    def stop():
        raise Stopped

    extra = f'points = {{ kernel = "{name}" }}'
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    run = carry_out(prepare(write(tmp_path, extra=extra)), whole)
    assert run.head.estimate.meaning == run.session.estimate(Points(name)).meaning
    assert run.results["results"]["kernel"] == run.head.estimate.meaning
    assert run.results["results"]["settings"] == len(run.session.table.settings)
    report = run_report(whole)
    assert report.measured.sentences[0] == run.head.estimate.meaning
    assert report.measured.is_fidelity == (name in ("purified", "device"))
    assert f"points = {{ kernel = &#34;{name}" in run_page(report)
    with pytest.raises(Stopped):
        carry_out(prepare(tmp_path / "study.toml"), cut, Watcher(on_round=stop))
    assert run_report(cut).measured.kernel.shape == (24, 24)
    resume(RunStore(cut))
    first, second = (json.loads((place / "results.json").read_text()) for place in (whole, cut))
    assert first["results"] == second["results"]
    data = tmp_path / "new.csv"
    data.write_text("x,y\n0.2,0.4\n1.0,-0.3\n")
    found = predict_new_points(whole, data)
    assert found.prediction.head.estimate.meaning == run.head.estimate.meaning
    assert found.prediction.table.n_settings == run.session.table.n_settings


@pytest.mark.parametrize(
    ("design", "name", "words"),
    [
        ("pairs", "device", "points .kernel. is for design = 'points', design is 'pairs'"),
        ("auto", "device", "points .kernel. is for design = 'points', design is 'auto'"),
        ("points", "devise", "unknown kernel of points 'devise'. Did you mean 'device'"),
    ],
)
def test_a_kernel_that_cannot_be_is_told_with_its_line(tmp_path, design, name, words):
    text = write(tmp_path, design=design, extra=f'points.kernel = "{name}"').read_text()
    with pytest.raises(InputError, match=words):
        parse_study(text)
