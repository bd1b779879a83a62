"""Some file operations of short runs are killed, torn or fail; ``make chaos`` tries them all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.file_faults import build

ROOT = Path(__file__).parents[2]


def test_no_file_operation_can_lose_refuse_or_buy_a_run_twice(tmp_path, record_property):
    library = build(tmp_path)
    if library is None:
        pytest.skip("needs a C compiler and Linux")
    tried = subprocess.run(
        [sys.executable, "-m", "tests.chaos.file_faults", "--sample", "6", "--study-sample", "5"],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    record_property("summary", tried.stdout)
    assert tried.returncode == 0, tried.stdout + tried.stderr
    # Otherwise the harness proves nothing.
    assert tried.stdout.count(" killed") == 6
    assert tried.stdout.count(" stopped") == 6
