"""What every experiment must hold, and a quick run of each."""

import json

import numpy as np
import pytest

from aqka.errors import InputError
from aqka.evaluation.reproduce.experiments import experiment_names, make_experiment
from aqka.evaluation.reproduce.reproduction import reproduce, set_up
from aqka.evaluation.spending import EXACT, MAJORITY, all_rows, baseline_rows
from aqka.evaluation.tasks import planted_sparse

NAMES = experiment_names()


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_is_complete(name):
    experiment = make_experiment(name)
    assert experiment.title
    assert experiment.place
    assert experiment.claims
    assert experiment.full.keys() == experiment.quick.keys()
    for parameters in (experiment.full, experiment.quick):
        for protocol in ("paper", "fair"):
            cells = experiment.cells(parameters, protocol)
            assert json.loads(json.dumps(cells)) == cells
            assert {cell["protocol"] for cell in cells} == {protocol}
            assert len({cell["seed"] for cell in cells}) == parameters["seeds"]
    says = [(claim.place, claim.says) for claim in experiment.claims]
    assert len(set(says)) == len(says)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("protocol", ["paper", "fair"])
def test_a_quick_run_writes_everything(tmp_path, name, protocol):
    made = set_up(name, tmp_path, quick=True, seeds=1, protocol=protocol)
    done = reproduce(made, workers=1)
    directory = tmp_path / protocol / name
    assert made.directory == directory
    assert len((directory / "results.jsonl").read_text().splitlines()) == len(made.cells)
    assert done.pictures
    for picture in done.pictures:
        assert (directory / picture).stat().st_size > 2000
    report = (directory / "reproduction.md").read_text()
    assert "A quick run" in report
    for judgement in done.judgements:
        assert judgement.claim.says.replace("|", "\\|") in report
        assert judgement.explanation in report
        assert judgement.remark in report
        if judgement.verdict != "reproduced":
            assert judgement.explanation
    # Plain accuracy never stands alone.
    with_accuracy = [row for row in done.results.rows if "accuracy" in row]
    for row in with_accuracy:
        assert {"balanced_accuracy", "correlation"} <= row.keys()
    if with_accuracy:
        assert {EXACT, MAJORITY} <= {row["method"] for row in with_accuracy}
    verdicts = json.loads((directory / "claims.json").read_text())
    assert len(verdicts["claims"]) == len(done.judgements)


def test_rows_measure_what_they_say():
    task = planted_sparse(40, 30, 4, seed=2)
    exact, majority = baseline_rows(task, "paper")
    assert exact["accuracy"] == 1.0
    assert exact["mse"] < 1e-20
    assert exact["correlation"] == pytest.approx(1.0)
    assert majority["accuracy"] == np.mean(task.test_labels == np.sign(np.sum(np.sign(task.y))))
    poor, rich = all_rows(task, ["uniform"], [820, 10**12], "paper", seed=0)
    assert rich["correlation"] > 0.999 > poor["correlation"]
    assert rich["mse"] < poor["mse"]
    assert rich["accuracy"] == 1.0
    assert poor["seen"] == rich["seen"] == 1.0
    (few,) = all_rows(task, ["uniform"], [205], "paper", seed=0)
    assert few["seen"] == 0.25


def test_protocols_differ_and_unknown_ones_are_refused(tmp_path):
    task = planted_sparse(40, 30, 4, seed=2)
    paper, fair = (all_rows(task, ["aqka"], [2000], p, seed=0)[0] for p in ("paper", "fair"))
    assert fair["mse"] < paper["mse"]  # the fixed ridge of 0.01 ignores the shot noise
    with pytest.raises(InputError, match="protocol must be"):
        set_up("synthetic", tmp_path, protocol="practical")
    with pytest.raises(InputError, match="Did you mean 'synthetic'"):
        set_up("sinthetic", tmp_path)
