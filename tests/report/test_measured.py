"""Reports of runs of points that were begun from Python."""

import json

import numpy as np
import pytest

from aqka import StatevectorBackend, acquire
from aqka.backends.statevector import zz_kernel, zz_states
from aqka.cli.report import report as report_command
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.designs import Points
from aqka.estimates import state_errors
from aqka.maths.point_law import equivalent_pair_shots
from aqka.maths.product_bases import ProductBases
from aqka.report import measured as module
from aqka.report.answers import answer_questions
from aqka.report.comparison import comparison_page
from aqka.report.measured import measured_points
from aqka.report.run_page import run_page
from aqka.report.run_report import run_report
from aqka.serve.runs import FolderWatch
from tests.report.helpers import without_links

X = np.random.default_rng(0).uniform(0, 3, size=(30, 2))
Y = np.arange(30) % 2
ABOVE = np.triu_indices(30, k=1)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("points") / "run"
    acquire(StatevectorBackend(X), Y, 30 * 900, design="points", directory=directory)
    return directory


def test_it_says_how_well_the_kernel_is_known(run):
    report = run_report(run)
    found, exact = report.measured, zz_kernel(X)[ABOVE]
    z = (found.kernel[ABOVE] - exact) / found.errors[ABOVE]
    assert 0.7 < np.sqrt(np.mean(z**2)) < 1.3
    law = equivalent_pair_shots(2, 900, exact)
    assert 0.6 < found.equivalent_shots / law < 1.6
    words = answer_questions(report)
    assert "27,000 of 27,000 shots on 30 training points, 900 per point" in words["What was spent?"]
    known = words["How well is the kernel known?"]
    assert f"{found.equivalent_shots:,.0f} shots" in known
    assert "pure states (p = " in known
    assert report.state == "finished"
    assert 1 < len(report.measured.eigenvalues) <= 16  # all that states of two qubits have
    page = without_links(run_page(report))
    for part in ("900 shots each", "9 settings of 2 qubits", "ZZ: 3,000 shots", "started from Py"):
        assert part in page
    comparison_page([report, report])


def test_shots_that_calibrated_the_readout_are_told(tmp_path):
    design = Points(calibration_shots=400)
    acquire(StatevectorBackend(X), Y, 3400, design=design, directory=tmp_path)
    spent = answer_questions(run_report(tmp_path))["What was spent?"]
    assert "3,000 of 3,000 shots on 30 training points" in spent
    assert "400 more calibrated the readout." in spent


def test_the_command_and_the_served_page_have_it(run, capsys):
    report_command([run], as_json=True)
    said = json.loads(capsys.readouterr().out)
    points = said["runs"][0]["kernel_of_points"]
    assert (points["qubits"], points["settings"]) == (2, 9)
    assert 0 < points["median_error"] < 0.1
    assert (run / "report.html").exists()
    watch = FolderWatch(run.parent)
    key, look = next(iter(watch.runs().items()))
    assert (look["name"], look["state"], look["shots"]) == ("run", "finished", 27_000)
    assert "How well is the kernel known?" in watch.report(key)


def test_a_run_that_was_cut_off_is_told_as_far_as_it_goes(tmp_path):
    def stop(_):
        raise KeyboardInterrupt

    backend, options = StatevectorBackend(X), {"design": "points", "directory": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        acquire(backend, Y, 30 * 90, "aqka", on_round=stop, **options)
    report = run_report(tmp_path / "run")
    assert report.measured.kernel.shape == (30, 30)
    assert "call acquire() again" in answer_questions(report)["What to do next?"]

    class Refuses(StatevectorBackend):
        def submit(self, plan, tag):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        acquire(Refuses(X), Y, 900, design="points", directory=tmp_path / "none")
    empty = run_report(tmp_path / "none")
    assert empty.measured.kernel is None
    assert "no shots yet" in without_links(run_page(empty))


def test_above_eight_qubits_the_projected_kernel_is_told(tmp_path):
    wide = np.random.default_rng(1).uniform(0, 1, size=(6, 9))
    directory = tmp_path / "run"
    acquire(StatevectorBackend(wide), Y[:6], 6 * 300, design="points", directory=directory)
    report = run_report(directory)
    assert report.measured.equivalent_shots is None  # pairs do not measure it
    assert "projected kernel" in answer_questions(report)["How well is the kernel known?"]
    assert "9 settings of 9 qubits" in run_page(report)


def read_points(table):
    return measured_points(table, lambda: Points().read(table, None))


def test_points_with_too_few_shots_for_reduced_states_are_no_error():
    table = PointTable(3, choose_settings(9, seed=0))
    plan = even_plan([0, 1, 2], table.settings, shots_per_point=4)
    table.add(plan, OutcomeCounts(np.arange(len(plan)), np.zeros(len(plan), int), plan.shots))
    assert read_points(table).kernel is None


def test_errors_of_mixed_states_and_what_is_too_much(monkeypatch):
    random, letters = np.random.default_rng(0), choose_settings(2, seed=0)
    plan, table = even_plan(range(14), letters, shots_per_point=900), PointTable(14, letters)
    clean = abs(ProductBases(letters).amplitudes(zz_states(X[:14]))) ** 2
    chances = 0.85 * clean + 0.15 / 4
    counts = random.multinomial(plan.shots, chances[plan.points, plan.settings])
    table.add(plan, OutcomeCounts.of_dense(counts))
    found = read_points(table)
    assert "not those of pure states" in " ".join(found.sentences)
    above = np.triu_indices(14, k=1)
    z = (found.kernel - zz_kernel(X[:14]))[above] / found.errors[above]
    assert 0.6 < np.sqrt(np.mean(z**2)) < 1.5
    monkeypatch.setattr(state_errors, "MAX_BOOTSTRAP_OUTCOMES", 6 * 9 * 4 - 1)
    assert read_points(table.subset(range(6))).median_error is None
    monkeypatch.setattr(module, "MAX_ASSESSED_POINTS", 13)
    assert read_points(table).kernel is None
