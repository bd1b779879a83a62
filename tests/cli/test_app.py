"""The command line as a user meets it, in a process of its own."""

import os
import shlex
import subprocess
import sys

import pytest

import aqka


def run(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "aqka", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )


def test_help_and_version():
    shown = run("--help")
    assert shown.returncode == 0
    assert "demo" in shown.stdout
    assert run("--version").stdout.strip() == f"aqka {aqka.__version__}"
    assert "aqka demo --seeds 10" in run("demo", "--help").stdout


HEAVY = (
    *("qiskit", "qiskit_aer", "qiskit_ibm_runtime", "pennylane", "matplotlib", "dask"),
    *("sklearn", "scipy.stats", "pyarrow", "pydantic", "starlette", "uvicorn"),
)


@pytest.mark.parametrize(
    "act", ["import aqka", "sys.argv = ['aqka', '--help']; from aqka.cli import main; main()"]
)
def test_import_and_help_load_nothing_heavy(act):
    """Modules are listed, because times are noisy."""
    code = (
        f"import sys\ntry:\n    {act}\nexcept SystemExit:\n    pass\n"
        f"print('loaded', *(name for name in {HEAVY!r} if name in sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1].split() == ["loaded"]


def test_every_name_of_the_front_door_can_be_loaded():
    for name in aqka.__all__:
        assert getattr(aqka, name) is not None
    assert set(aqka.__all__) <= set(dir(aqka))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = aqka.nothing


def test_output_that_cannot_be_written_never_fails_a_command(tmp_path):
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "LANG": "C", "LC_ALL": "C"}
    shown = subprocess.run(
        [sys.executable, "-m", "aqka", "doctor"],
        capture_output=True,
        env=environment,
        check=False,
    )
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert shown.stdout.isascii()
    command = f"{shlex.quote(sys.executable)} -m aqka init study.toml >&-"
    closed = subprocess.run(
        command, shell=True, cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert (closed.returncode, closed.stderr) == (0, b"")
    assert (tmp_path / "study.toml").exists()


def test_an_interrupt_while_loading_is_no_traceback():
    code = (
        "import builtins, sys\n"
        "real = builtins.__import__\n"
        "def interrupted(name, *rest):\n"
        "    if name == 'typer':\n        raise KeyboardInterrupt\n"
        "    return real(name, *rest)\n"
        "from aqka.cli import main\n"
        "builtins.__import__ = interrupted\n"
        "main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (130, "interrupted\n")


def test_a_mistake_is_one_line_and_exit_code_2(tmp_path):
    wrong = run("demo", "--picture", str(tmp_path / "missing" / "demo.png"))
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: --picture: the directory")
    assert "Traceback" not in wrong.stderr
    for name in ("demo.xyz", "."):
        assert "ending in .png" in run("demo", "--picture", str(tmp_path / name)).stderr
    assert run("demo", "--seeds", "0").returncode == 2
    assert run("dmo").returncode == 2
