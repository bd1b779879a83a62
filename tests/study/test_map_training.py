"""Studies that train their feature map before they measure."""

import json
import multiprocessing
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector

from aqka import CeilingError, InputError, LedgerError, StatevectorBackend
from aqka.core.point_plans import PointPlan
from aqka.report.run_page import run_page
from aqka.report.run_report import study_report
from aqka.study.carry_out import Watcher, cancel_run, carry_out, resume
from aqka.study.check import StudyCheck
from aqka.study.directory import prepare
from aqka.study.quoting import study_quote
from aqka.study.schema import load_study
from aqka.study.store import RunStore, load_study_run
from tests.fake_runtime import FakeJob, FakeRuntime
from tests.study.circuits import qpy_bytes, with_map
from tests.study.helpers import QUICK, progress, small, write_study


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
    monkeypatch.setattr("aqka.study.directory.train_exactly", None)  # it is not trained again
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


def test_a_map_that_is_too_wide_to_simulate_is_trained_on_its_backend(tmp_path):
    def study(train, method=QUICK):
        text = small(method=method).replace("moons", "breast-cancer").replace("= 12", "= 20")
        return write_study(tmp_path, text.replace("qubits = 2", f"qubits = 15\ntrain = {train}"))

    assert prepare(study("true")).trainable is not None
    with pytest.raises(InputError, match=r"feature_map.train.where .* at most 14 .* has 15"):
        prepare(study('{where = "simulation"}'))
    prepared = prepare(study("true", 'design = "points"\npoints.kernel = "projected"'))
    assert prepared.trainable is None
    assert prepared.map_training["history"][-1] <= prepared.map_training["history"][0]


@pytest.mark.parametrize(
    ("write", "train", "message"),
    [
        (scales, '["w"]', "train must be true"),
        (own_circuit, "[]", "train.*at least 1 item"),
        (scales, "{share = 1.0}", "share: input should be less than 1"),
        (scales, '{where = "mars"}', "where: input should be 'auto', 'simulation' or 'device'"),
        (scales, "{shares = 0.3}", "unknown key 'shares' in .feature_map.train.*Did you mean"),
        (own_circuit, '["v"]', "'v', which is not a parameter"),
        (own_circuit, '["w", "x"]', "names all 5 parameters"),
        (scales, '"yes please"', "train"),
    ],
)
def test_what_cannot_be_trained_is_refused(write, train, message, tmp_path):
    with pytest.raises(InputError, match=message):
        prepare(write(tmp_path, train))


ON_SHOTS = '{where = "device"}'


