"""Runs for the tests of reports, each made once."""

import pytest

from aqka.study.carry_out import carry_out
from aqka.study.directory import prepare
from tests.study.helpers import small, write_study

HOSTILE_LABELS = ("<script>alert(1)</script>", "=cmd()")
HOSTILE_COLUMNS = ('"><img src=x onerror=alert(2)>', "</script><!--")


def quick(text):
    """The same study with a readout that is cross-validated in no time."""
    return text.replace("[method]\n", '[method]\nallocator = "aqka"\nreadout = "ridge-kfold"\n')


def finished(directory, text=None):
    path = write_study(directory, quick(text or small()))
    carry_out(prepare(path), directory / "run", new=True)
    return directory / "run"


def hostile(directory):
    """A run whose labels and columns are markup and formulas."""
    directory.mkdir(parents=True)
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in HOSTILE_COLUMNS)
    rows = [f'{k},{k % 5},"{HOSTILE_LABELS[k % 2]}"' for k in range(40)]
    (directory / "data.csv").write_text("\n".join([f"{quoted},kind", *rows, ""]))
    features = ", ".join("'''" + name + "'''" for name in HOSTILE_COLUMNS)
    source = f'"data.csv"\ntarget = "kind"\nfeatures = [{features}]'
    return finished(directory, small().replace('"moons"', source))


def interrupted(directory):
    """A run that was stopped after its second round."""
    path = write_study(directory, quick(small()))
    seen = []

    def stop():
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(prepare(path), directory / "run", new=True, on_round=stop)
    return directory / "run"
