"""What every experiment must hold, and a quick run of each."""

import json

import pytest
from matplotlib.figure import Figure

from aqka_research.reproduce.experiments import experiment_names, make_experiment
from aqka_research.reproduce.reproduction import reproduce, set_up
from aqka_research.spending import EXACT, MAJORITY

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
def test_a_quick_run_writes_everything(tmp_path, monkeypatch, name, protocol):
    saved = protocol == "paper"  # saving takes most of the time, and both draw the same figures
    if not saved:
        monkeypatch.setattr(Figure, "savefig", lambda figure, path, **how: path.touch())
    made = set_up(name, tmp_path, quick=True, seeds=1, protocol=protocol)
    done = reproduce(made, workers=1)
    directory = tmp_path / protocol / name
    assert made.directory == directory
    assert len((directory / "results.jsonl").read_text().splitlines()) == len(made.cells)
    assert done.pictures
    for picture in done.pictures:
        assert (directory / picture).stat().st_size > (2000 if saved else -1)
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
