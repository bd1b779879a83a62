import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aqka.errors import InputError
from aqka_research.sweep.cells import run_cells
from aqka_research.sweep.store import Store, to_json
from research.tests.sweep import cell_functions
from research.tests.sweep.cell_functions import cells

ROOT = Path(__file__).parents[3]


def test_same_bits_and_order_for_any_number_of_workers(tmp_path):
    wanted = cells(9)[::-1]
    alone = run_cells(cell_functions.spectrum, wanted, workers=1)
    together = run_cells(cell_functions.spectrum, wanted, tmp_path / "a.jsonl", workers=3)
    read_back = run_cells(cell_functions.spectrum, wanted, tmp_path / "a.jsonl", workers=1)
    assert to_json(alone) == to_json(together) == to_json(read_back)
    assert [result["seed"] for result in alone] == list(range(9))[::-1]
    assert alone[0]["nan"] != alone[0]["nan"]
    assert alone[0]["inf"] == float("inf")


def test_equal_cells_are_computed_once(tmp_path):
    (tmp_path / "traces").mkdir()
    twice = cells(2, traces=str(tmp_path / "traces")) * 2
    results = run_cells(cell_functions.counted, twice, workers=1)
    assert [result["square"] for result in results] == [0, 1, 0, 1]
    assert len(list((tmp_path / "traces").iterdir())) == 2


def test_what_is_stored_is_not_run_again(tmp_path):
    traces, store = tmp_path / "traces", tmp_path / "store.jsonl"
    traces.mkdir()
    seen = []
    wanted = cells(4, traces=str(traces))
    run_cells(cell_functions.counted, wanted[:2], store, workers=1)
    run_cells(
        cell_functions.counted,
        wanted,
        store,
        workers=1,
        on_cell=lambda c, _: seen.append(c["seed"]),
    )
    assert len(list(traces.iterdir())) == 4
    assert seen == [0, 1, 2, 3]


SCRIPT = """
import sys
from aqka_research.sweep.cells import run_cells
from research.tests.sweep import cell_functions
from research.tests.sweep.cell_functions import cells
if __name__ == "__main__":
    cells = [{"seed": seed, "gate": sys.argv[2]} for seed in range(12)]
    run_cells(cell_functions.gated_spectrum, cells, sys.argv[1], workers=2)
"""


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_sweep_goes_on_and_ends_the_same(tmp_path, blow):
    script, store, gate = tmp_path / "sweep.py", tmp_path / "store.jsonl", tmp_path / "gate"
    gate.touch()
    script.write_text(SCRIPT)
    paths = os.pathsep.join(map(str, (ROOT / "src", ROOT / "research/src", ROOT)))
    process = subprocess.Popen(
        [sys.executable, str(script), str(store), str(gate)],
        env={**os.environ, "PYTHONPATH": paths},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not store.exists() or store.read_bytes().count(b"\n") < 3:
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(blow)
    gate.unlink()
    process.wait(600)
    done = store.read_bytes().count(b"\n")
    assert 3 <= done < 12
    _wait_until_empty(process.pid)
    with store.open("ab") as file:
        file.write(b'{"key": "half a li')
    wanted = cells(12, gate=str(gate))
    before = store.read_bytes().count(b"\n")
    resumed = run_cells(cell_functions.gated_spectrum, wanted, store, workers=2)
    fresh = store.read_bytes().count(b"\n") - before - 1
    assert fresh == 12 - done
    straight = run_cells(cell_functions.spectrum, cells(12), workers=1)
    assert to_json(resumed) == to_json(straight)


def _wait_until_empty(group: int) -> None:
    """Fail if the sweep's workers outlive it."""
    for _ in range(2000):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError("workers outlive their sweep")


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_names_its_cell_and_keeps_the_rest(tmp_path, workers):
    store = tmp_path / "store.jsonl"
    with pytest.raises(ZeroDivisionError) as caught:
        run_cells(cell_functions.fails, cells(8), store, workers=workers)
    assert "{'seed': 3}" in caught.value.__notes__[0]
    assert store.read_bytes().count(b"\n") >= 2


def test_what_cannot_work_is_refused(tmp_path):
    with pytest.raises(InputError, match="top level"):
        run_cells(lambda cell: cell, cells(1))
    with pytest.raises(InputError, match="workers must be"):
        run_cells(cell_functions.spectrum, cells(1), workers=0)
    with pytest.raises(InputError, match="made of numbers"):
        run_cells(cell_functions.spectrum, [{"seed": object()}])
    with pytest.raises(InputError, match="scheduler"):
        run_cells(cell_functions.spectrum, cells(1), workers=2, scheduler="tcp://127.0.0.1:1")
    with Store(tmp_path / "s"), pytest.raises(InputError, match="another process"):
        run_cells(cell_functions.spectrum, cells(1), tmp_path / "s", workers=1)