def on_shots(directory, train=ON_SHOTS, total=10_000, **settings):
    text = scales(directory, train).read_text()
    for old, new in {"backend": "statevector", "design": 'design = "pairs"'}.items():
        text = text.replace(new, settings.get(old, new))
    old = 'train = "1200 shots"\ntest_shots = 20'
    return write_study(directory, text.replace(old, f"total = {total}"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study trained on shots that nothing interrupts."""
    directory = tmp_path_factory.mktemp("whole")
    return carry_out(prepare(on_shots(directory)), directory / "run")


def test_a_map_is_trained_on_shots_within_the_budget_and_its_quote(whole, tmp_path):
    quoted = study_quote(prepare(on_shots(tmp_path)))
    part = quoted.part("map training")
    assert (part.shots, part.submissions, quoted.total.shots) == (3000, 11, 10_000)
    rows = {row["figure"]: row for row in whole.results["quote_versus_actual"]}
    assert rows["shots for map training"]["actual"] == 3000
    for name in ("shots in all", "submissions in all"):
        assert rows[name]["actual"] <= rows[name]["quoted"]
    assert rows["shots in all"]["actual"] <= 10_000
    trained = whole.results["map_training"]
    assert trained["shots"] == 3000
    assert len(trained["history"]) == 10
    report = study_report(whole)
    assert report.bill[0].training == 3000 + whole.history.shots
    assert "for 3,000 shots" in report.map_training.words
    store = RunStore(whole.directory)
    assert load_study_run(store).ledgers["map training"].sound
    scaled = store.points.train * trained["theta"]
    kernel = StatevectorBackend(store.points.train, store.circuit()).kernel()
    assert np.allclose(kernel, StatevectorBackend(scaled).kernel())


class Stop(Exception):
    pass


def stop_at(number):
    calls = iter(range(1, number + 1))

    def stop():
        if next(calls) == number:
            raise Stop

    return Watcher(on_round=stop)


@pytest.mark.parametrize("number", [4, 12])  # a step, and what comes after training
def test_a_run_that_is_stopped_trains_the_rest(whole, number, tmp_path):
    path = on_shots(tmp_path)
    with pytest.raises(Stop):
        carry_out(prepare(path), tmp_path / "run", stop_at(number))
    now = progress(tmp_path / "run")
    assert (now.trains_map, now.rounds) == ((True, number) if number < 12 else (False, 1))
    if now.trains_map:
        assert now.shots_left == 10_000 - 240 * number
    path.unlink()
    done = resume(RunStore(tmp_path / "run"))
    assert_same(done, whole)


def assert_same(done, whole):
    for name in ("theta", "history", "validation", "shots", "submissions"):
        assert done.results["map_training"][name] == whole.results["map_training"][name]
    assert np.array_equal(done.session.table.hits, whole.session.table.hits)
    rounds = [
        round.planned.theta.tobytes() for round in RunStore(done.directory).map_training.rounds
    ]
    assert len(set(rounds)) == len(rounds) == 11


def test_a_run_is_announced_before_its_first_shot_and_has_a_name_of_its_own(tmp_path):
    def stop(*_):
        raise Stop

    with pytest.raises(Stop):
        carry_out(prepare(on_shots(tmp_path)), tmp_path / "run", Watcher(on_start=stop))
    assert RunStore(tmp_path / "run").map_training is None
    (tmp_path / "run" / "results.json").unlink()  # and with it the name
    with pytest.raises(Stop):
        resume(RunStore(tmp_path / "run"), stop_at(1))
    assert len(RunStore(tmp_path / "run").map_training.parent) == 12


def test_a_map_is_trained_on_the_device_that_its_run_began_on(tmp_path, monkeypatch):
    """The least busy device may be another one at the next look."""
    asked, service = [], FakeRuntime(tmp_path / "service")
    take = lambda section: asked.append(section.device) or service  # noqa: E731
    monkeypatch.setattr("aqka.study.backends.ibm_device", take)
    with pytest.raises(Stop):
        carry_out(prepare(on_shots(tmp_path, backend="ibm")), tmp_path / "run", stop_at(1))
    assert asked == [None, service.target.name]


def test_a_check_leaves_out_the_shots_of_the_map(tmp_path):
    path = on_shots(tmp_path)
    found = StudyCheck.of(load_study(path)[0], tmp_path)
    assert found.spending.budget == study_quote(prepare(path)).shots


def _die_in_round(path, number):
    calls = iter(range(1, number + 1))

    def die():
        if next(calls) == number:
            os.kill(os.getpid(), 9)

    carry_out(prepare(path), path.parent / "run", Watcher(on_round=die))


def test_a_killed_run_buys_nothing_twice(whole, tmp_path):
    child = multiprocessing.get_context("fork").Process(
        target=_die_in_round, args=(on_shots(tmp_path), 5)
    )
    child.start()
    child.join()
    assert child.exitcode == -9
    (tmp_path / "run" / "results.json").unlink()  # what it held is found again
    assert_same(resume(RunStore(tmp_path / "run")), whole)


def test_the_ceiling_holds_for_the_map_too(whole, tmp_path):
    prepared = prepare(on_shots(tmp_path))
    limited = replace(prepared, study=prepared.study.changed("budget", ceiling="1000 shots"))
    with pytest.raises(CeilingError, match="the ceiling is reached"):
        carry_out(limited, tmp_path / "run")
    assert RunStore(tmp_path / "run").map_training.spent == 960  # four steps of 240
    with pytest.raises(CeilingError):  # which counts them all, when the run goes on
        resume(RunStore(tmp_path / "run"), ceiling="4000 shots")
    assert RunStore(tmp_path / "run").training.spent <= 1000
    assert_same(resume(RunStore(tmp_path / "run")), whole)


def test_a_damaged_ledger_of_the_map_is_noticed(whole, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(whole.directory, run)
    shutil.rmtree(run / "map-training")
    with pytest.raises(LedgerError, match="map-training"):
        RunStore(run).training  # noqa: B018
    with pytest.raises(LedgerError, match="lost its map-training"):
        resume(RunStore(run))


def test_projected_points_are_trained_on_shots(tmp_path):
    method = 'design = "points"\npoints.kernel = "projected"'
    path = on_shots(tmp_path, total=40_000, backend="light-cone", design=method)
    done = carry_out(prepare(path), tmp_path / "run")
    assert done.results["map_training"]["shots"] == 12_000
    assert done.results["actual"]["map_shots"] == 12_000
    rounds = RunStore(tmp_path / "run").map_training.rounds
    assert {type(round.planned) for round in rounds} == {PointPlan}


def test_a_step_that_waits_is_cancelled(tmp_path, monkeypatch):
    service = FakeRuntime(tmp_path / "service", delay=36_000.0)
    monkeypatch.setattr("aqka.study.backends.ibm_device", lambda _: service)
    path = on_shots(tmp_path, backend='ibm"\ndevice = "ibm_x')

    def die(_):
        raise Stop

    with monkeypatch.context() as patched:
        patched.setattr(FakeJob, "result", die)
        with pytest.raises(Stop):
            carry_out(prepare(path), tmp_path / "run")
    assert [job.job_id for job in progress(tmp_path / "run").jobs] == ["fake000001"]
    assert [job.state for job in cancel_run(tmp_path / "run").jobs] == ["CANCELLED"]
    assert progress(tmp_path / "run").state == "cancelled"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"total": 6000}, "feature_map.train.share leaves 0.3 .* at least 10 steps .* to 2,800"),
        ({"train": ON_SHOTS.replace("}", ", share = 0.1}")}, "share leaves 0.1"),
        ({"total": '"60 s"'}, "feature_map.train.share leaves 0.3"),
    ],
)
def test_what_cannot_be_trained_on_shots_is_refused_before_anything_is_written(
    change, message, tmp_path
):
    with pytest.raises(InputError, match=message):
        carry_out(prepare(on_shots(tmp_path, **change)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_one_class_in_a_part_is_refused_before_anything_is_written(tmp_path):
    lines = ["a,b,label"] + [f"{k / 20},{k % 7},{int(k == 3 or k == 5)}" for k in range(24)]
    path = on_shots(tmp_path)
    (tmp_path / "points.csv").write_text("\n".join(lines))
    source = '"points.csv"\ntarget = "label"'
    text = path.read_text().replace('"moons"', source).replace("test = 6", "test = 0")
    path.write_text(text.replace("train = 12\n", ""))
    for where in ("device", "simulation"):
        path.write_text(path.read_text().replace('where = "device"', f'where = "{where}"'))
        with pytest.raises(InputError, match="one class only"):
            carry_out(prepare(path), tmp_path / "run")
