"""The kernel that is measured once and then resampled."""

import numpy as np
import pytest
from qiskit_ibm_runtime import fake_provider
from typer.testing import CliRunner

from aqka import InputError
from aqka.backends import AerBackend
from aqka.backends.runtime import RuntimeBackend
from aqka.cli.app import app
from aqka_research.reproduce import measured_kernel as module
from aqka_research.reproduce.measured_kernel import (
    MeasuredKernel,
    file_source,
    hardware_task,
    load_kernel,
    measure_kernel,
    measured_kernel,
)
from tests.fake_runtime import FakeRuntime

POINTS = 6


@pytest.fixture(scope="module")
def measured():
    return measure_kernel(fake_provider.FakeMarrakesh(), POINTS)


def test_entries_are_the_exact_noisy_fidelities_up_to_shot_noise(measured):
    X = np.random.default_rng(0).uniform(0, 2 * np.pi, (POINTS + module.N_TEST, 4))
    exact = AerBackend(X, noise=fake_provider.FakeMarrakesh()).kernel()
    shots = measured.shots
    upper = np.triu_indices(POINTS)
    for ours, k in (
        (measured.kernel[upper], exact[:POINTS, :POINTS][upper]),
        (measured.test_kernel.ravel(), exact[POINTS:, :POINTS].ravel()),
    ):
        # 21 and 48 normal deviates: beyond five standard errors once in 25,000 such tests.
        assert np.abs(ours - k).max() < 5 * np.sqrt(k * (1 - k) / shots).max()
    assert np.array_equal(measured.kernel, measured.kernel.T)
    assert 0.5 < measured.readout < 1.0
    assert measured.kernel.diagonal().max() < measured.readout


def test_jobs_are_the_papers():
    whole = MeasuredKernel(np.eye(50), np.zeros((8, 50)), shots=2048, depth=102)
    assert whole.circuits == 1675
    assert whole.batches() == [300] * 5 + [175]
    # IBM's quick formula: 2 s a job and 350 µs an execution.
    assert whole.batch_seconds(300) == pytest.approx(2 + 350e-6 * 300 * 2048, rel=1e-3)


def test_a_file_gives_the_same_kernel_and_the_same_tasks(tmp_path, measured):
    path = tmp_path / "kernel.npz"
    measured.save(path)
    source = file_source(path)
    again = measured_kernel(source)
    np.testing.assert_array_equal(again.kernel, measured.kernel)
    np.testing.assert_array_equal(again.test_kernel, measured.test_kernel)
    assert (again.device, again.shots, again.depth) == ("fake_marrakesh", 2048, measured.depth)
    first, second = hardware_task(1, source), hardware_task(2, source)
    assert first.kernel is second.kernel
    assert not np.array_equal(first.y, second.y)
    assert len(first.anchors) == 4
    # The target is planted on the measured kernel: α = c solves it exactly.
    alpha = np.linalg.solve(first.kernel + first.ridge * np.eye(POINTS), first.y)
    np.testing.assert_array_equal(np.flatnonzero(np.abs(alpha) > 1e-9), first.anchors)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"kernel": np.eye(6)}, "must have the arrays kernel and test_kernel"),
        ({"kernel": np.eye(6), "test_kernel": np.eye(6), "x": 1}, "must have the arrays"),
        ({"kernel": 2 * np.eye(6), "test_kernel": np.eye(6)}, "kernel must lie within"),
        ({"kernel": np.eye(6), "test_kernel": np.eye(5)}, "must have a column for each"),
        ({"kernel": np.eye(4), "test_kernel": np.eye(4)}, "more than 4 training points"),
        ({"kernel": np.eye(6), "test_kernel": np.eye(6), "depth": -1}, "depth of a kernel file"),
        ({"kernel": np.array([{}, {}]), "test_kernel": np.eye(6)}, "not an npz of plain arrays"),
    ],
)
def test_bad_files_are_refused(tmp_path, arrays, message):
    path = tmp_path / "k.npz"
    np.savez(path, **arrays)
    with pytest.raises(InputError, match=message):
        load_kernel(path)


def test_what_is_no_npz_and_what_has_changed_is_refused(tmp_path, measured):
    path = tmp_path / "k.npz"
    path.write_bytes(b"nothing")
    with pytest.raises(InputError, match="not an npz"):
        load_kernel(path)
    measured.save(path)
    source = file_source(path)
    MeasuredKernel(np.eye(6), np.zeros((8, 6))).save(path)
    with pytest.raises(InputError, match="has changed"):
        measured_kernel(source)


def test_a_fake_device_is_measured_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    module._of_fake_device.cache_clear()
    first = measured_kernel({"device": "FakeMarrakesh", "points": 5})
    module._of_fake_device.cache_clear()
    monkeypatch.setattr(module, "measure_kernel", None)  # must not be called again
    again = measured_kernel({"device": "FakeMarrakesh", "points": 5})
    np.testing.assert_array_equal(first.kernel, again.kernel)


def test_the_command_takes_a_kernel(tmp_path, measured):
    measured.save(tmp_path / "k.npz")
    common = ["reproduce", "--quick", "--seeds", "1", "--workers", "1"]
    out = ["--out", str(tmp_path / "r"), "--kernel", str(tmp_path / "k.npz")]
    done = CliRunner().invoke(app, [*common, "hardware", *out])
    assert done.exit_code == 0, done.output
    kept = tmp_path / "r-quick" / "paper" / "hardware" / "kernel.npz"
    np.testing.assert_array_equal(load_kernel(kept).kernel, measured.kernel)
    refused = CliRunner().invoke(app, [*common, "scaling", *out])
    assert "experiments that resample" in str(refused.exception)


def test_a_crash_after_submission_buys_no_shot_twice(tmp_path, monkeypatch):
    """The jobs are there; the second call collects them."""
    service = FakeRuntime(tmp_path)
    collect = RuntimeBackend.collect
    monkeypatch.setattr(RuntimeBackend, "collect", lambda *_: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        measure_kernel(service, POINTS)
    sent = service.submissions
    assert sent == 1
    monkeypatch.setattr(RuntimeBackend, "collect", collect)
    measured = measure_kernel(service, POINTS)
    assert service.submissions == sent
    assert measured.kernel.shape == (POINTS, POINTS)
