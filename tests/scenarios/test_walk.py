"""What ``aqka run`` reads and works out on its way: each thing once."""

import sys

import numpy as np
import pytest

from aqka import QuantumRidgeClassifier
from aqka.cli import main
from aqka.designs import Pairs, Points
from aqka.report import run_report
from aqka.runs import ledger
from aqka.study import directory, quoting, store
from tests.study.helpers import write_study


@pytest.fixture
def calls(monkeypatch):
    """Counts what is opened, audited, parsed and quoted, by kind and file."""
    seen: list[tuple[str, str]] = []

    def count(module, name, kind):
        plain = getattr(module, name)

        def counted(*arguments, **options):
            seen.append((kind, getattr(arguments[0], "name", "")))
            return plain(*arguments, **options)

        monkeypatch.setattr(module, name, counted)

    connect = ledger.Ledger._connect

    def counted_connect(self, write):
        seen.append(("opened", str(self.path.relative_to(self.path.parents[1]))))
        return connect(self, write)

    monkeypatch.setattr(ledger.Ledger, "_connect", counted_connect)
    entries = ledger.Ledger.entries

    def counted_entries(self):
        read = list(entries(self))
        if read:  # an empty ledger has nothing to audit
            seen.append(("audited", str(self.path.relative_to(self.path.parents[1]))))
        return iter(read)

    monkeypatch.setattr(ledger.Ledger, "entries", counted_entries)
    for design in (Pairs, Points):
        count(design, "read", "kernel")
    for module in (directory, store):
        count(module, "load_study", "parsed")
    count(quoting, "quote", "quoted")
    count(run_report, "load_study_run", "read again")
    return seen


def give(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["aqka", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    assert "The report is in" in capsys.readouterr().out


def grouped(calls):
    return {kind: sorted(what for k, what in calls if k == kind) for kind, _ in calls}


def test_a_run_opens_audits_parses_and_quotes_once(tmp_path, monkeypatch, calls, capsys):
    give(monkeypatch, capsys, "run", write_study(tmp_path))
    by_kind = grouped(calls)
    ledgers = ["predictions/ledger.sqlite", "run/ledger.sqlite"]
    assert by_kind["opened"] == ledgers  # the training's and the predictions', each once
    assert "audited" not in by_kind  # what was just written is known
    assert by_kind["parsed"] == ["study.toml"]
    assert len(by_kind["quoted"]) == 1
    assert by_kind["kernel"] == ["pairs"] * 2  # and by the report, which draws the shots again
    assert "read again" not in by_kind


@pytest.mark.parametrize("design", ["pairs", "points"])
def test_a_fit_reads_the_kernel_once(calls, design):
    X = np.random.default_rng(0).uniform(0, 3, (12, 2))
    model = QuantumRidgeClassifier(budget=1200, design=design).fit(X, np.arange(12) % 2)
    model.predict(X)
    assert grouped(calls)["kernel"] == [design]


def test_a_run_whose_results_are_lost_is_read_once(tmp_path, monkeypatch, calls, capsys):
    give(monkeypatch, capsys, "run", write_study(tmp_path))
    (tmp_path / "run" / "results.json").unlink()
    calls.clear()
    give(monkeypatch, capsys, "resume", tmp_path / "run")
    by_kind = grouped(calls)
    assert {name: by_kind["audited"].count(name) for name in by_kind["audited"]} == {
        "predictions/ledger.sqlite": 2,  # and to see that it ends as the training's says
        "run/ledger.sqlite": 1,
    }
    assert by_kind["parsed"] == ["study.toml"]
    assert "read again" not in by_kind
