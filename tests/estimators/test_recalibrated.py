"""Devices that change, or cannot run a circuit: what was paid for is found again, on any day."""

import multiprocessing

import numpy as np
import pytest
from qiskit.providers.fake_provider import GenericBackendV2

from aqka import (
    BackendFactory,
    InputError,
    LedgerError,
    QuantumKernel,
    QuantumRidgeClassifier,
    StatevectorBackend,
    acquire,
    train_map,
)
from aqka.backends import LightConeBackend, RuntimeBackend
from aqka.planning.budget import Money, QpuTime
from tests.fake_runtime import FakeRuntime

X = np.random.default_rng(0).uniform(0, 1, (6, 2))
Y = [0, 1] * 3


def device(*, worse=False):
    """A line of eight qubits; on a bad day its middle is of no use, and holds fewer tiles."""
    made = GenericBackendV2(8, coupling_map=[[k, k + 1] for k in range(7)], seed=1)
    for name in made.target.operation_names if worse else ():
        for qubits, properties in (made.target[name] or {}).items():
            if properties is not None and set(qubits) <= {3, 4}:
                properties.error = 0.4
    return made


class Service(FakeRuntime):
    dies = False

    def job(self, job_id):
        if self.dies:
            raise KeyboardInterrupt  # while its job waits in the queue
        return super().job(job_id)


@pytest.mark.parametrize("design", ["points", "auto"])
@pytest.mark.parametrize("kind", [QuantumRidgeClassifier, QuantumKernel])
def test_a_budget_in_time_resumes_on_a_recalibrated_device(tmp_path, kind, design):
    def model(worse, dies=False):
        service = Service(tmp_path / "service", device(worse=worse))
        service.dies = dies
        backend = BackendFactory(RuntimeBackend, backend=service, tiles="auto")
        how = {"budget": "16 s", "design": design, "directory": tmp_path / "kept"}
        return service, kind(backend=backend, **how)

    service, first = model(worse=False, dies=True)
    with pytest.raises(KeyboardInterrupt):
        first.fit(X, Y)
    paid = service.submissions
    assert paid
    service, second = model(worse=True)
    second.fit(X, Y)
    again, third = model(worse=True)
    third.fit(X, Y)
    assert again.submissions == service.submissions  # a finished fit is found as well
    _, fresh = model(worse=False)
    fresh.directory = tmp_path / "fresh"
    assert second.shots_used_ == fresh.fit(X, Y).shots_used_
    for path in (tmp_path / "kept").glob("terms-*.json"):
        for damaged in ("{", '{"depth": null}', "[]"):
            path.write_text(damaged)
            with pytest.raises(LedgerError, match="is damaged"):
                model(worse=True)[1].fit(X, Y)


def map_training(backend, directory):
    rows = np.random.default_rng(0).uniform(0, 1, (40, 2))
    how = {"budget": 1200, "pairs_per_step": 20, "directory": directory}
    return train_map("zz", rows, [0, 1] * 20, backend, **how)


def kernel_of_new_points(backend, directory):
    how = {"design": "pairs", "shots_each": 10, "test_budget": 1000, "directory": directory}
    return QuantumKernel(backend=backend, **how).matrix(X[:2], X[2:4])


@pytest.mark.parametrize("measure", [map_training, kernel_of_new_points])
def test_tiles_that_cannot_be_had_leave_the_directory_usable(tmp_path, measure):
    def backend(tiles):
        service = FakeRuntime(tmp_path / "service", device())
        return BackendFactory(RuntimeBackend, backend=service, tiles=tiles)

    with pytest.raises(InputError, match="tiles = 99"):
        measure(backend(99), tmp_path / "kept")
    assert measure(backend("auto"), tmp_path / "kept") is not None


def test_a_forked_child_transpiles():
    backends = [RuntimeBackend(device(), X) for _ in range(2)]
    whole = acquire(backends[0], Y, 60, design="pairs")  # Qiskit's threads start here
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.apply_async(_measured, [backends[1]]).get(timeout=300)
    assert found == whole.table.hits.tolist()


