"""What a writer that is killed leaves beside its file, and who clears it away."""

import os
import signal
import subprocess
import sys

import pytest

from aqka import MatrixBackend, acquire
from aqka._util.files import OLD_SECONDS, write_atomically
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
def write(columns, ending, stream):
    stream.write(b"round,row")
    stream.flush()
    print("writing", flush=True)
    time.sleep(60)
export._write = write
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


def make_old(directory):
    for name in names(directory):
        os.utime(directory / name, (0, os.stat(directory / name).st_mtime - OLD_SECONDS - 60))


def test_an_export_that_is_killed_leaves_a_draft_that_a_later_one_removes(tmp_path):
    run, place = tmp_path / "run", tmp_path / "exports"
    acquire(MatrixBackend([[1, 0.5], [0.5, 1]]), [1, -1], 50, directory=run)
    place.mkdir()
    kill(start(HALF_AN_EXPORT, place / "counts.csv", run))
    (draft,) = names(place)
    assert draft.startswith(".aqka-draft-")
    make_old(place)
    export(run, place / "counts.csv")
    assert names(place) == ["counts.csv"]


def test_a_draft_that_may_be_in_use_is_left_alone(tmp_path):
    path = tmp_path / "file"
    writer = start(HALF_A_FILE, path)
    try:
        write_atomically(path, b"mine")
        assert len(names(tmp_path)) == 2
        assert path.read_bytes() == b"mine"
    finally:
        kill(writer)
    make_old(tmp_path)
    write_atomically(path, b"mine again")
    assert names(tmp_path) == ["file"]


def test_drafts_of_other_files_and_files_of_the_user_are_left_alone(tmp_path):
    kill(start(HALF_A_FILE, tmp_path / "other"))
    for name in (".file.swp", ".file.part", "file.bak"):
        (tmp_path / name).touch()
    before = names(tmp_path)
    make_old(tmp_path)
    write_atomically(tmp_path / "file", b"x")
    assert names(tmp_path) == sorted([*before, "file"])


def test_a_file_with_the_longest_name_can_be_written(tmp_path):
    path = tmp_path / ("x" * 255)
    write_atomically(path, b"content")
    assert path.read_bytes() == b"content"


@pytest.mark.parametrize("missing", ["no/file", "file/below"])
def test_a_place_that_cannot_be_written_is_an_ordinary_error(tmp_path, missing):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        write_atomically(tmp_path / missing, b"")
