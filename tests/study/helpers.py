"""What the tests of studies share."""

import subprocess
import sys

from aqka.study.progress import ProgressReader
from aqka.study.schema import DataSection
from aqka.study.store import RunStore

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
test_shots = {test_shots}
[method]
{design}
rounds = {rounds}
{method}
"""
QUICK = """
allocator = "aqka"
learner = "ridge"
"""
"""For tests that carry a study out many times: nothing is averaged, in any round."""
PATIENCE = 600  # seconds that a child may take, which on a quiet machine takes a few


def small(**settings):
    defaults = {"backend": "statevector", "extra": "", "budget": "1200 shots", "method": ""}
    filled = {**defaults, "rounds": 3, "test_shots": 20, **settings}
    design = "" if "design" in filled["method"] else 'design = "pairs"'
    return SMALL.format_map({**filled, "design": design})


def write_study(directory, text=None, **settings):
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "study.toml"
    path.write_text(small(**settings) if text is None else text)
    return path


def section(target=None, features=None, **more):
    """What a study says of its data file."""
    return DataSection(source="data.csv", target=target, features=features, **more)


def progress(directory):
    return ProgressReader(RunStore(directory)).look()


def aqka(*arguments, cwd, **options):
    return subprocess.run(
        [sys.executable, "-m", "aqka", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        timeout=PATIENCE,
        **options,
    )
