"""Processes that compute cells, and what happens when one dies."""

import pytest

from aqka_research.sweep.cells import run_cells
from aqka_research.sweep.store import Store, to_json
from research.tests.sweep import cell_functions
from research.tests.sweep.cell_functions import cells


def test_a_worker_has_one_blas_thread():
    for result in run_cells(cell_functions.threads, cells(2), workers=2):
        assert result["threads"]
        assert set(result["threads"]) == {1}


def test_a_dead_worker_costs_nothing(tmp_path):
    wanted = cells(6, mark=str(tmp_path / "mark"))
    results = run_cells(cell_functions.dies_once, wanted, workers=2)
    assert (tmp_path / "mark").exists()
    assert to_json(results) == to_json(run_cells(cell_functions.spectrum, cells(6), workers=1))


def test_a_cell_that_always_kills_stops_the_sweep_and_is_named(tmp_path):
    with pytest.raises(RuntimeError, match=r"worker processes died.*'seed': 2"):
        run_cells(cell_functions.always_dies, cells(4), tmp_path / "store.jsonl", workers=2)
    with Store(tmp_path / "store.jsonl"):
        pass  # the lock is free again
