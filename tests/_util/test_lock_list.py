import os

import pytest
from filelock import FileLock

from aqka._util import files
from aqka._util.files import any_locked


@pytest.mark.skipif(not files.LOCK_LIST.exists(), reason="this kernel does not list its locks")
def test_a_lock_is_seen_while_it_is_held(tmp_path):
    paths = [tmp_path / "none.lock", tmp_path / "a.lock"]
    assert any_locked(paths) is False
    with FileLock(tmp_path / "a.lock"):
        assert any_locked(paths) is True
    assert any_locked(paths) is False


@pytest.mark.parametrize(("further", "seen"), [(0, True), (1, False)])
def test_the_same_inode_on_another_device_is_another_file(tmp_path, monkeypatch, further, seen):
    path = tmp_path / "a.lock"
    path.touch()
    status = path.stat()
    major, minor = os.major(status.st_dev), os.minor(status.st_dev) + further
    listed = tmp_path / "locks"
    listed.write_text(
        f"1: FLOCK  ADVISORY  WRITE 77 {major:02x}:{minor:02x}:{status.st_ino} 0 EOF\n"
    )
    monkeypatch.setattr(files, "LOCK_LIST", listed)
    assert any_locked([path]) is seen


def test_where_there_is_no_list_nobody_knows(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LOCK_LIST", tmp_path / "none")
    assert any_locked([tmp_path / "a.lock"]) is None