def _measured(backend):
    return acquire(backend, Y, 60, design="pairs").table.hits.tolist()


class Waits(StatevectorBackend):
    """A simulator that says how long a device would wait after every shot."""

    rep_delay = 2.5e-4


@pytest.mark.parametrize("design", ["points", "auto"])
@pytest.mark.parametrize(
    "another",
    [
        {"budget": "40 s"},
        {"new_points": 3},
        {"allocator": "aqka"},
        {"seed": 1},
        {"y": [1, 1, 0] * 2},
        {"X": np.vstack([X, X + 1]), "y": Y + Y},
    ],
    ids=lambda another: "-".join(another),
)
def test_another_run_is_quoted_for_the_device_as_it_is_now(tmp_path, monkeypatch, another, design):
    def fitted(directory, **given):
        how = {"X": X, "y": Y, "budget": "60 s", "design": design, "feature_map": "zz"} | given
        backend = BackendFactory(Waits)
        points, labels = how.pop("X"), how.pop("y")
        model = QuantumRidgeClassifier(backend=backend, directory=tmp_path / directory, **how)
        return model.fit(points, labels)

    before = fitted("same")
    monkeypatch.setattr(Waits, "rep_delay", 1e-3)
    now, fresh = (fitted(directory, **another) for directory in ("same", "other"))
    assert now.quote_ == fresh.quote_
    assert now.quote_.execution_seconds > before.quote_.execution_seconds
    again = fitted("same")
    assert (again.quote_, again.shots_used_) == (before.quote_, before.shots_used_)


@pytest.mark.parametrize("kind", [QuantumRidgeClassifier, QuantumKernel])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("60 s", "1 min"),
        ("60 s", QpuTime(60.0)),
        ("$20 at $96/min", Money(20.0, rate=96.0)),
    ],
)
def test_the_same_budget_in_other_words_is_the_same_run(tmp_path, monkeypatch, kind, one, other):
    def fitted(budget):
        how = {"budget": budget, "feature_map": "zz", "directory": tmp_path / "kept"}
        return kind(backend=BackendFactory(Waits), **how).fit(X, Y)

    before = fitted(one)
    monkeypatch.setattr(Waits, "rep_delay", 1e-3)
    assert fitted(other).shots_used_ == before.shots_used_


@pytest.mark.parametrize("kind", [QuantumRidgeClassifier, QuantumKernel])
@pytest.mark.parametrize("design", ["points", "auto"])
@pytest.mark.parametrize("budget", [0, "", False, 0.0])
def test_a_budget_of_nothing_is_refused(kind, design, budget, tmp_path):
    for directory in (None, tmp_path):
        with pytest.raises(InputError, match="budget"):
            kind(budget=budget, design=design, directory=directory).fit(X, Y)


@pytest.mark.parametrize("design", ["points", "auto"])
@pytest.mark.parametrize("allocator", ["nope", "nystrom"])
def test_what_is_refused_leaves_nothing_behind(tmp_path, allocator, design):
    how = {"budget": "5 min", "design": design, "directory": tmp_path / "kept"}
    if (allocator, design) == ("nystrom", "auto"):
        how["backend"] = BackendFactory(LightConeBackend)  # which measures points alone
    with pytest.raises(InputError):
        QuantumRidgeClassifier(allocator=allocator, **how).fit(X, Y)
    assert not (tmp_path / "kept").exists()


def test_a_refused_budget_in_time_leaves_nothing_behind(tmp_path):
    how = {"budget": "1 s", "design": "points", "directory": tmp_path / "kept"}
    with pytest.raises(InputError, match="does not pay"):
        QuantumRidgeClassifier(**how).fit(X, Y)
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("kind", [QuantumRidgeClassifier, QuantumKernel])
def test_a_directory_that_cannot_be_made_is_named(tmp_path, kind):
    (tmp_path / "file").write_text("")
    for directory in (tmp_path / "file", tmp_path / "file" / "kept"):
        with pytest.raises(InputError, match=r"cannot be made.*name another"):
            kind(budget="5 min", directory=directory).fit(X, Y)
