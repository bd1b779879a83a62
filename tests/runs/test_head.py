"""A ledger whose end is lost is refused, with what is known; a crash is not taken for a loss."""

import multiprocessing
import os
import shutil

import numpy as np
import pytest

from aqka import LedgerError, MatrixBackend, Schedule, acquire
from aqka.runs.audit import verify
from aqka.runs.head import SLOT_BYTES, Head, head_path, make_head, read_head, write_head
from aqka.runs.ledger import LEDGER_NAME, Ledger
from tests.conftest import make_kernel, make_labels

FORK = multiprocessing.get_context("fork")
KERNEL, Y = make_kernel(12), make_labels(12)
SCHEDULE = Schedule(rounds=6)


def spend(directory, dies_after=None):
    """Spend a budget; ``dies_after`` so many rounds the process ends as if killed."""

    def on_round(session):
        if session.round == dies_after:
            os._exit(9)

    return acquire(
        MatrixBackend(KERNEL),
        Y,
        700,
        "aqka",
        schedule=SCHEDULE,
        directory=directory,
        on_round=on_round,
    )


@pytest.fixture
def killed(tmp_path):
    """A run that was killed after four of seven rounds: nearly all of it is in the WAL."""
    run = tmp_path / "run"
    child = FORK.Process(target=spend, args=(run, 4))
    child.start()
    child.join()
    assert (run / f"{LEDGER_NAME}-wal").stat().st_size > 1000
    return run


def test_a_killed_run_goes_on(killed, tmp_path):
    assert np.array_equal(spend(killed).table.hits, spend(tmp_path / "whole").table.hits)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.9])
def test_a_bit_flipped_in_the_write_ahead_file_is_noticed(killed, share):
    wal = killed / f"{LEDGER_NAME}-wal"
    content = bytearray(wal.read_bytes())
    content[int(share * len(content))] ^= 1
    wal.write_bytes(content)
    with pytest.raises(LedgerError, match=r"entries: its end is lost|does not match"):
        spend(killed)
    assert not verify_quietly(killed)


def test_the_last_entry_alone_cannot_be_lost(killed):
    """A crash may keep an entry from being written; this one was."""
    wal = killed / f"{LEDGER_NAME}-wal"
    content = bytearray(wal.read_bytes())
    content[-10] ^= 1  # in the last frame
    wal.write_bytes(content)
    with pytest.raises(LedgerError, match=r"entries: its end is lost"):
        spend(killed)


def test_a_lost_confirmation_costs_nothing(killed, tmp_path):
    head = head_path(killed / LEDGER_NAME)
    head.write_bytes(head.read_bytes()[: 2 * SLOT_BYTES + 9])
    assert not read_head(killed / LEDGER_NAME).confirmed
    assert np.array_equal(spend(killed).table.hits, spend(tmp_path / "whole").table.hits)


def verify_quietly(run):
    try:
        return verify(run).sound
    except LedgerError:
        return False


@pytest.mark.parametrize("lost", ["wal", "ledger", "both"])
def test_a_lost_file_is_noticed_and_nothing_is_bought(killed, lost):
    entries = read_head(killed / LEDGER_NAME).entries
    if lost in ("wal", "both"):
        (killed / f"{LEDGER_NAME}-wal").unlink()
        (killed / f"{LEDGER_NAME}-shm").unlink(missing_ok=True)
    if lost in ("ledger", "both"):
        (killed / LEDGER_NAME).unlink()
    with pytest.raises(LedgerError, match=f"0 of {entries} entries: its end is lost"):
        spend(killed)
    assert not verify_quietly(killed)


def test_an_older_copy_of_the_ledger_is_noticed(tmp_path):
    run = tmp_path / "run"

    def copy(session):
        if session.round == 2:
            for file in run.iterdir():
                shutil.copy(file, tmp_path / file.name)

    acquire(MatrixBackend(KERNEL), Y, 700, schedule=SCHEDULE, directory=run, on_round=copy)
    for name in (LEDGER_NAME, f"{LEDGER_NAME}-wal"):
        if (tmp_path / name).exists():
            shutil.copy(tmp_path / name, run / name)
    assert any("its end is lost" in problem for problem in verify(run).problems)


def test_another_ledger_of_the_same_length_is_noticed(tmp_path):
    for seed in (1, 2):
        acquire(MatrixBackend(KERNEL), Y, 700, seed=seed, directory=tmp_path / str(seed))
    shutil.copy(tmp_path / "1" / LEDGER_NAME, tmp_path / "2" / LEDGER_NAME)
    found = verify(tmp_path / "2")
    assert any("not the ledger that its head belongs to" in problem for problem in found.problems)


def test_a_head_that_is_missing_or_damaged_is_noticed(tmp_path):
    spend(tmp_path)
    head = head_path(tmp_path / LEDGER_NAME)
    content = head.read_bytes()
    damages = {
        "missing": None,
        "both slots": bytes(byte ^ 1 for byte in content),
        "empty": b"",
        "cut": content[: SLOT_BYTES // 2],
        # The newer of the two: the older one then says less than the ledger holds.
        "one slot": bytearray(content),
    }
    newer = SLOT_BYTES * (read_head(tmp_path / LEDGER_NAME).entries % 2)
    damages["one slot"][newer + 10] ^= 1
    for name, damaged in damages.items():
        if damaged is None:
            head.unlink()
        else:
            head.write_bytes(damaged)
        assert not verify(tmp_path).sound, name
    head.write_bytes(content)
    assert verify(tmp_path).sound


def test_a_crash_between_head_and_entry_is_no_loss(tmp_path):
    path = tmp_path / LEDGER_NAME
    with Ledger(path, write=True) as book:
        book.append("started", body={"fingerprint": {}})
        book.append("interrupted")
    head = read_head(path)
    write_head(path, Head(head.entries + 1, b"d" * 32, head.digest))  # and the process died
    with Ledger(path, write=True) as book:
        assert len(book.read()) == 2
        book.append("resumed")
    with Ledger(path) as book:
        assert [entry.kind for entry in book.read()] == ["started", "interrupted", "resumed"]


def test_a_torn_write_leaves_the_head_before(tmp_path):
    path = tmp_path / LEDGER_NAME
    first, second = Head(4, b"a" * 32, b"b" * 32), Head(5, b"c" * 32, b"a" * 32)
    make_head(path)
    write_head(path, first)
    write_head(path, second)
    assert read_head(path) == second
    content = bytearray(head_path(path).read_bytes())
    content[SLOT_BYTES + 20 : SLOT_BYTES + 30] = bytes(10)
    head_path(path).write_bytes(content)
    assert read_head(path) == first
