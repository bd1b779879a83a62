"""Where a run stands, what is printed of it, and the small parts around a run."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from aqka import MatrixBackend, acquire
from aqka._util.files import as_json, write_atomically
from aqka._util.optional import EXTRAS, examine
from aqka.cli import app as cli
from aqka.cli.run import progress_rows
from aqka.errors import CancelledError, InputError, LedgerError
from aqka.planning import Quote
from aqka.runs.ledger import Ledger
from aqka.study.carry_out import Watcher, carry_out, resume
from aqka.study.directory import prepare
from aqka.study.new_study import example
from aqka.study.points import BUILT_IN, encode, load_table, split_points
from aqka.study.schema import DataSection, FeatureMapSection, SplitSection, read_stored
from aqka.study.store import RunStore
from tests.conftest import make_kernel, make_labels
from tests.fake_runtime import FakeRuntime
from tests.study.helpers import progress, small, write_study

ROOT = Path(__file__).parents[2]


def call(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["aqka", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code or 0, capsys.readouterr()


@pytest.fixture
def finished(tmp_path):
    path = write_study(tmp_path)
    done = carry_out(prepare(path), tmp_path / "run")
    return tmp_path / "run", done.results


def test_progress_agrees_with_the_results(finished):
    run, found = finished
    now = progress(run)
    results, last = found["results"], found["history"][-1]
    assert (now.state, now.backend) == ("finished", "statevector")
    assert (now.rounds, now.rounds_planned) == (3, 3)
    assert (now.shots, now.budget, now.shots_left) == (1200, 1200, 0)
    assert (now.seen, now.units) == (results["pairs_seen"], 66)
    assert now.gini == pytest.approx(results["diagnostics"]["gini"])
    assert now.accuracy == results["cross_validated_accuracy"] == last["accuracy"]
    assert now.seconds_left is None
    assert [entry["shots"] for entry in found["history"]] == [400, 800, 1200]
    accuracy, count = results["accuracy"], results["test_points"]
    assert results["standard_error"] == pytest.approx(np.sqrt(accuracy * (1 - accuracy) / count))
    assert read_stored(Quote, found["quote"]).shots == 1200
    assert found["actual"]["test_shots"] <= found["test_shots"] == 6 * 12 * 20


def test_pending_predictions_count_among_the_shots_left(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    run, most = tmp_path / "run", 6 * 12 * 20
    prepared = prepare(write_study(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr("aqka.study.carry_out._Spending.predict", stop)
        with pytest.raises(KeyboardInterrupt):
            carry_out(prepared, run)
    now = progress(run)
    assert (now.state, now.shots, now.budget) == ("stopped", 1200, 1200)
    assert (now.prediction_shots, now.prediction_budget, now.predicted) == (0, most, False)
    assert now.shots_left == most
    rows = dict(progress_rows(now))
    assert (rows["shots for predictions"], rows["shots left"]) == ("0 of at most 1,440", "1,440")
    found = resume(RunStore(run)).results
    now = progress(run)
    assert (now.predicted, now.shots_left) == (True, 0)
    assert now.prediction_shots == found["actual"]["test_shots"]


def test_while_the_report_is_written_the_run_is_not_finished(tmp_path):
    run, seen = tmp_path / "run", []

    def look(_):
        seen.append(progress(run).state)
        (run / "report.html").write_text("written")
        seen.append(progress(run).state)

    carry_out(prepare(write_study(tmp_path)), run, Watcher(on_results=look))
    assert seen == ["reporting", "finished"]
    (run / "report.html").unlink()
    assert progress(run).state == "finished"  # nobody is at work on it


def test_the_seconds_are_those_of_the_whole_run(tmp_path, monkeypatch):
    """From the first entry to the last prediction; what lies before a resumption is idle."""
    run = tmp_path / "run"
    clock, seen = [1e9], []

    def tick():
        clock[0] += 1.0
        return clock[0]

    def stop():
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("aqka.runs.ledger.time.time", tick)
    prepared = prepare(write_study(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        carry_out(prepared, run, Watcher(on_round=stop))
    clock[0] += 10_000.0
    found = resume(RunStore(run)).results
    rounds = sum(entry["seconds"] for entry in found["history"])
    assert rounds < found["actual"]["wall_seconds"] < 200
    assert clock[0] > 1e9 + 10_000
    [row] = [row for row in found["quote_versus_actual"] if row["figure"] == "seconds"]
    assert row["actual"] == found["actual"]["wall_seconds"]


def test_a_run_from_python_has_a_status_too(tmp_path):
    acquire(MatrixBackend(make_kernel(6)), make_labels(6), 100, directory=tmp_path)
    now = progress(tmp_path)
    assert (now.state, now.shots, now.gini) == ("finished", 100, None)
    with pytest.raises(InputError, match="begun from Python"):
        RunStore(tmp_path).prepared()


def test_a_resumed_run_reads_each_ledger_once(tmp_path, monkeypatch):
    class Stopped(Exception):
        pass

    def stop():
        raise Stopped

    run, reads = tmp_path / "run", []
    with pytest.raises(Stopped):
        carry_out(prepare(write_study(tmp_path)), run, Watcher(on_round=stop))

    def entries(ledger):
        reads.append(ledger.path.parent.name)
        return whole(ledger)

    whole = Ledger.entries
    monkeypatch.setattr(Ledger, "entries", entries)
    store = RunStore(run)
    assert not store.complete
    done = resume(store)
    assert reads == ["run"]  # the predictions were still to begin
    monkeypatch.undo()
    again = RunStore(run)
    for followed, read in (
        (done.history, again.training),
        (done.ledgers["predictions"], again.predictions),
    ):
        facts = [(one.shots, one.ended, one.spent, one.finished) for one in (followed, read)]
        assert facts[0] == facts[1]
        for one, other in zip(followed.rounds, read.rounds, strict=True):
            assert np.array_equal(one.answer, other.answer)
            assert np.array_equal(one.measured.shots, other.measured.shots)
    assert again.complete


@pytest.mark.parametrize("source", ["moons", "iris"])
def test_the_svm_head_runs(tmp_path, source):
    text = small().replace("rounds = 3", 'learner = "svm"\nallocator = "aqka-svm"')
    text = text.replace('"moons"', f'"{source}"').replace("train = 12", "train = 24")
    done = carry_out(prepare(write_study(tmp_path, text)), tmp_path / "run")
    assert done.results["results"]["regularisation"] == 5.0  # C, not a ridge
    assert done.results["results"]["shots"] == 1200
    assert len(set(done.points.train_labels)) == {"moons": 2, "iris": 3}[source]
    assert progress(tmp_path / "run").accuracy is not None


def test_the_exact_backend_needs_no_extra(tmp_path):
    write_study(tmp_path)
    blocked = "['qiskit', 'qiskit_aer', 'qiskit_ibm_runtime', 'pennylane', 'matplotlib']"
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked})); "
        "sys.argv = ['aqka', 'run', 'study.toml']; from aqka.cli.app import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "accuracy" in done.stdout


def test_status_watch_and_resume_print_tables_and_json(finished, monkeypatch, capsys):
    run, _ = finished
    code, shown = call(monkeypatch, capsys, "status", run)
    assert code == 0
    for name, _ in progress_rows(progress(run)):
        assert name in shown.out
    code, shown = call(monkeypatch, capsys, "status", run, "--json")
    assert json.loads(shown.out)["shots_left"] == 0
    code, shown = call(monkeypatch, capsys, "watch", run)
    assert code == 0
    assert "finished" in shown.out
    assert "waiting" not in shown.err
    code, shown = call(monkeypatch, capsys, "resume", run, "--json")
    assert json.loads(shown.out)["results"]["shots"] == 1200
    code, shown = call(monkeypatch, capsys, "resume", run)
    assert "is finished" in shown.out


def stopped_run(directory):
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(prepare(write_study(directory)), directory / "run", Watcher(on_round=stop))
    return directory / "run"


def test_a_watch_that_began_before_the_resumption_sees_the_run_to_its_end(
    tmp_path, monkeypatch, capsys
):
    run = stopped_run(tmp_path)
    resumed = []

    def meanwhile(_):
        if not resumed:
            resumed.append(resume(RunStore(run)))

    monkeypatch.setattr("aqka.cli.run.time.sleep", meanwhile)
    code, shown = call(monkeypatch, capsys, "watch", run, "--json")
    assert code == 0
    states = [json.loads(line)["state"] for line in shown.out.splitlines()]
    assert states == ["interrupted", "finished"]
    assert "waiting for: aqka resume" in shown.err


def test_a_watch_of_a_run_that_nobody_takes_up_ends(tmp_path, monkeypatch, capsys):
    run = stopped_run(tmp_path)
    monkeypatch.setattr("aqka.cli.run.RESUME_SECONDS", 0.0)
    code, shown = call(monkeypatch, capsys, "watch", run, "--json")
    assert code == 0
    assert len(shown.out.splitlines()) == 1


def test_every_command_has_help_with_an_example(monkeypatch, capsys):
    for command in ("init", "check", "run", "resume", "status", "watch", "doctor", "plan"):
        code, shown = call(monkeypatch, capsys, command, "--help")
        assert code == 0
        assert f"Example: aqka {command}" in " ".join(shown.out.split())
    assert "--install-completion" in call(monkeypatch, capsys, "--help")[1].out


def test_plan_reads_a_study(tmp_path, monkeypatch, capsys):
    path = write_study(tmp_path)
    code, shown = call(monkeypatch, capsys, "plan", path, "--json")
    assert code == 0
    quoted = json.loads(shown.out)
    assert quoted["shots"] == 1200
    code, shown = call(monkeypatch, capsys, "plan", path, "--budget", "2400", "--json")
    assert json.loads(shown.out)["shots"] == 2400
    code, shown = call(monkeypatch, capsys, "plan", path, "--budget", "2400 parsec")
    assert (code, "unknown unit 'parsec'" in shown.err) == (2, True)


def test_a_backend_that_fails_for_good_ends_with_code_4(tmp_path, monkeypatch, capsys):
    service = FakeRuntime(tmp_path / "service")
    monkeypatch.setattr("aqka.study.backends.ibm_device", lambda _: service)
    accept = service.accept

    def failing(*given):
        service.next_job = "ERROR"
        return accept(*given)

    service.accept = failing
    path = write_study(tmp_path, backend="ibm", extra='device = "ibm_x"', budget="100 shots")
    with pytest.warns(RuntimeWarning, match="failed"):
        code, shown = call(monkeypatch, capsys, "run", path, "--yes")
    assert code == 4
    assert "3 rounds in a row gave no shots" in shown.err
    assert "aqka resume" in shown.err
    assert progress(tmp_path / "run").state == "stopped"
    service.accept = accept
    code, shown = call(monkeypatch, capsys, "resume", tmp_path / "run", "--yes")
    assert code == 0
    assert progress(tmp_path / "run").qpu_seconds > 0


def test_a_refusal_of_ibms_is_told_without_its_text(tmp_path, monkeypatch, capsys):
    from qiskit_ibm_runtime.exceptions import IBMNotAuthorizedError

    service = FakeRuntime(tmp_path / "service")
    monkeypatch.setattr("aqka.study.backends.ibm_device", lambda _: service)

    def refuse(*_):
        raise IBMNotAuthorizedError("401 marker-token")

    service.accept = refuse
    path = write_study(tmp_path, backend="ibm", extra='device = "ibm_x"', budget="100 shots")
    code, shown = call(monkeypatch, capsys, "run", path, "--yes")
    assert code == 4
    assert "IBMNotAuthorizedError" in shown.err
    assert "marker-token" not in shown.out + shown.err


def test_doctor_knows_the_extras_of_the_package(monkeypatch, capsys):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {
        name: tuple(requirement.split(">")[0] for requirement in requirements)
        for name, requirements in project["optional-dependencies"].items()
        if name not in ("all", "dev", "docs")
    }
    assert {name: packages for name, (_, packages) in EXTRAS.items()} == declared
    monkeypatch.setattr(
        "aqka._util.optional._version", lambda package: None if package == "pyarrow" else "1.0"
    )
    missing = [extra for extra in examine() if extra["missing"]]
    assert [(extra["name"], extra["command"]) for extra in missing] == [
        ("parquet", "pip install 'aqka[parquet]'")
    ]
    code, shown = call(monkeypatch, capsys, "doctor")
    assert code == 0
    assert "'aqka[parquet]'" in shown.out
    code, shown = call(monkeypatch, capsys, "doctor", "--json")
    assert json.loads(shown.out)["extras"][1]["missing"] == ["pyarrow"]


def test_scaling_and_components_know_the_training_points_only():
    table = load_table(DataSection(source="breast-cancer"), ROOT)
    split, section = SplitSection(train=50, test=30), FeatureMapSection(qubits=3, range=[-1.0, 2.0])
    points = encode(table, split, section.range, 3)
    assert points.train.min(axis=0) == pytest.approx([-1] * 3)
    assert points.train.max(axis=0) == pytest.approx([2] * 3)
    # Test points moved far away change nothing about the training points, and are clipped.
    _, test = split_points(table, split)
    far = table.X.copy()
    far[test] = 1e6
    moved = encode(table._replace(X=far), split, section.range, 3)
    assert np.array_equal(moved.train, points.train)
    assert not np.array_equal(moved.test, points.test)
    assert -1 <= moved.test.min() <= moved.test.max() <= 2


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name != "diabetes"])
def test_built_in_data_run(name, tmp_path):
    text = small().replace('"moons"', f'"{name}"').replace("train = 12", "train = 24")
    text = text.replace("test = 6", "test = 20")
    found = carry_out(prepare(write_study(tmp_path, text)), tmp_path / "run").results
    assert found["results"]["test_points"] == 20
    assert 0 <= found["results"]["majority_accuracy"] <= 1


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "results.json"
    write_atomically(path, b"old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_json_is_what_every_reader_takes():
    text = as_json({"a": float("nan"), "b": (1, float("inf")), "c": "<é>"})
    assert json.loads(text, parse_constant=pytest.fail) == {"a": None, "b": [1, None], "c": "<é>"}


def test_a_full_disk_at_the_end_loses_no_shot(tmp_path, monkeypatch):
    path = write_study(tmp_path)

    def full(file, content):
        if b'"results"' in content:
            raise OSError(28, "No space left on device")
        write_atomically(file, content)

    prepared = prepare(path)
    with monkeypatch.context() as patch:
        patch.setattr("aqka.study.store.write_atomically", full)
        with pytest.raises(LedgerError, match="No shot is lost"):
            carry_out(prepared, tmp_path / "run")
    assert progress(tmp_path / "run").state == "stopped"
    found = resume(RunStore(tmp_path / "run")).results
    assert found["results"]["shots"] == 1200


def test_resume_writes_the_report_that_a_kill_prevented(tmp_path, monkeypatch, capsys):
    run = tmp_path / "run"
    carry_out(prepare(write_study(tmp_path)), run)
    assert not (run / "report.html").exists()
    code, shown = call(monkeypatch, capsys, "resume", run)
    assert (code, "is finished" in shown.out) == (0, True)
    written = (run / "report.html").stat().st_mtime_ns
    call(monkeypatch, capsys, "resume", run)
    assert (run / "report.html").stat().st_mtime_ns == written


def test_the_documented_example_is_the_one_that_is_written():
    page = (ROOT / "docs" / "reference" / "study.md").read_text()
    assert page.split("```toml\n")[1].split("```")[0] == example()


def test_lost_predictions_are_not_taken_for_predictions_that_have_not_begun(tmp_path, monkeypatch):
    looks = []

    def after_a_round(directory):
        begun = (directory / "predictions" / "ledger.sqlite").exists()
        looks.extend([1] if begun else [])
        return [] if len(looks) > 2 else None

    monkeypatch.setattr("aqka.study.carry_out.cancelled_jobs", after_a_round)
    with pytest.raises(CancelledError):
        carry_out(prepare(write_study(tmp_path)), tmp_path / "run")
    assert progress(tmp_path / "run").prediction_shots > 0
    for file in (tmp_path / "run" / "predictions").glob("ledger.sqlite*"):
        file.unlink()
    with pytest.raises(LedgerError, match=r"its end is lost, with shots that were paid for"):
        progress(tmp_path / "run")
