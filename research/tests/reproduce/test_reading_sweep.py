import json

import distributed

from aqka_research.paper_reading import LITERAL, PaperReading
from aqka_research.read_runs import forget_runs
from aqka_research.reproduce.experiments import make_experiment
from aqka_research.reproduce.reading_sweep import (
    finished_sweep,
    gather,
    run_sweep,
    sweep_cells,
)
from aqka_research.sweep.store import to_json

KNOWN = PaperReading(diagonal="known")
WIDER = PaperReading(width="0.05")
READINGS = {"heatmap": [LITERAL, KNOWN], "gini": [LITERAL, KNOWN, WIDER]}


def test_a_sweep_gives_each_reading_the_rows_of_a_run_of_its_own(tmp_path):
    cells = sweep_cells(READINGS, quick=True, seeds=1)
    swept = run_sweep(READINGS, cells, tmp_path / "store.jsonl", workers=1)
    assert {name: list(found) for name, found in swept.results.items()} == READINGS
    for name, readings in READINGS.items():
        experiment = make_experiment(name)
        for reading in readings:
            forget_runs()
            own = [
                {**cell, **row}
                for cell in experiment.cells({**experiment.quick, "seeds": 1}, reading.name)
                for row in json.loads(json.dumps(experiment.measure(cell)))["rows"]
            ]
            rows = swept.results[name][reading].rows
            assert [{**row, "protocol": reading.name} for row in rows] == own
    # What a switch cannot reach is not run again for it.
    real = [part for cell in cells for part in cell["parts"] if "digits" in str(part)]
    assert all(part[2] == [LITERAL.name, KNOWN.name] for part in real)
    # Nothing is computed twice: the second call finds all cells.
    again = run_sweep(READINGS, cells, tmp_path / "store.jsonl", workers=1)
    assert again.seconds == swept.seconds
    assert len((tmp_path / "store.jsonl").read_text().splitlines()) == len(cells)


def test_of_a_stopped_sweep_the_finished_seeds_are_had(tmp_path):
    cells = sweep_cells(READINGS, quick=True, seeds=2)
    late = next(cell for cell in cells if cell["seed"] == 1 and cell["parts"][0][0] == "gini")
    store = tmp_path / "store.jsonl"
    run_sweep(READINGS, [cell for cell in cells if cell is not late], store, workers=1)
    found = finished_sweep(READINGS, cells, store).results
    for reading in READINGS["gini"]:
        assert found["gini"][reading].unique("seed") == [0]
    assert found["heatmap"][LITERAL].unique("seed") == [0, 1]


def test_rows_that_readings_share_are_kept_once(tmp_path):
    readings = {"heatmap": [LITERAL, KNOWN, PaperReading(floor="none")]}
    (cell,) = sweep_cells(readings, quick=True, seeds=1)
    run_sweep(readings, [cell], tmp_path / "store.jsonl", workers=1)
    (line,) = (tmp_path / "store.jsonl").read_text().splitlines()
    result = json.loads(line)["result"]
    (found,) = result["found"]
    literal, unfloored = found[LITERAL.name], found["literal; floor=none"]
    assert literal[0] == unfloored[0]  # uniform
    assert literal[1] != unfloored[1]  # the oracle
    assert len(result["rows"]) < sum(map(len, found.values()))
    rows = gather(readings, [(cell, result)])["heatmap"]
    assert [row["method"] for row in rows[LITERAL].rows] == ["uniform", "aqka-oracle"]


def test_readings_are_swept_on_a_cluster_to_the_same_bits(tmp_path):
    readings = {"heatmap": [LITERAL, PaperReading(floor="none")]}
    cells = sweep_cells(readings, quick=True, seeds=1)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        far = run_sweep(readings, cells, tmp_path / "far", scheduler=cluster.scheduler_address)
    near = run_sweep(readings, cells, tmp_path / "near", workers=1)
    assert to_json([one.rows for one in far.results["heatmap"].values()]) == to_json(
        [one.rows for one in near.results["heatmap"].values()]
    )
