"""What the tests of studies share."""

import subprocess
import sys

SMALL = """
output = "run"
[data]
source = "moons"
[split]
train = 12
test = 6
[feature_map]
qubits = 2
[backend]
name = "{backend}"
{extra}
[budget]
train = "{budget}"
test_shots = 20
[method]
rounds = {rounds}
"""


def small(backend="statevector", extra="", budget="1200 shots", rounds=3):
    return SMALL.format(backend=backend, extra=extra, budget=budget, rounds=rounds)


def write_study(directory, text=None, **settings):
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "study.toml"
    path.write_text(small(**settings) if text is None else text)
    return path


def aqka(*arguments, cwd, **options):
    return subprocess.run(
        [sys.executable, "-m", "aqka", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        timeout=120,
        **options,
    )
