"""What a writer that is killed leaves beside its file, and who clears it away."""

import os
import signal
import subprocess
import sys
import time

import pytest

from aqka import MatrixBackend, acquire
from aqka._util.drafts import open_draft, remove_dead_drafts
from aqka._util.files import open_atomically, write_atomically
from aqka.runs.export import export

WRITER = """
import sys, time
from pathlib import Path
{code}
"""
HALF_A_FILE = """
from aqka._util.files import open_atomically
with open_atomically(Path(sys.argv[1])) as stream:
    stream.write(b"half")
    stream.flush()
    print("writing", flush=True)
    time.sleep(60)
"""
HALF_AN_EXPORT = """
from aqka.runs import export
def write(found, stream):
    stream.write(b"round,row")
    stream.flush()
    print("writing", flush=True)
    time.sleep(60)
export.WRITERS[".csv"] = write
export.export(sys.argv[2], sys.argv[1])
"""


def start(code, *arguments):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER.format(code=code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": ":".join(sys.path)},
    )
    assert writer.stdout.readline() == "writing\n"
    return writer


def kill(writer):
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()


def names(directory):
    return sorted(os.listdir(directory))


def test_an_export_that_is_killed_leaves_a_draft_that_the_next_one_removes(tmp_path):
    run, place = tmp_path / "run", tmp_path / "exports"
    acquire(MatrixBackend([[1, 0.5], [0.5, 1]]), [1, -1], 50, directory=run)
    place.mkdir()
    left = []
    for _ in range(2):
        kill(start(HALF_AN_EXPORT, place / "counts.csv", run))
        (draft,) = names(place)  # the second has removed what the first left
        assert draft.startswith(".")
        assert not draft.endswith(".part")
        left.append(draft)
    assert left[0] != left[1]
    export(run, place / "counts.csv")
    assert names(place) == ["counts.csv"]


def test_a_draft_that_is_being_written_is_left_alone(tmp_path):
    path = tmp_path / "file"
    writer = start(HALF_A_FILE, path)
    try:
        assert len(names(tmp_path)) == 1
        write_atomically(path, b"mine")
        assert len(names(tmp_path)) == 2
        assert path.read_bytes() == b"mine"
    finally:
        kill(writer)
    write_atomically(path, b"mine again")
    assert names(tmp_path) == ["file"]


def test_drafts_of_other_files_and_files_of_the_user_are_left_alone(tmp_path):
    kill(start(HALF_A_FILE, tmp_path / "other"))
    for name in (".file.swp", ".file.part", "file.bak"):
        (tmp_path / name).touch()
    before = names(tmp_path)
    write_atomically(tmp_path / "file", b"x")
    assert names(tmp_path) == sorted([*before, "file"])


def test_what_only_has_the_name_of_a_draft_harms_nothing(tmp_path):
    stream, draft = open_draft(tmp_path / "file")
    stream.close()
    draft.unlink()
    secret = tmp_path / "secret"
    secret.write_text("mine")
    link, pipe = (draft.with_name(f"{draft.name}{k}") for k in "ab")
    link.symlink_to(secret)
    os.mkfifo(pipe)
    begun = time.monotonic()
    remove_dead_drafts(tmp_path / "file")
    assert time.monotonic() - begun < 5
    assert names(tmp_path) == sorted([link.name, pipe.name, "secret"])
    assert secret.read_text() == "mine"


def test_a_file_with_the_longest_name_can_be_written(tmp_path):
    path = tmp_path / ("x" * 255)
    write_atomically(path, b"content")
    assert path.read_bytes() == b"content"


def test_a_writer_whose_draft_was_taken_away_begins_another(tmp_path, monkeypatch):
    from aqka._util import drafts

    asked = []

    def lose_the_first(handle):
        asked.append(handle)
        if len(asked) == 1:
            remove_everything(tmp_path)
        return True

    def remove_everything(directory):
        for entry in directory.iterdir():
            entry.unlink()

    monkeypatch.setattr(drafts, "_lock", lose_the_first)
    with open_atomically(tmp_path / "file") as stream:
        stream.write(b"whole")
    assert len(asked) == 2
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("missing", ["no/file", "file/below"])
def test_a_place_that_cannot_be_written_is_an_ordinary_error(tmp_path, missing):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        write_atomically(tmp_path / missing, b"")
