"""Ledgers checked, shown and exported on their own; damaged and hostile ones among them."""

import json
import sqlite3
import sys
import zlib

import numpy as np
import pytest
from pyarrow import parquet

from aqka import InputError, JobError, LedgerError, MatrixBackend, Problem, acquire, cli
from aqka._util.arrays import exact_sum
from aqka.cli.ledger import list_entries
from aqka.designs import PairEstimate
from aqka.learners import make_learner
from aqka.runs import head, ledger
from aqka.runs.audit import verify
from aqka.runs.export import export, measurements, table_of
from aqka.runs.head import Head, head_path, write_head
from aqka.runs.ledger import LEDGER_NAME, Ledger
from tests.conftest import make_kernel, make_labels

KERNEL, Y = make_kernel(12), make_labels(12)
HOSTILE = (
    "<script>alert(1)</script>",
    "=cmd()",
    "[red]x[/red][/]",
    "\x1b[2J\n\r",
    "\ud800",
    "x" * 900,
)


class Failing(MatrixBackend):
    """Fails in its second round, after running part of it."""

    calls = 0

    def collect(self, ticket):
        plan = self._plans[ticket]
        hits = super().collect(ticket)
        self.calls += 1
        if self.calls == 2:
            ran = np.where(np.arange(len(plan)) % 2, plan.shots, 0)
            raise JobError("cancelled", (ran, np.minimum(hits, ran)))
        return hits

    def fingerprint(self):
        return "failing"


@pytest.fixture
def finished(tmp_path):
    return acquire(
        MatrixBackend(KERNEL), Y, 500, "aqka", directory=tmp_path / "run"
    ), tmp_path / "run"


