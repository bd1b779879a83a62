"""Studies whose pairs are read by their flipped bits: run, cut short, resume, report, predict."""

import numpy as np
import pytest

from aqka.errors import InputError
from aqka.report.run_page import run_page
from aqka.report.run_report import run_report
from aqka.runs.audit import verify
from aqka.study.carry_out import Watcher, carry_out, resume
from aqka.study.check import StudyCheck
from aqka.study.directory import prepare
from aqka.study.new_points import predict_new_points
from aqka.study.schema import load_study
from aqka.study.store import RunStore
from tests.study.helpers import QUICK, write_study

TOLERANT = 'design = "pairs"\npairs = { reading = "tolerant" }\n'


def test_a_study_that_was_cut_short_ends_as_one_that_was_not(tmp_path):
    study = prepare(write_study(tmp_path, method=TOLERANT + QUICK, budget="660 shots"))
    whole = carry_out(study, tmp_path / "whole")

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(study, tmp_path / "cut", Watcher(on_round=stop))
    again = resume(RunStore(tmp_path / "cut"))
    assert again.results["results"] == whole.results["results"]
    np.testing.assert_array_equal(again.session.table.flips, whole.session.table.flips)
    assert all(verify(tmp_path / "cut" / part).sound for part in ("", "predictions"))
    assert "shots with h flipped bits" in whole.results["results"]["kernel"]
    assert "with h flipped bits" in run_page(run_report(tmp_path / "whole"))
    np.savez(tmp_path / "new.npz", X=np.random.default_rng(0).normal(size=(3, 2)))
    found = predict_new_points(tmp_path / "whole", tmp_path / "new.npz", 10)
    assert found.prediction.shots.sum() > 0


def test_a_check_says_that_it_simulates_all_zero_shots(tmp_path):
    study = load_study(write_study(tmp_path, method=TOLERANT, budget="660 shots"))[0]
    assert StudyCheck.of(study, tmp_path).shots == "10 shots on every pair, read as all-zero,"


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ('design = "pairs"\npairs = { reading = "tolerent" }', "Did you mean 'tolerant'"),
        ('design = "points"\npairs = { reading = "tolerant" }', "is for design = 'pairs'"),
        (TOLERANT + "[sentinels]\npoints = 2", "without sentinels"),
    ],
)
def test_what_does_not_go_together_is_refused_before_the_first_shot(tmp_path, method, message):
    with pytest.raises(InputError, match=message):
        carry_out(prepare(write_study(tmp_path, method=method)), tmp_path / "run")
    assert not (tmp_path / "run").exists()
