"""What happens to disks and devices between two rounds: full, read-only, retired, recalibrated."""

import os
import subprocess

import numpy as np
import pytest
from qiskit.providers.fake_provider import GenericBackendV2

from aqka import InputError, LedgerError, MatrixBackend, TransientError, acquire
from aqka.backends import RuntimeBackend
from aqka.runs.audit import sound_history, verify
from aqka.runs.export import measurements
from tests.conftest import make_kernel, make_labels
from tests.fake_runtime import FakeRuntime

KERNEL, Y = make_kernel(40), make_labels(40)
X, LABELS = np.random.default_rng(0).uniform(0, 1, (5, 2)), make_labels(5)


@pytest.fixture
def mount(tmp_path):
    """A file system in memory that can be full or read-only; a function sets its options."""
    place = tmp_path / "disk"
    place.mkdir()

    def call(*arguments):
        return subprocess.run(arguments, capture_output=True, check=False).returncode

    if os.geteuid() != 0 or call("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place):
        pytest.skip("mounting a small file system needs root")

    def options(text):
        assert call("mount", "-o", f"remount,{text}", place) == 0

    options.place = place
    yield options
    call("umount", place)


def spend(directory):
    return acquire(MatrixBackend(KERNEL), Y, 3000, "aqka", directory=directory)


def test_a_disk_that_is_full_for_a_while_costs_nothing(mount, tmp_path):
    run = mount.place / "run"
    with pytest.raises(LedgerError, match="free some space and resume"):
        spend(run)
    begun = verify(run)
    assert begun.sound
    with pytest.raises(LedgerError, match="free some space and resume"):
        spend(run)
    mount("size=4m")
    assert np.array_equal(spend(run).table.hits, spend(tmp_path / "whole").table.hits)
    assert verify(run).shots == 3000


def test_a_run_on_a_disk_that_became_read_only_is_read_and_not_touched(mount):
    mount("size=4m")
    run = mount.place / "run"
    session = spend(run)
    mount("ro")
    assert verify(run).summary == "sound: 5 rounds, 3000 of 3000 shots, finished"
    assert measurements(run).hits.sum() == session.table.hits.sum()
    with pytest.raises(LedgerError, match="Read-only file system"):
        spend(run)
    with pytest.raises((InputError, LedgerError), match="Read-only file system"):
        spend(mount.place / "another")
    mount("rw")
    assert np.array_equal(spend(run).table.hits, session.table.hits)


class Device(GenericBackendV2):
    """A device whose calibration has a date, and which may be retired."""

    def __init__(self, seed, date, name="one"):
        super().__init__(5, seed=seed)
        self.name, self._date = name, date

    def properties(self):
        return type("Properties", (), {"last_update_date": self._date})()


class Service(FakeRuntime):
    """Takes so many jobs before its device is retired."""

    def __init__(self, directory, device, jobs):
        super().__init__(directory, device)
        self.jobs_left = jobs

    def accept(self, *job):
        if self.jobs_left == 0:
            self.next_job = "refused"
        self.jobs_left = max(0, self.jobs_left - 1)
        return super().accept(*job)


def on_device(tmp_path, device, jobs=99):
    backend = RuntimeBackend(Service(tmp_path / "service", device, jobs), X)
    directory = tmp_path / "run"
    return acquire(backend, LABELS, 50, "aqka", design="pairs", directory=directory)


def test_a_device_that_is_retired_between_rounds_leaves_what_it_measured(tmp_path):
    with pytest.raises(TransientError, match="could not be reached"):
        on_device(tmp_path, Device(0, "monday"), jobs=2)
    assert verify(tmp_path / "run").summary == "sound: 2 rounds, 20 of 50 shots, not finished"
    with pytest.raises(LedgerError, match="these differ: backend"):  # other noise, another kernel
        on_device(tmp_path, Device(1, "tuesday", name="another"))
    assert measurements(tmp_path / "run").shots.sum() == 20
    assert on_device(tmp_path, Device(0, "monday")).table.total == 50  # it is back


def test_a_device_that_is_recalibrated_between_rounds_goes_on_with_the_job_it_has(tmp_path):
    class Dying(Service):
        def accept(self, *job):
            super().accept(*job)
            if self.jobs_left == 0:  # the service has the job, the ledger not yet its ticket
                raise SystemExit
            return self.jobs([])[0]

    backend = RuntimeBackend(Dying(tmp_path / "service", Device(0, "monday"), 3), X)
    with pytest.raises(SystemExit):
        acquire(backend, LABELS, 50, "aqka", design="pairs", directory=tmp_path / "run")
    assert on_device(tmp_path, Device(3, "tuesday")).table.total == 50
    assert sound_history(tmp_path / "run").calibrations == ["monday", "tuesday"]
    assert FakeRuntime(tmp_path / "service").submissions == 5