@pytest.fixture
def aqka(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setenv("COLUMNS", "160")
        monkeypatch.setattr(sys, "argv", ["aqka", "ledger", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        shown = capsys.readouterr()
        return stop.value.code, shown.out, shown.err

    return call


# A run by hand: what each entry is made of, so that a test can spoil one thing.

FACTS = {"budget": "30", "points": "3", "diagonal": "known", "seed": "0", "allocator": "uniform"}


def array(*values):
    return np.array(values, dtype=np.int64)


def honest():
    """Two rounds of 10 and 20 shots on three points, the second one failed in part, and a third."""
    return [
        ["started", None, {"fingerprint": dict(FACTS), "run_id": "r"}, {}],
        *a_round(0, [5, 5], [1, 5]),
        ["resumed", None, {}, {}],
        *a_round(1, [10, 10], [0, 3], ran=[0, 10]),
        *a_round(2, [4, 6], [4, 0]),
        ["finished", None, {}, {}],
    ]


def a_round(k, shots, hits, ran=None):
    arrays = {"hits": array(*hits)} | ({} if ran is None else {"shots": array(*ran)})
    ended = ["collected", k, {"qpu_seconds": 1.5}, arrays]
    if ran is not None:
        ended = ["failed", k, {"reason": "cancelled"}, arrays]
    plan = {"rows": array(0, 1), "cols": array(1, 2), "shots": array(*shots)}
    return [
        ["planned", k, {"tag": f"tag{k}"}, plan],
        ["submitted", k, {"ticket": f"ticket{k}", "backend": "b"}, {}],
        ended,
    ]


def forge(path, steps):
    """Write entries with a valid chain, whatever they say."""
    path.unlink(missing_ok=True)
    head_path(path).unlink(missing_ok=True)
    with Ledger(path, write=True) as book:
        book._connection.execute("DROP INDEX once")
        for kind, round, body, arrays in steps:
            book.append(kind, round=round, body=body, **arrays)
    return path


def forge_raw(path, *rows):
    """Write rows of any type with a valid chain: (at, kind, round, text, packed)."""
    path.unlink(missing_ok=True)
    with Ledger(path, write=True) as book:
        last = head.GENESIS
        for number, row in enumerate(rows, 1):
            before, last = last, ledger._digest(last, number, *row)
            write_head(path, Head(number, last, before))
            values = (number, *row, last)
            book._connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / LEDGER_NAME


# Sound ledgers


def test_a_finished_run_is_sound_and_the_audit_changes_nothing(finished):
    _, run = finished
    content = (run / LEDGER_NAME).read_bytes()
    found = verify(run)
    assert found.sound
    assert found.problems == []
    assert found.summary == "sound: 5 rounds, 500 of 500 shots, finished"
    assert (found.budget, found.shots, found.ended, found.finished) == (500, 500, 5, True)
    assert found.qpu_seconds is None  # simulators report none
    assert verify(str(run / LEDGER_NAME)).audit() == found.audit()
    assert (run / LEDGER_NAME).read_bytes() == content


@pytest.mark.filterwarnings("ignore:round . failed")
def test_failed_and_interrupted_runs_are_sound(tmp_path):
    session = acquire(Failing(KERNEL), Y, 500, "aqka", directory=tmp_path / "failed")
    found = verify(tmp_path / "failed")
    assert found.summary == "sound: 5 rounds, 500 of 500 shots, finished"
    assert measurements(tmp_path / "failed").hits.sum() == session.table.hits.sum()

    def stop(session):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        acquire(MatrixBackend(KERNEL), Y, 500, "aqka", directory=tmp_path / "cut", on_round=stop)
    assert verify(tmp_path / "cut").summary == "sound: 1 round, 100 of 500 shots, not finished"


def test_a_run_is_sound_after_each_of_its_entries(path):
    steps = honest()
    for count in range(1, len(steps) + 1):
        found = verify(forge(path, steps[:count]))
        assert found.sound, found.problems
    assert found.summary == "sound: 3 rounds, 30 of 30 shots, finished"
    assert found.qpu_seconds == 3.0
    assert measurements(path).shots.tolist() == [5, 5, 10, 4, 6]
    assert measurements(path).round.tolist() == [0, 0, 1, 2, 2]
    # A run may be interrupted and resumed within a round.
    assert verify(forge(path, [*steps[:3], steps[4], *steps[3:]])).sound


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "1", [1], {}, True, None])
def test_usage_that_is_no_number_of_seconds_is_unknown(path, seconds):
    """Whatever a service says of the bill, the counts are paid for and can be believed."""
    steps = honest()
    steps[3][2]["qpu_seconds"] = seconds
    found = verify(forge(path, steps))
    assert found.sound, found.problems
    assert found.qpu_seconds == 1.5  # of the other round that was collected


def test_a_run_in_a_directory_that_cannot_be_written_is_read_all_the_same(finished, monkeypatch):
    _, run = finished
    before = sorted(file.name for file in run.iterdir())
    monkeypatch.setattr(ledger.os, "access", lambda *_: False)
    assert verify(run).sound
    assert sorted(file.name for file in run.iterdir()) == before


def test_a_run_can_be_audited_while_it_is_written(tmp_path):
    seen = []
    acquire(
        MatrixBackend(KERNEL),
        Y,
        500,
        "aqka",
        directory=tmp_path,
        on_round=lambda session: seen.append(verify(tmp_path).shots == session.table.total),
    )
    assert seen == [True] * 5


# Records


@pytest.mark.filterwarnings("ignore:round . failed")
@pytest.mark.parametrize("reading", ["fair", "paper"])
@pytest.mark.parametrize("allocator", ["aqka", "hybrid", "nystrom", "uniform"])
def test_readouts_on_the_recorded_table_equal_the_live_ones(tmp_path, allocator, reading):
    backend = MatrixBackend(KERNEL) if allocator != "aqka" else Failing(KERNEL)
    session = acquire(backend, Y, 900, allocator, reading=reading, directory=tmp_path)
    table, landmarks, _ = table_of(tmp_path)
    np.testing.assert_array_equal(table.shots, session.table.shots)
    np.testing.assert_array_equal(table.hits, session.table.hits)
    assert table.diagonal == session.table.diagonal
    assert (landmarks is None) == (session.landmarks is None)
    problem = Problem(Y, reading=reading)
    for name in ("ridge", "ridge-loo", "svm"):
        learner = make_learner(name)
        live = learner.fit(session.estimate(), problem).decision_function(KERNEL)
        again = learner.fit(PairEstimate(table, problem, landmarks), problem).decision_function(
            KERNEL
        )
        np.testing.assert_array_equal(again, live)


def test_the_ledger_names_points_and_diagonal(finished):
    with Ledger(finished[1] / LEDGER_NAME) as book:
        facts = book.read()[0].body["fingerprint"]
    assert (facts["points"], facts["diagonal"]) == ("12", "known")


@pytest.mark.parametrize("ending", ["csv", "npz", "parquet", "CSV"])
def test_exported_counts_are_those_of_the_session(finished, tmp_path, ending):
    session, run = finished
    target = tmp_path / f"counts.{ending}"
    target.write_text("what was there before")
    rows = export(run, target)
    if ending == "npz":
        with np.load(target, allow_pickle=False) as loaded:
            columns = {name: loaded[name] for name in loaded.files}
    elif ending == "parquet":
        table = parquet.read_table(target)
        columns = {name: table[name].to_numpy() for name in table.column_names}
    else:
        header, *lines = target.read_text().splitlines()
        assert header == "round,row,col,shots,hits"
        values = np.array([[int(cell) for cell in line.split(",")] for line in lines])
        columns = dict(zip(header.split(","), values.T, strict=True))
    assert list(columns) == ["round", "row", "col", "shots", "hits"]
    assert len(columns["hits"]) == rows
    hits = np.zeros_like(session.table.hits)
    np.add.at(hits, session.table.index(columns["row"], columns["col"]), columns["hits"])
    np.testing.assert_array_equal(hits, session.table.hits)
    assert columns["shots"].sum() == 500
    assert sorted(file.name for file in tmp_path.iterdir()) == [target.name, "run"]


def test_a_run_without_a_collected_round_exports_a_header(path, tmp_path):
    forge(path, honest()[:3])
    assert export(path, tmp_path / "none.csv") == 0
    assert (tmp_path / "none.csv").read_text() == "round,row,col,shots,hits\n"


def test_targets_that_cannot_be_written_are_refused(finished, tmp_path, monkeypatch):
    _, run = finished
    for target, words in (
        ("counts.xls", r"\.csv, \.npz, \.parquet"),
        ("missing/counts.csv", "cannot be written"),
        ("a\0b.csv", "cannot be written"),
    ):
        with pytest.raises(InputError, match=words):
            export(run, tmp_path / target)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'aqka\[parquet\]'"):
        export(run, tmp_path / "counts.parquet")
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


# Ledgers that are not sound


def spoiled():
    """Yield what is wrong and the steps: each an honest run with one thing changed."""

    def case(words, change):
        steps = honest()
        change(steps)
        return words, steps

    def put(step, place, key, value):
        return lambda steps: steps[step][place].__setitem__(key, value)

    def without(*positions):
        def change(steps):
            for position in sorted(positions, reverse=True):
                del steps[position]

        return change

    yield case("begins with 'started'", without(0))
    yield case("starts once", lambda s: s.insert(4, honest()[0]))
    yield case("no fingerprint", lambda s: s[0][2].pop("fingerprint"))
    yield case("no fingerprint", put(0, 2, "fingerprint", ["budget"]))
    for budget in (None, 30, "-30", "0", "3e1", "٣", "9" * 4000, "", [], True):
        facts = FACTS | {"budget": budget}
        yield case("names no budget", put(0, 2, "fingerprint", facts))
    yield case("20 shots, but 19", put(0, 2, "fingerprint", FACTS | {"budget": "29"}))
    yield case("30 shots of 31", put(0, 2, "fingerprint", FACTS | {"budget": "31"}))
    for points in ("x", 3, None, "9" * 19, {}):
        yield case("points must be", put(0, 2, "fingerprint", FACTS | {"points": points}))
    for name in ("rows", "cols", "shots"):
        yield case("one length", put(1, 3, name, array(1)))
        yield case("not be negative", put(1, 3, name, array(0, -1)))
        yield case(f"no '{name}'", lambda s, name=name: s[1][3].pop(name))
    yield case("no 'keep_block'", put(1, 3, "landmarks", array(0)))
    yield case("at most 2**50 in all", put(1, 3, "shots", array(2**62, 2**62)))
    wrapping = {"rows": array(0, 0, 1, 1), "cols": array(1, 2, 2, 2), "shots": array(*[2**62] * 4)}
    yield case("at most 2**50 in all", lambda s: s[1].__setitem__(3, wrapping))  # 0 in 64 bits
    yield case("round 1 comes next", _round_of(5, 2))
    yield case("round 0 comes next", _round_of(1, None))
    yield case("round 0 comes next", _round_of(1, -1))
    yield case("round 0 is the open one", _round_of(2, 1))
    yield case("round 0 is the open one", _round_of(3, 2**62))
    yield case("belongs to the run", _round_of(4, 0))
    yield case("belongs to the run", _round_of(-1, 2))
    yield case("belongs to the run", _round_of(0, 0))
    yield case("come after 'planned'", without(1))
    yield case("come after 'submitted'", without(2))
    yield case("is still open", without(3))
    yield case("come after 'submitted'", lambda s: s.insert(4, honest()[3]))
    yield case("come after 'planned'", lambda s: s.insert(3, honest()[2]))
    yield case("still open", lambda s: s.insert(2, honest()[1]))
    yield case("come after", lambda s: s.insert(4, ["failed", 0, {}, honest()[7][3]]))
    yield case("ticket0 belongs to an earlier", put(6, 2, "ticket", "ticket0"))
    for ticket in (None, 3, ["a"]):
        yield case("no ticket", put(6, 2, "ticket", ticket))
    yield case("between 0 and the shots", put(3, 3, "hits", array(6, 0)))
    yield case("between 0 and the shots", put(3, 3, "hits", array(-1, 0)))
    yield case("between 0 and the shots", put(7, 3, "hits", array(1, 0)))
    yield case("one entry per pair", put(3, 3, "hits", array(1)))
    yield case("one entry per pair", put(3, 3, "hits", array()))
    yield case("no hits", lambda s: s[3][3].pop("hits"))
    yield case("which shots were run", lambda s: s[7][3].pop("shots"))
    for shots in (array(11, 10), array(-1, 10), array(1), array(1, 2, 3)):
        yield case("between 0 and the planned", put(7, 3, "shots", shots))
    yield case("30 are collected", lambda s: s.insert(4, s.pop(-1)))
    yield case("nothing may follow", lambda s: s.append(["resumed", None, {}, {}]))
    yield case("nothing may follow", lambda s: s.append(["finished", None, {}, {}]))
    yield case("still open", lambda s: s.pop(-2))
    for kind in ("sold", "", *HOSTILE[:4]):
        yield case(
            "kind of entry is unknown", lambda s, kind=kind: s.insert(2, [kind, None, {}, {}])
        )


def _round_of(step, round):
    return lambda steps: steps[step].__setitem__(1, round)


@pytest.mark.parametrize(("words", "steps"), list(spoiled()))
def test_a_valid_chain_with_a_broken_invariant_is_not_sound(path, aqka, words, steps):
    found = verify(forge(path, steps))
    assert not found.sound
    assert any(words in problem for problem in found.problems), found.problems
    assert found.summary.startswith("NOT sound: entry ")
    assert found.summary.isprintable()
    for use in (measurements, table_of):
        with pytest.raises(LedgerError, match="NOT sound"):
            use(path)
    for arguments in (("verify", path), ("show", path), ("export", path, path.with_name("t.csv"))):
        code, out, err = aqka(*arguments)
        assert code == 1
        assert "NOT sound: entry " in out + err
    assert not path.with_name("t.csv").exists()


def test_an_empty_ledger_is_not_sound(path):
    assert "no entry" in verify(forge(path, [])).summary


def test_many_problems_are_cut_short(path):
    steps = [["x" * 10**5, None, {}, {}]] * 100
    found = verify(forge(path, steps))
    assert len(found.problems) == 20
    assert max(map(len, found.problems)) <= 300


def test_random_changes_of_a_run_end_in_an_answer(path):
    """Entries dropped, doubled, swapped and with other numbers, 100 times."""
    rng = np.random.default_rng(0)
    unsound = 0
    for _ in range(100):
        steps = honest()
        for _ in range(rng.integers(1, 4)):
            k, other = rng.integers(0, len(steps), size=2)
            change = rng.integers(0, 5)
            if change == 0 and len(steps) > 1:
                del steps[k]
            elif change == 1:
                steps.insert(other, steps[k])
            elif change == 2:
                steps[k], steps[other] = steps[other], steps[k]
            elif change == 3:
                arrays = steps[k][3]
                counts = [name for name in ("shots", "hits") if name in arrays]
                other = {n: rng.integers(-2, 12, size=rng.integers(0, 4)) for n in counts}
                steps[k] = [*steps[k][:3], arrays | other]
            else:
                name = HOSTILE[rng.integers(len(HOSTILE))]
                steps[k] = [*steps[k][:2], dict.fromkeys([*steps[k][2], name], name), steps[k][3]]
        found = verify(forge(path, steps))
        unsound += not found.sound
        assert found.summary.isprintable()
        if found.sound:
            assert table_of(path).table.total == found.shots <= 30
        else:
            with pytest.raises(LedgerError):
                table_of(path)
    assert unsound > 66


def test_random_damage_ends_in_an_error_or_not_sound_or_has_no_effect(finished):
    _, run = finished
    file = run / LEDGER_NAME
    original, sound = file.read_bytes(), verify(run)
    rng = np.random.default_rng(1)
    noticed = 0
    for k in range(160):
        damaged = bytearray(original)
        if k % 4 == 0:
            del damaged[rng.integers(len(original)) :]
        else:
            for position in rng.integers(0, len(original), size=rng.integers(1, 30)):
                damaged[position] ^= int(rng.integers(1, 256))
        file.write_bytes(damaged)
        try:
            found = verify(run)
            lines, shown = list_entries(run)
        except LedgerError:
            noticed += 1
            continue
        assert shown.audit() == found.audit()
        assert len(lines) <= 17
        noticed += not found.sound
        assert not found.sound or found.audit() == sound.audit()
    assert noticed > 80


NOTHING = zlib.compress(b"")
EMPTY = json.dumps({"_arrays": []})


@pytest.mark.parametrize(
    "row",
    [
        (0.0, "started", None, '{"_arrays": [["shots", 1e400]]}', NOTHING),
        (0.0, "started", None, '{"_arrays": [["shots", 1e15]]}', NOTHING),
        (0.0, "started", None, '{"_arrays": [["shots", 134217728]]}', NOTHING),
        (0.0, "started", None, '{"_arrays": [["a", 2], ["b", -2]]}', NOTHING),
        (0.0, "started", None, '{"_arrays": [["a", NaN]]}', NOTHING),
        (0.0, "started", None, '{"_arrays": [["a", ' + "9" * 4000 + "]]}", NOTHING),
        (0.0, "started", None, '{"_arrays": [["a", ' + "9" * 5000 + "]]}", NOTHING),
        (0.0, "started", None, '{"_arrays": ' + "[" * 10**5 + "]" * 10**5 + "}", NOTHING),
        (0.0, "started", None, '{"_arrays": 3}', NOTHING),
        (0.0, "started", None, "{}", NOTHING),
        (0.0, "started", None, "[]", NOTHING),
        (0.0, "started", None, "null", NOTHING),
        (0.0, "started", None, "no json", NOTHING),
        (0.0, "started", None, EMPTY, b"no zlib"),
        (0.0, "started", None, EMPTY, zlib.compress(b"\0" * 10**7)),
        ("yesterday", "started", None, EMPTY, NOTHING),
        (0.0, "started", "first", EMPTY, NOTHING),
        (0.0, "started", 0.5, EMPTY, NOTHING),
    ],
)
def test_content_that_no_ledger_has_is_not_sound(path, aqka, row):
    forge_raw(path, row)
    assert "damaged" in verify(path).summary
    assert aqka("verify", path)[0] == 1
    assert aqka("show", path)[0] == 1
    with pytest.raises(LedgerError, match="damaged"):
        table_of(path)


def test_deep_facts_and_strange_times_can_be_shown(path, aqka):
    deep = '{"_arrays": [], "fingerprint": {"budget": "9", "points": DEEP}, "a": DEEP, "b": NaN}'
    text = deep.replace("DEEP", "[" * 300 + "]" * 300)
    for at in (float("inf"), -1e300, 1e18, 0.0):
        forge_raw(path, (at, "started", None, text, NOTHING))
        code, out, _ = aqka("show", path)
        assert code == 1
        assert "points must be" in out


def test_a_view_in_place_of_the_entries_is_not_asked(path):
    forge(path, [])
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "DROP TABLE entries; CREATE VIEW entries AS WITH RECURSIVE c(x) AS (SELECT 1 UNION "
            "ALL SELECT x + 1 FROM c) SELECT count(*) AS number, 0 AS at, 0 AS kind, 0 AS round, "
            "0 AS body, 0 AS arrays, 0 AS digest FROM c"
        )
    connection.close()
    with pytest.raises(LedgerError, match="not a ledger"):
        verify(path)


