"""The files of a run belong together: every command notices one that was swapped or edited."""

import json
import shutil
from pathlib import Path

import pytest

from aqka import LedgerError, MatrixBackend, acquire
from aqka.backends.simulated import SimulatedBackend
from aqka.runs import audit
from aqka.runs.head import head_path
from aqka.runs.history import fold
from aqka.runs.ledger import LEDGER_NAME, Ledger
from aqka.study import carry_out as carrying
from aqka.study import progress
from aqka.study.carry_out import carry_out, resume
from aqka.study.directory import prepare
from aqka.study.new_points import predict_new_points
from aqka.study.store import RunStore
from tests.cli.in_process import call
from tests.study.helpers import small, write_study

HEAD = head_path(Path(LEDGER_NAME)).name
LEDGER_FILES = (LEDGER_NAME, HEAD)
COMMANDS = ("status", "report", "resume", "predict")
QUICK = small(budget="300 shots", rounds=2).replace("[method]", '[method]\nlearner = "ridge"')
LEFT_BEHIND = (".lock", "-shm", "-wal")  # by a reader, and without content


def carried_out(directory, text):
    prepared = prepare(write_study(directory, text))
    carry_out(prepared, directory / "run")
    return directory / "run"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run, the same study run once more, and the study with another seed; with new points."""
    place = tmp_path_factory.mktemp("runs")
    new = place / "new.csv"
    new.write_text("x,y\n0.3,0.2\n-0.5,0.9\n")
    found = {
        "own": carried_out(place / "own", QUICK),
        "twin": carried_out(place / "twin", QUICK),
        "other seed": carried_out(place / "other", "seed = 7\n" + QUICK),
    }
    return found | {"new": new}


@pytest.fixture
def run(runs, tmp_path):
    return shutil.copytree(runs["own"], tmp_path / "run")


@pytest.fixture
def bought(monkeypatch):
    """Shots that simulated backends were asked for."""
    asked = []
    submit = SimulatedBackend.submit

    def counting(self, plan, tag):
        asked.append(plan.total)
        return submit(self, plan, tag)

    monkeypatch.setattr(SimulatedBackend, "submit", counting)
    return asked


def content(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
        and not (path.name.endswith(LEFT_BEHIND) and not path.stat().st_size)
        # An index of the write-ahead file, made anew by whoever opens the ledger.
        and not path.name.endswith("-shm")
    }


def take(*names):
    """Put files of another run in place of the run's own."""

    def swap(run, other):
        for name in names:
            (run / name).unlink(missing_ok=True)
            shutil.copy(other / name, run / name)

    return swap


def remove(*names):
    def damage(run, other=None):
        for name in names:
            path = run / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return damage


def edit(name, old, new):
    def damage(run, other=None):
        path = run / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return damage


def edit_results(change):
    def damage(run, other=None):
        path = run / "results.json"
        results = json.loads(path.read_text())
        change(results)
        path.write_text(json.dumps(results, indent=2))

    return damage


def both(*damages):
    def damage(run, other=None):
        for one in damages:
            one(run, other)

    return damage


