import os
import stat

import pytest

from aqka._util.files import open_atomically, write_atomically


def test_what_is_written_takes_the_place_of_the_old_content(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with open_atomically(path) as stream:
        stream.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert os.listdir(tmp_path) == ["file"]


def test_a_write_that_fails_leaves_the_old_content_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, b"old")
    with pytest.raises(ZeroDivisionError), open_atomically(path) as stream:
        stream.write(b"half of the new content" * (1 // 0))
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]