def test_exact_sums_do_not_wrap_around():
    assert exact_sum(array(*[2**62] * 4)) == 2**64
    assert exact_sum(array(-5, 3, -(2**62), -(2**62), -(2**62))) == -2 - 3 * 2**62


# The command line


def test_verify_show_and_export(finished, aqka, tmp_path):
    _, run = finished
    assert aqka("verify", run) == (0, "sound: 5 rounds, 500 of 500 shots, finished\n", "")
    answer = json.loads(aqka("verify", run, "--json")[1])
    assert (answer["sound"], answer["shots"], answer["problems"]) == (True, 500, [])
    code, out, _ = aqka("show", run)
    assert code == 0
    for words in ("time (UTC)", "collected", "shots 100", "budget 500", "sound: 5 rounds"):
        assert words in out
    entries = json.loads(aqka("show", run, "--json")[1])["entries"]
    assert [entry["kind"] for entry in entries][-1] == "finished"
    assert entries[1]["facts"]["shots"] == "100"
    code, out, err = aqka("export", run, tmp_path / "counts.csv")
    assert (code, err) == (0, "")
    assert out.endswith(f"counts.csv: {len(measurements(run).hits)} rows\n")


def test_qpu_time_is_printed(path, aqka):
    assert "QPU time: 3 s\n" in aqka("verify", forge(path, honest()))[1]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_printed_as_they_are_and_cut(path, aqka, name):
    steps = honest()
    steps[1][2]["tag"] = steps[2][2]["ticket"] = steps[2][2]["backend"] = name
    steps[1][2][name] = name
    code, out, err = aqka("show", forge(path, steps))
    assert (code, err) == (0, "")
    assert "x" * 41 not in out
    assert all(line.isprintable() for line in out.split("\n"))
    if name.isprintable() and len(name) < 40:
        assert name in out
    facts = json.loads(aqka("show", path, "--json")[1])["entries"][2]["facts"]
    assert len(facts["ticket"]) <= 40
    assert facts["ticket"].isprintable()


@pytest.mark.parametrize("command", ["verify", "show", "export"])
def test_what_is_no_ledger_is_one_line_and_exit_code_2(aqka, tmp_path, command):
    (tmp_path / "text").write_text("no database" * 100)
    (tmp_path / "empty").touch()
    target = ["t.csv"] if command == "export" else []
    for run in ("missing", "text", "empty", ".", "line\nbreak", "half\udc80"):
        code, out, err = aqka(command, tmp_path / run, *target)
        assert (code, out) == (2, "")
        assert err.startswith("error: ")
        assert err.count("\n") == 1


def test_a_wrong_target_is_exit_code_2(finished, aqka):
    code, _, err = aqka("export", finished[1], "counts.xls")
    assert code == 2
    assert err.startswith("error: target must end in .csv")


@pytest.mark.parametrize("command", ["verify", "show", "export"])
def test_help_has_an_example(aqka, command):
    code, out, _ = aqka(command, "--help")
    assert code == 0
    assert f"aqka ledger {command} runs/first" in out
