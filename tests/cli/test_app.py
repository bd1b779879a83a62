"""The command line as a user meets it, in a process of its own."""

import subprocess
import sys

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


def test_import_and_help_bring_no_optional_package():
    code = (
        "import sys, aqka, aqka.cli.app; "
        "heavy = {'qiskit', 'qiskit_aer', 'qiskit_ibm_runtime', 'pennylane', 'matplotlib', "
        "'dask', 'sklearn', 'pyarrow', 'pydantic'} & set(sys.modules); "
        "sys.exit(len(heavy))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_mistake_is_one_line_and_exit_code_2(tmp_path):
    wrong = run("demo", "--picture", str(tmp_path / "missing" / "demo.png"))
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: --picture: the directory")
    assert "Traceback" not in wrong.stderr
    for name in ("demo.xyz", "."):
        assert "ending in .png" in run("demo", "--picture", str(tmp_path / name)).stderr
    assert run("demo", "--seeds", "0").returncode == 2
    assert run("dmo").returncode == 2
