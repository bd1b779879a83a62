"""A finished run and its report, and a run full of markup, for all tests of the room."""

import pytest

from aqka.report.run_report import run_report
from tests.report.runs import finished_run, hostile_run


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="session")
def report(run):
    return run_report(run)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    return hostile_run(tmp_path_factory.mktemp("hostile"))