PREDICTED = tuple(f"predictions/{name}" for name in LEDGER_FILES)
SWAPS = {
    "ledger": take(LEDGER_NAME),
    "ledger and head": take(*LEDGER_FILES),
    "ledger, head and predictions": take(*LEDGER_FILES, *PREDICTED),
    "ledger, head and results": take(*LEDGER_FILES, "results.json"),
    "ledger and head, without results": both(take(*LEDGER_FILES), remove("results.json")),
    "head": take(HEAD),
    "results": take("results.json"),
    "predictions' ledger": take(PREDICTED[0]),
    "predictions": take(*PREDICTED),
    "predictions, without results": both(take(*PREDICTED), remove("results.json")),
}
DAMAGES = {
    "budget in the study file": edit("study.toml", "300 shots", "400 shots"),
    "seconds in the study file": edit("study.toml", "test_shots = 20", "test_shots = 21"),
    "a comment in the study file": edit("study.toml", "[data]", "# 99 % accurate\n[data]"),
    "accuracy in the results": edit_results(
        lambda results: results["results"].update(accuracy=0.99)
    ),
    "a label in the results": edit_results(
        lambda results: results["results"]["predictions"].reverse()
    ),
    "quote in the results": edit_results(lambda results: results["quote"].update(shots=100)),
    "another name in the results": edit_results(lambda results: results.update(run_id="b")),
    "results without results": edit_results(lambda results: results.pop("results")),
    "no study file's data": remove("data.npz"),
    "no ledger": remove(LEDGER_NAME),
    "no head": remove(HEAD),
    "no ledger, no head": remove(*LEDGER_FILES),
    "no ledger, no results": remove(LEDGER_NAME, "results.json"),
    "no ledger, no head, no results": remove(*LEDGER_FILES, "results.json"),
    "no predictions": remove("predictions"),
    "no predictions' ledger": remove(PREDICTED[0]),
    "no predictions' head": remove(PREDICTED[1]),
    "no predictions, no results": remove("predictions", "results.json"),
}


def check_refused(run, new, command, bought, monkeypatch, capsys):
    before = content(run)
    arguments = (run, new) if command == "predict" else (run,)
    code, out, told = call(monkeypatch, capsys, command, *arguments)
    assert code == 2, f"{command} believes it: {out}"
    assert told.splitlines()[-1].startswith("error: ")
    assert bought == []
    assert content(run) == before


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("other", ["twin", "other seed"])
@pytest.mark.parametrize("swap", SWAPS)
def test_a_file_of_another_run_is_noticed(
    runs, run, swap, other, command, bought, monkeypatch, capsys
):
    SWAPS[swap](run, runs[other])
    check_refused(run, runs["new"], command, bought, monkeypatch, capsys)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_points_of_another_run_are_noticed(runs, run, command, bought, monkeypatch, capsys):
    # Those of the same study are the same, to the bit.
    assert (run / "data.npz").read_bytes() == (runs["twin"] / "data.npz").read_bytes()
    elsewhere = carried_out(run.parent / "b", "seed = 3\n" + QUICK)
    bought.clear()
    take("data.npz")(run, elsewhere)
    check_refused(run, runs["new"], command, bought, monkeypatch, capsys)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_an_edited_or_lost_file_is_noticed(runs, run, damage, command, bought, monkeypatch, capsys):
    DAMAGES[damage](run)
    check_refused(run, runs["new"], command, bought, monkeypatch, capsys)


def test_a_ledger_that_grew_since_it_was_read_is_shown_as_it_is_now(run, monkeypatch, capsys):
    with Ledger(run / LEDGER_NAME) as ledger:
        before = fold(list(ledger.entries())[:3], keep_rounds=False)
    monkeypatch.setattr(audit, "verify", lambda path: before)
    code, out, _ = call(monkeypatch, capsys, "ledger", "verify", run)
    assert (code, out) == (0, f"{RunStore(run).training.summary}\n")
    assert out != f"{before.summary}\n"


@pytest.mark.parametrize("other", ["twin", "other seed"])
def test_the_ledger_of_another_run_is_not_sound_here(runs, run, other, monkeypatch, capsys):
    take(*LEDGER_FILES)(run, runs[other])
    code, out, _ = call(monkeypatch, capsys, "ledger", "verify", run)
    assert (code, out.startswith("NOT sound: ")) == (1, True)
    target = run.parent / "counts.csv"
    code, _, told = call(monkeypatch, capsys, "ledger", "export", run, target)
    assert (code, told.startswith("error: NOT sound: "), target.exists()) == (1, True, False)
    # Of the ledger alone there is nothing wrong.
    assert call(monkeypatch, capsys, "ledger", "verify", run / LEDGER_NAME)[0] == 0


