"""Which runs a folder has, and what is said of each."""

import json
import os

import numpy as np
import pytest

from aqka import MatrixBackend, QuantumRidgeClassifier, acquire
from aqka.errors import InputError
from aqka.serve.runs import (
    CANNOT_BE_READ,
    FolderWatch,
    find_runs,
    job_rows,
    look_at,
    run_key,
    version_of,
)
from aqka.study.store import RunStore
from tests.conftest import make_kernel, make_labels
from tests.report.runs import HOSTILE_DIRECTORY
from tests.serve.conftest import RunInProgress


def rows_by_name(folder):
    return {look["name"]: look for look in FolderWatch(folder).runs().values()}


def test_every_run_of_a_folder_is_told(folder):
    rows = rows_by_name(folder)
    states = {name: row["state"] for name, row in rows.items()}
    assert states == {
        "done/run": "finished",
        "broken off/run": "interrupted",
        "killed/run": "stopped",
        f"hostile/{HOSTILE_DIRECTORY}/run": "finished",
        "damaged": "damaged",
    }
    assert rows["killed/run"]["words"].startswith("aqka resume ")
    assert 0 < rows["killed/run"]["shots"] < rows["killed/run"]["budget"] == 1200
    assert rows["done/run"]["shots"] == 1200
    assert 0 <= rows["done/run"]["accuracy"] <= 1
    stored = json.loads((folder / "done" / "run" / "results.json").read_text())
    assert rows["done/run"]["test_accuracy"] == stored["results"]["accuracy"]
    assert {row["design"] for name, row in rows.items() if name != "damaged"} == {"pairs"}
    assert rows["killed/run"]["test_accuracy"] is rows["damaged"]["design"] is None
    assert "ledger.sqlite" in rows["damaged"]["words"]


def test_a_folder_that_is_a_run_is_that_run(folder):
    [row] = rows_by_name(folder / "done" / "run").values()
    assert row["state"] == "finished"
    assert row["name"] == "run"
    with pytest.raises(InputError, match="there is no folder"):
        FolderWatch(folder / "nowhere")


def test_links_hidden_folders_and_depths_are_left_alone(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder / "done")
    (tmp_path / ".hidden").mkdir()
    os.rename(_copy(folder / "done" / "run", tmp_path / "copy"), tmp_path / ".hidden" / "run")
    deep = tmp_path / "a/b/c/d/e/f"
    deep.mkdir(parents=True)
    _copy(folder / "done" / "run", deep / "run")
    assert find_runs(tmp_path) == {}
    near = _copy(folder / "done" / "run", tmp_path / "a/b/c/d/run")
    assert find_runs(tmp_path) == {run_key(tmp_path, near): near}


def _copy(source, target):
    import shutil

    return shutil.copytree(source, target)


def test_what_was_read_is_kept_until_something_happens(folder, tmp_path, monkeypatch):
    run = RunInProgress(tmp_path)
    try:
        watch = FolderWatch(tmp_path)
        [(key, first)] = watch.runs().items()
        assert first["state"] in ("running", "waiting")
        assert watch.runs()[key] is first
        word = watch.run(key)["version"]
        page = watch.report(key)
        assert watch.report(key) is page
        run.let_rounds_end(1)
        now = watch.run(key)
        assert now["version"] != word
        assert now["rounds"] == first["rounds"] + 1
        assert watch.report(key) is not page
    finally:
        run.finish()
    assert watch.run(key)["state"] == "finished"
    assert watch.run("0123456789abcdef") is None
    assert watch.report("0123456789abcdef") is None


def changes_of(directory):
    # SQLite's readers find each other by files that hold nothing of the ledger, and leave them.
    files = {path: path.stat() for path in directory.rglob("*") if path.is_file()}
    return {
        path: (found.st_mtime_ns, found.st_size)
        for path, found in files.items()
        if not (path.name.endswith("-shm") or (path.name.endswith("-wal") and not found.st_size))
    }


def test_looking_changes_nothing(folder):
    run = folder / "done" / "run"
    before = changes_of(run)
    watch = FolderWatch(folder)
    for key, look in watch.runs().items():
        if look["state"] == "damaged":
            with pytest.raises(CANNOT_BE_READ):
                watch.report(key)
        else:
            assert watch.report(key).startswith("<!DOCTYPE html>")
    assert changes_of(run) == before


def test_jobs_are_told_from_their_entries(folder, tmp_path):
    jobs = job_rows(RunStore(folder / "done" / "run"))
    assert {job["state"] for job in jobs} == {"collected"}
    training = [job for job in jobs if job["purpose"] == "training"]
    assert sum(job["shots"] for job in training) == 1200
    assert [job["round"] for job in training] == sorted(
        (job["round"] for job in training), reverse=True
    )
    assert {job["purpose"] for job in jobs} == {"training", "predictions"}
    stopped = job_rows(RunStore(folder / "killed" / "run"))
    assert {job["purpose"] for job in stopped} == {"training"}


def test_a_job_that_is_out_shows_its_ticket(tmp_path):
    class Lost(BaseException):
        """Ends the process' work as a kill does: nothing is written any more."""

    class NeverCollects(MatrixBackend):
        def collect(self, ticket):
            raise Lost

    with pytest.raises(Lost):
        acquire(NeverCollects(make_kernel(8)), make_labels(8), 100, directory=tmp_path)
    [job] = job_rows(RunStore(tmp_path))
    assert (job["state"], job["purpose"], job["round"]) == ("sent", "training", 0)
    assert job["shots"] > 0
    assert job["ticket"]
    assert job["seconds"] >= 0
    assert look_at(tmp_path, "here")["shots"] == 0
    assert version_of(tmp_path) == version_of(tmp_path)


def test_fits_and_predictions_of_estimators_are_told_too(tmp_path):
    X = np.random.default_rng(0).uniform(0, 3, (8, 2))
    y = np.arange(8) % 2
    for design in ("pairs", "points"):
        model = QuantumRidgeClassifier(design=design, budget=900, directory=tmp_path / design)
        model.fit(X, y).predict(X[:3], budget=120)
    rows = rows_by_name(tmp_path)
    assert len(rows) == 4
    for name, row in rows.items():
        assert row["state"] == "finished", name
        assert row["design"] == name.split("/")[0]
        assert row["shots"] == 900 if "fit-" in name else row["shots"] <= 120
    watch = FolderWatch(tmp_path)
    for key, look in watch.runs().items():
        assert look["jobs"][0]["state"] == "collected"
        if "/fit-" in look["name"]:
            assert "<h1>" in watch.report(key)
        else:
            with pytest.raises(InputError, match="it is a prediction"):
                watch.report(key)
