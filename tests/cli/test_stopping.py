"""Exit codes and last words of commands that were stopped."""

import pytest
import typer

from aqka.cli.options import FAILED, INTERRUPTED, leaving_resumable
from aqka.errors import InputError, JobError, TransientError


def leave(directory, error):
    with pytest.raises(typer.Exit) as stop, leaving_resumable(directory, "aqka resume here"):
        raise error
    return stop.value.exit_code


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), INTERRUPTED, "interrupted"),
        (JobError("the job was cancelled"), FAILED, "the job was cancelled"),
        (TransientError("no answer"), FAILED, "no answer"),
    ],
)
def test_a_run_that_stops_says_how_to_go_on(tmp_path, capsys, error, code, words):
    assert leave(tmp_path, error) == code
    assert capsys.readouterr().err == f"{words}; to continue: aqka resume here\n"
    assert leave(tmp_path / "never made", error) == code
    assert capsys.readouterr().err == f"{words}; nothing was spent or written\n"


def test_other_errors_are_not_taken_for_a_stop(tmp_path):
    with pytest.raises(InputError, match="bad"), leaving_resumable(tmp_path, "again"):
        raise InputError("bad")
