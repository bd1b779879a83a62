"""The file of finished cells: what a line says, and which lines count."""

import json

from aqka_research.sweep.cells import run_cells
from aqka_research.sweep.store import to_json
from research.tests.sweep import cell_functions
from research.tests.sweep.cell_functions import cells


def test_a_store_line_says_where_a_result_comes_from(tmp_path):
    store = tmp_path / "deep" / "store.jsonl"
    run_cells(cell_functions.spectrum, cells(1), store, workers=1)
    (entry,) = map(json.loads, store.read_text().splitlines())
    assert entry["cell"] == {"seed": 0}
    assert entry["seed"] == 0
    assert entry["function"] == "research.tests.sweep.cell_functions:spectrum"
    assert set(entry["versions"]) == {"aqka", "numpy", "scipy", "python"}
    assert entry["seconds"] > 0
    assert entry["finished"].endswith("Z")


def test_cut_damaged_and_foreign_lines_are_computed_again(tmp_path):
    store = tmp_path / "store.jsonl"
    wanted = cells(5)
    first = run_cells(cell_functions.spectrum, wanted, store, workers=1)
    lines = store.read_text().splitlines()
    damaged = lines[1].replace('"seed": 1', '"seed": 7', 1)
    foreign = lines[2].replace('"aqka": "', '"aqka": "9.')
    store.write_text("\n".join([lines[0], damaged, foreign, lines[3], lines[4][:50]]))
    again = run_cells(cell_functions.spectrum, wanted, store, workers=1)
    assert to_json(again) == to_json(first)
    # The three bad lines stay, and three good ones follow on lines of their own.
    assert len(store.read_text().splitlines()) == 8


def test_a_changed_result_is_computed_again(tmp_path):
    store = tmp_path / "store.jsonl"
    first = run_cells(cell_functions.spectrum, cells(2), store, workers=1)
    for name in ("result", "seconds", "cpu_seconds", "finished"):
        lines = store.read_text().splitlines()
        entry = json.loads(lines[0])
        entry[name] = {"mean": 7.0} if name == "result" else entry[name] * 2
        store.write_text("\n".join([to_json(entry), *lines[1:2], ""]))
        assert to_json(run_cells(cell_functions.spectrum, cells(2), store, workers=1)) == to_json(
            first
        )
        assert len(store.read_text().splitlines()) == 3  # the changed one stays, a good one follows
        store.write_text("\n".join([*lines, ""]))


def test_a_line_without_its_digest_is_computed_again(tmp_path):
    store = tmp_path / "store.jsonl"
    first = run_cells(cell_functions.spectrum, cells(1), store, workers=1)
    entry = json.loads(store.read_text())
    digest = entry.pop("digest")
    for line in (entry, entry | {"dIgest": digest}):
        store.write_text(to_json(line) + "\n")
        again = run_cells(cell_functions.spectrum, cells(1), store, workers=1)
        assert to_json(again) == to_json(first)
        assert len(store.read_text().splitlines()) == 2