def test_a_run_that_ends_while_it_is_looked_at_is_believed(run, monkeypatch):
    """The ledger was read before it was sealed, the results after."""
    reads = []

    def early(entries):
        entries = list(entries)
        reads.append(len(entries))
        return fold(entries[:-1] if len(reads) == 1 else entries)

    monkeypatch.setattr(audit, "fold", early)
    assert progress.RunStore(run).training.sealed is not None
    assert len(reads) == 2


def test_new_points_of_another_run_are_noticed(runs, run, bought, monkeypatch, capsys):
    twin = shutil.copytree(runs["twin"], run.parent / "twin")
    predict_new_points(twin, runs["new"])
    shutil.copytree(twin / "new-points", run / "new-points")
    bought.clear()
    check_refused(run, runs["new"], "predict", bought, monkeypatch, capsys)


def test_predictions_that_were_begun_and_are_lost_are_not_bought_again(
    runs, tmp_path, bought, monkeypatch, capsys
):
    """Training is over, the predictions are not, and nothing is sealed yet."""
    monkeypatch.setattr(carrying, "final_digests", stop)
    prepared = prepare(write_study(tmp_path, QUICK))
    with pytest.raises(KeyboardInterrupt):
        carry_out(prepared, tmp_path / "run")
    monkeypatch.undo()
    run = tmp_path / "run"
    assert (run / PREDICTED[0]).exists()
    shutil.rmtree(run / "predictions")
    spent = len(bought)
    before = content(run)
    code, _, told = call(monkeypatch, capsys, "resume", run)
    assert code == 2
    assert told.startswith("error: ")
    assert len(bought) == spent
    assert content(run) == before


def stop(*_):
    raise KeyboardInterrupt


def scores(run):
    return json.loads((run / "results.json").read_text())["results"]


def test_lost_results_are_written_anew_without_a_shot(run, monkeypatch, capsys):
    expected = (run / "results.json").read_bytes()
    (run / "results.json").unlink()
    assert call(monkeypatch, capsys, "status", run, "--json")[0] == 0
    again = resume(RunStore(run))
    assert again.results["actual"]["shots"] == 300
    assert (run / "results.json").read_bytes() == expected
    assert call(monkeypatch, capsys, "resume", run)[0] == 0


def test_lost_results_cost_no_shot(run, bought, monkeypatch, capsys):
    (run / "results.json").unlink()
    assert call(monkeypatch, capsys, "resume", run)[0] == 0
    assert bought == []


@pytest.mark.parametrize("instant", ["before the seal", "between seal and results"])
def test_a_run_killed_at_its_end_is_resumed(runs, tmp_path, instant, bought, monkeypatch, capsys):
    name = "final_digests" if instant == "before the seal" else "write_results"
    monkeypatch.setattr(carrying, name, stop)
    prepared = prepare(write_study(tmp_path, QUICK))
    with pytest.raises(KeyboardInterrupt):
        carry_out(prepared, tmp_path / "run")
    monkeypatch.undo()
    run, spent = tmp_path / "run", len(bought)
    for command in ("status", "report", "resume", "status", "report"):
        assert call(monkeypatch, capsys, command, run)[0] == 0
    assert len(bought) == spent
    assert scores(run) == scores(runs["own"])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_sound_run_is_believed(runs, run, command, monkeypatch, capsys):
    arguments = (run, runs["new"]) if command == "predict" else (run,)
    assert call(monkeypatch, capsys, command, *arguments)[0] == 0


def test_the_ledger_of_a_run_begun_from_python_is_not_taken_for_the_studys(
    runs, run, bought, monkeypatch, capsys
):
    acquire(MatrixBackend([[1, 0.5], [0.5, 1]]), [1, -1], 50, directory=run.parent / "python")
    take(*LEDGER_FILES)(run, run.parent / "python")
    bought.clear()
    with pytest.raises(LedgerError, match=r"was not begun by the study\.toml"):
        progress.ProgressReader(progress.RunStore(run)).look()
    for command in COMMANDS:
        check_refused(run, runs["new"], command, bought, monkeypatch, capsys)
