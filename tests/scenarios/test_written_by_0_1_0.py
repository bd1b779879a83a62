"""Runs and results that version 0.1.0 wrote open, verify and go on to the same bits."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from aqka import LedgerError, MatrixBackend, QuantumRidgeClassifier, Schedule, acquire, predict
from aqka._util.arrays import digest
from aqka.allocators import make_allocator
from aqka.allocators.aqka import Aqka
from aqka.allocators.schedule import EVEN_START, ONE_LOOK, ONE_SHOT
from aqka.core import FAIR, PAPER
from aqka.dropins import ShotKernel
from aqka.report.run_report import run_report
from aqka.runs.audit import verify
from aqka.study.carry_out import resume
from aqka.study.store import RunStore
from aqka.sweep import store as sweep_store
from aqka.sweep import workers as sweep_workers
from aqka_research.compare import comparison
from aqka_research.compare.comparison import compare
from aqka_research.reproduce.experiments import experiment_names, make_experiment
from aqka_research.reproduce.reproduction import reproduce, set_up
from tests.conftest import make_labels

WRITTEN = Path(__file__).parents[1] / "fixtures" / "written_by_0_1_0"
KERNEL, Y = np.load(WRITTEN / "kernel.npy"), make_labels(12)
X = np.linspace(0.2, 2.9, 24).reshape(12, 2)
ALPHA = "d2fe8d12ec0bf7c0"
"""Digest of the head's coefficients on the processor that wrote the prediction's ledger."""
RUNS = {
    "aqka": {"allocator": "aqka"},
    "auto": {"allocator": "auto"},
    "paper": {"allocator": "hybrid", "reading": "paper", "ridge": 0.02},
    "schedule": {
        "allocator": Aqka(floor=0.1),
        "schedule": Schedule(0.3, 5, 0.1, "round-robin", 2),
    },
    "oracle": {"allocator": "aqka-oracle", "true_kernel": KERNEL},
    "svm": {"allocator": "aqka-svm", "C": 2.0},
    "uniform": {"allocator": "uniform"},
}


@pytest.fixture(scope="module")
def expected():
    return np.load(WRITTEN / "tables.npz")


@pytest.fixture
def written(tmp_path):
    return shutil.copytree(WRITTEN, tmp_path / "written")


class Counting(MatrixBackend):
    """Counts the shots it is asked for; a fingerprint of its base class."""

    asked = 0

    def submit(self, plan, tag):
        self.asked += plan.total
        return super().submit(plan, tag)

    def fingerprint(self):
        return super().fingerprint().replace("Counting", "MatrixBackend")


@pytest.mark.parametrize("name", RUNS)
def test_a_stopped_run_goes_on_to_the_same_counts(written, expected, name):
    directory = written / "ledgers" / name
    before = verify(directory)
    assert before.sound
    backend = Counting(KERNEL, seed=4)
    session = acquire(backend, Y, 600, seed=3, directory=directory, **RUNS[name])
    np.testing.assert_array_equal(session.table.shots, expected[f"{name}_shots"])
    np.testing.assert_array_equal(session.table.hits, expected[f"{name}_hits"])
    assert before.shots > 0
    assert backend.asked == 600 - before.shots  # what was paid for is not bought again
    assert verify(directory).finished


def test_a_stopped_prediction_goes_on_to_the_same_counts(written, expected):
    head = acquire(MatrixBackend(KERNEL, seed=4), Y, 600, "aqka", seed=3).fit("ridge-kfold")
    directory = written / "ledgers" / "predict"
    before = verify(directory)
    backend = Counting(KERNEL[:5], rectangular=True, seed=4)
    if digest(head.alpha) != ALPHA:  # a processor with other last bits: another head, so refused
        with pytest.raises(LedgerError, match=f"alpha \\(there '{ALPHA}'"):
            predict(head, backend, 3000, seed=3, directory=directory)
        assert backend.asked == 0
        return
    found = predict(head, backend, 3000, seed=3, directory=directory)
    np.testing.assert_array_equal(found.table.shots, expected["predict_shots"])
    np.testing.assert_array_equal(found.table.hits, expected["predict_hits"])
    assert before.sound
    assert backend.asked == found.table.total - before.shots


def test_an_estimator_finds_its_finished_run(written, expected):
    directory = written / "estimator"
    ledgers = {path: path.read_bytes() for path in directory.rglob("ledger.sqlite")}
    model = QuantumRidgeClassifier(budget=600, directory=directory, seed=3).fit(X, Y > 0)
    np.testing.assert_array_equal(model.session_.table.hits, expected["estimator_hits"])
    assert {path: path.read_bytes() for path in directory.rglob("ledger.sqlite")} == ledgers


def test_a_drop_in_finds_its_kernel(written, expected):
    directory = written / "dropin"
    kernel = ShotKernel(budget=600, test_budget=4000, y=Y[:8], directory=directory, seed=3)
    np.testing.assert_array_equal(kernel.matrix(X[:8]), expected["dropin_train"])
    np.testing.assert_array_equal(kernel.matrix(X[8:], X[:8]), expected["dropin_block"])
    folders = sorted(path.name for path in directory.iterdir() if path.is_dir())
    assert folders == ["0001-training", "0002-pairs"]  # nothing was bought


def test_a_stopped_study_ends_as_the_uninterrupted_one(written):
    done = json.loads((written / "study" / "finished" / "results.json").read_text())
    directory = written / "study" / "stopped"
    results = resume(RunStore(directory)).results
    # Test shots are seeded by the head, so that a processor with other last bits draws others.
    trained, whole = results["results"], done["results"]
    if trained["regularisation"] == whole["regularisation"]:
        assert trained == whole
    else:
        assert trained["regularisation"] == pytest.approx(whole["regularisation"], rel=1e-9)
        assert trained["diagnostics"]["gini"] == pytest.approx(whole["diagnostics"]["gini"])
        assert trained["cross_validated_accuracy"] == whole["cross_validated_accuracy"]
        assert trained["shots"] == whole["shots"]
    assert results["quote"]["shots"] == done["quote"]["shots"]
    for name in ("shots", "submissions", "test_shots"):
        assert results["actual"][name] == done["actual"][name]


def test_a_finished_study_has_its_report(written):
    report = run_report(written / "study" / "finished")
    stored = json.loads((written / "study" / "finished" / "results.json").read_text())
    assert report.state == "finished"
    assert report.point_results.accuracy == stored["results"]["accuracy"]
    assert all(audit.sound for audit in report.ledgers.values())


@pytest.fixture
def same_versions(monkeypatch):
    """Results are kept for the versions that computed them; play those of the fixture."""
    store = WRITTEN / "sweeps" / "compare.jsonl"
    versions = json.loads(store.read_text().splitlines()[0])["versions"]
    for module in (sweep_store, sweep_workers):
        monkeypatch.setattr(module, "versions", lambda: versions)


@pytest.fixture
def nothing_is_measured(monkeypatch):
    def refuse(function, cell):
        raise AssertionError(f"computed again: {function.__module__} {cell}")

    monkeypatch.setattr(sweep_workers, "_compute", refuse)


@pytest.mark.usefixtures("same_versions", "nothing_is_measured")
def test_finished_experiments_are_not_computed_again(written):
    for name in ("theory", "fill"):
        made = set_up(name, written / "sweeps" / "reproduce", quick=True)
        reproduce(made, workers=1)


@pytest.mark.usefixtures("same_versions", "nothing_is_measured")
def test_a_finished_comparison_is_not_computed_again(written):
    tasks = [json.loads((written / "sweeps" / "compare.jsonl").read_text())["cell"]["task"]]
    store = written / "sweeps" / "compare.jsonl"
    found = compare(
        1, tasks=tasks, budgets=[0.3], baseline_budgets=[0.3, 1.0], store=store, workers=1
    )
    assert found.tasks == tasks


def test_what_tags_and_stored_results_depend_on_has_kept_its_name():
    names = json.loads((WRITTEN / "names.json").read_text())
    for name, described in names["allocators"].items():
        assert make_allocator(name).describe() == described
    schedules = (Schedule(), ONE_SHOT, EVEN_START, ONE_LOOK)
    assert [schedule.describe() for schedule in schedules] == names["schedules"]
    assert [reading.describe() for reading in (PAPER, FAIR)] == names["protocols"]
    functions = {name: make_experiment(name).measure for name in experiment_names()}
    functions |= {"compare": comparison.measure}
    found = {name: function.stable_name for name, function in functions.items()}
    del names["cell_functions"]["tiles"]
    assert found == names["cell_functions"]


def test_an_allocator_that_names_nothing_goes_by_its_module():
    class Own(Aqka):
        pass

    assert Own().describe() == f"{__name__}.{Own.__qualname__}(floor=0.05)"
