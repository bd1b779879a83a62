import multiprocessing
import os
import sqlite3
import zlib

import numpy as np
import pytest

from aqka import LedgerError
from aqka.runs import ledger
from aqka.runs.audit import begun_history
from aqka.runs.head import head_path
from aqka.runs.ledger import Ledger


def filled(path, count=3):
    with Ledger(path, write=True) as book:
        book.append("started", body={"fingerprint": {"seed": "0"}})
        for k in range(count):
            shots = np.arange(k, k + 40)
            book.append("planned", round=k, body={"tag": f"t{k}"}, shots=shots, rows=shots * 2)
    return path


def content(path):
    with Ledger(path) as book:
        return [
            (e.kind, e.round, e.body, {name: a.tolist() for name, a in e.arrays.items()})
            for e in book.read()
        ]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


def test_what_is_appended_is_read(path):
    entries = content(filled(path))
    assert [kind for kind, *_ in entries] == ["started", *["planned"] * 3]
    assert entries[0][2] == {"fingerprint": {"seed": "0"}}
    assert entries[3][3]["rows"] == [2 * k for k in range(2, 42)]


def test_a_kind_stands_once_for_a_round(path):
    filled(path)
    with Ledger(path, write=True) as book, pytest.raises(LedgerError, match="already holds"):
        book.append("planned", round=0)
    assert len(content(path)) == 4


def test_entries_are_durable_and_in_a_write_ahead_log(path):
    with Ledger(path, write=True) as book:
        pragmas = ("journal_mode", "synchronous")
        found = [book._connection.execute(f"PRAGMA {p}").fetchone()[0] for p in pragmas]
        assert found == ["wal", 2]  # 2 is FULL


def hold(path, held, leave):
    with Ledger(path, write=True):
        held.set()
        leave.wait()


def test_a_second_writer_is_refused_while_the_first_lives_and_not_after_it_died(path):
    filled(path)
    context = multiprocessing.get_context("fork")
    held, leave = context.Event(), context.Event()
    first = context.Process(target=hold, args=(path, held, leave))
    first.start()
    held.wait()
    with pytest.raises(LedgerError, match="another process is writing"):
        Ledger(path, write=True)
    assert len(content(path)) == 4  # readers are welcome
    first.kill()
    first.join()
    with Ledger(path, write=True) as book:
        book.append("resumed")
    assert len(content(path)) == 5


def test_readers_do_not_block_the_writer(path):
    filled(path)
    with Ledger(path) as reader, Ledger(path, write=True) as writer:
        reader.read()
        reader._connection.execute("BEGIN")
        reader._connection.execute("SELECT * FROM entries").fetchone()
        writer._connection.execute("PRAGMA busy_timeout = 0")  # do not wait for any lock
        writer.append("resumed")
        assert len(writer.read()) == 5


def test_damage_at_any_byte_is_noticed_or_without_effect(path):
    filled(path, 20)
    original, entries = path.read_bytes(), content(path)
    rng = np.random.default_rng(0)
    noticed = 0
    for _ in range(160):
        damaged = bytearray(original)
        for position in rng.integers(0, len(original), size=rng.integers(1, 4)):
            damaged[position] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            assert content(path) == entries
        except LedgerError:
            noticed += 1
    assert noticed > 40
    path.write_bytes(original)
    assert content(path) == entries


def test_a_truncated_file_is_noticed_or_without_effect(path):
    filled(path, 20)
    original, entries = path.read_bytes(), content(path)
    for length in np.random.default_rng(1).integers(0, len(original), size=80):
        path.write_bytes(original[:length])
        try:
            assert content(path) == entries
        except LedgerError:
            continue


def test_a_full_disk_is_said_and_loses_nothing(path):
    filled(path)
    with Ledger(path, write=True) as book:
        pages = book._connection.execute("PRAGMA page_count").fetchone()[0]
        book._connection.execute(f"PRAGMA max_page_count = {pages}")
        noise = np.random.default_rng(0).integers(0, 2**60, size=5000)
        with pytest.raises(LedgerError, match="full; free some space and resume"):
            book.append("planned", round=9, shots=noise)
        book._connection.execute("PRAGMA max_page_count = 100000")
        book.append("planned", round=9, shots=noise)
    assert len(content(path)) == 5


def test_strange_files_are_refused(path, tmp_path):
    with pytest.raises(LedgerError, match="no run here"):
        Ledger(path)
    path.write_text("this is not a database" * 100)
    with pytest.raises(LedgerError, match="cannot open"):
        Ledger(path)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(LedgerError, match="another program"):
        Ledger(other)
    with pytest.raises(LedgerError, match="another program"):
        Ledger(other, write=True)


@pytest.mark.parametrize("version", [0, 99])
def test_a_ledger_of_another_schema_is_refused(path, version):
    filled(path)
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    for write in (False, True):
        with pytest.raises(LedgerError, match=f"schema version {version}"):
            Ledger(path, write=write)


def test_a_ledger_that_has_lost_its_head_is_refused(path):
    filled(path)
    head_path(path).unlink()
    with pytest.raises(LedgerError, match="missing or older"):
        content(path)
    with Ledger(path, write=True) as book, pytest.raises(LedgerError, match="missing or older"):
        book.append("interrupted")


def test_a_blob_that_unpacks_to_more_than_it_declares_is_refused(path):
    filled(path)
    bomb = zlib.compress(b"\0" * 10**8)
    with pytest.raises(ValueError, match="declared length"):
        ledger._unpack(bomb, [["shots", 10]])
    with pytest.raises(ValueError, match="declares"):
        ledger._unpack(bomb, [["shots", 2**40]])


def test_a_directory_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match="cannot write in"):
        Ledger(tmp_path / "file" / "ledger.sqlite", write=True)


@pytest.mark.parametrize("left", ["ledger.head", "ledger.sqlite", "ledger.draft"])
def test_files_without_an_entry_are_a_run_that_has_not_begun(path, left):
    path.with_name(left).touch()
    assert begun_history(path) is None
    filled(path)
    assert len(content(path)) == 4
    assert not list(path.parent.glob("*draft*"))


def test_a_slot_of_the_head_that_is_written_in_part_writes_no_entry(path, monkeypatch):
    """As on a disk that is full: an entry without its head would be refused from then on."""
    filled(path)
    with monkeypatch.context() as patch, Ledger(path, write=True) as book:
        write = os.pwrite
        patch.setattr(os, "pwrite", lambda file, data, at: write(file, data[:9], at))
        with pytest.raises(LedgerError, match="No space left"):
            book.append("interrupted")
    with Ledger(path, write=True) as book:
        book.append("resumed")
    assert len(content(path)) == 5


def test_ctrl_c_right_after_an_entry_was_written_does_not_break_the_chain(path):
    class Interrupted:
        def __init__(self, connection):
            self.connection = connection

        def execute(self, statement, *values):
            answer = self.connection.execute(statement, *values)
            if statement.startswith("INSERT"):
                raise KeyboardInterrupt
            return answer

    filled(path, count=1)
    with Ledger(path, write=True) as book:
        real = book._connection
        book._connection = Interrupted(real)
        with pytest.raises(KeyboardInterrupt):
            book.append("submitted", round=0)
        book._connection = real
        book.append("interrupted")
    assert [kind for kind, *_ in content(path)][-2:] == ["submitted", "interrupted"]
