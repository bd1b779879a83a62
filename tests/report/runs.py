"""Runs for the tests of reports, each made once; and a report full of strangers' texts."""

from dataclasses import replace

import pytest

from aqka.report.run_report import RunReport
from aqka.study.carry_out import Watcher, carry_out
from aqka.study.directory import prepare
from aqka.study.results import ExactKernel
from tests.study.helpers import small, write_study

HOSTILE_LABELS = ("<script>alert(1)</script>", "=cmd()")
HOSTILE_COLUMNS = ('"><img src=x onerror=alert(2)>', "</script><!--")
HOSTILE_ID = "</td><img src=x onerror=alert(5)>"
HOSTILE_DIRECTORY = "'><img src=x onerror=alert(3)>"
# Ends an attribute, an element, a comment and a script, and speaks the templates' language.
HOSTILE_TEXT = "\"'><script>alert(4)</script></title></style>--><b>&lt;{{ 7 * 7 }}{% raw %}"


def with_quick_learner(text):
    """The same study on pairs, with a learner that is cross-validated in no time."""
    design = "" if "design = " in text else 'design = "pairs"\n'
    method = f'[method]\n{design}allocator = "aqka"\nlearner = "ridge-kfold"\n'
    return text.replace("[method]\n", method)


def finished_run(directory, text=None):
    path = write_study(directory, with_quick_learner(text or small()))
    carry_out(prepare(path), directory / "run")
    return directory / "run"


def hostile_run(base):
    """A run whose directory, labels and columns are markup and formulas."""
    directory = base / HOSTILE_DIRECTORY
    directory.mkdir(parents=True)
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in HOSTILE_COLUMNS)
    rows = [f'{k},{k % 5},"{HOSTILE_LABELS[k % 2]}","{HOSTILE_ID}{k}"' for k in range(40)]
    (directory / "data.csv").write_text("\n".join([f"{quoted},kind,name", *rows, ""]))
    features = ", ".join("'''" + name + "'''" for name in HOSTILE_COLUMNS)
    source = f'"data.csv"\ntarget = "kind"\nid = "name"\nfeatures = [{features}]'
    return finished_run(directory, small().replace('"moons"', source))


def interrupted_run(directory):
    """A run that was stopped after its second round."""
    path = write_study(directory, with_quick_learner(small()))
    seen = []

    def stop():
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(prepare(path), directory / "run", Watcher(on_round=stop))
    return directory / "run"


def say_everywhere(report: RunReport, text: str) -> RunReport:
    """The report with ``text`` wherever a file, a study or a backend could put theirs."""
    found = report.tested
    points = [text] * len(found.truth)
    return replace(
        report,
        name=text,
        state=text,
        backend=text,
        version=text,
        study_text=text,
        settings={"method.allocator": text, text: text},
        labels=[text] * len(report.labels),
        ids=[text] * len(report.ids),
        tested=replace(found, ids=points, truth=points, predicted=points, classes=[text, text]),
        exact=ExactKernel(text),
        rivals=[replace(one, name=text) for one in report.rivals],
        bill=[row._replace(figure=text) for row in report.bill],
        circuit={text: text},
        drawing=text,
        usage=[row | {"figure": text} for row in report.usage],
        ledgers={text: replace(report.ledgers["training"], problems=[text])},
        notes=[text],
    )
