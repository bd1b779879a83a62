"""Backends are made for a design: the circuit they transpile, tile and tell of is its own."""

import numpy as np
import pytest
from qiskit.primitives import StatevectorSampler
from qiskit.providers.fake_provider import GenericBackendV2

from aqka import BackendFactory, InputError, StatevectorBackend, acquire, predict
from aqka.backends import AerBackend, RuntimeBackend, SamplerBackend, depolarising_noise
from aqka.backends._jobs.transpile import Transpiler
from aqka.backends.sentinel import SentinelBackend
from aqka.core import PointPlan, ShotPlan
from tests.fake_runtime import FakeRuntime

X = np.random.default_rng(3).uniform(0, 1, (4, 2))
PAIRS, POINTS = ShotPlan([0, 1], [1, 1], [30, 30]), PointPlan([0, 1], [0, 0], [30, 30], [[2, 2]])


def device():
    return GenericBackendV2(8, coupling_map=[[k, k + 1] for k in range(7)], seed=1)


def exact(seed):
    return StatevectorSampler(seed=np.random.default_rng(seed))


def made(kind, tmp_path, design):
    if kind == "runtime":
        return RuntimeBackend(FakeRuntime(tmp_path, device()), X, tiles="auto", design=design)
    if kind == "sampler":
        return SamplerBackend(exact, X, target_backend=device(), design=design)
    return AerBackend(X, noise=depolarising_noise(), design=design)


def barriers(circuit):
    """How many middles a circuit has: the fidelity test has one."""
    return sum(step.name == "barrier" and bool(step.operation.label) for step in circuit.data)


@pytest.mark.parametrize("kind", ["runtime", "sampler", "aer"])
def test_the_circuit_is_that_of_the_design_and_the_other_runs_as_well(kind, tmp_path):
    pairs, points = (made(kind, tmp_path, design) for design in ("pairs", "points"))
    assert (barriers(pairs.circuit), barriers(points.circuit)) == (1, 0)
    assert points.circuit.depth() < 0.7 * pairs.circuit.depth()
    for backend in (pairs, points):
        assert len(backend.collect(backend.submit(PAIRS, "pairs"))) == 2
        POINTS.checked(backend.collect(backend.submit(POINTS, "points")))


@pytest.fixture
def transpiled(monkeypatch):
    """Circuits in the order they were transpiled: ``points`` or ``pairs``."""
    seen, transpile = [], Transpiler.__call__

    def watching(self, circuit):
        seen.append("pairs" if barriers(circuit) else "points")
        return transpile(self, circuit)

    monkeypatch.setattr(Transpiler, "__call__", watching)
    return seen


@pytest.mark.parametrize("kind", ["runtime", "sampler"])
@pytest.mark.parametrize("design", ["auto", "points", "pairs"])
def test_a_run_transpiles_and_tiles_the_circuit_of_its_design_alone(
    kind, design, tmp_path, transpiled
):
    many = np.random.default_rng(4).uniform(0, 1, (12, 2))
    backend = made(kind, tmp_path, "pairs").with_points(many)  # the default
    assert transpiled == []
    found = acquire(backend, [1, -1] * 6, 1200, design=design).design.name
    assert found == ("pairs" if design == "pairs" else "points")
    assert transpiled == [found]
    alone = made(kind, tmp_path, found)
    assert backend.circuit.depth() == alone.circuit.depth()
    assert backend.n_tiles == alone.n_tiles
    if backend.tiling is not None:
        assert list(backend._tiles._found) == [found]


def test_a_prediction_settles_the_circuit_of_new_points_too(tmp_path, transpiled):
    head = acquire(StatevectorBackend(X), [1, -1, 1, -1], 4000, design="points").fit()
    backend = made("sampler", tmp_path, "pairs")
    predict(head, backend, 400)
    assert transpiled == ["points"]
    assert barriers(backend.circuit) == 0


def test_a_backend_with_sentinels_settles_what_it_wraps(tmp_path):
    inner = made("sampler", tmp_path, "points")
    acquire(SentinelBackend(inner, [0], 5), [1, -1, 1, -1], 60)
    assert barriers(inner.circuit) == 1


def test_a_backend_that_begins_with_the_other_design_gives_the_same_counts(tmp_path):
    first = acquire(made("sampler", tmp_path, "points"), [1, -1, 1, -1], 400, design="points")
    backend = made("sampler", tmp_path, "pairs")
    acquire(backend, [1, -1, 1, -1], 60, design="pairs")
    second = acquire(backend, [1, -1, 1, -1], 400, design="points")
    for name in ("shots", "cells", "outcomes", "counts"):
        np.testing.assert_array_equal(getattr(first.table, name), getattr(second.table, name))


def test_points_on_tiles_take_fewer_executions_than_shots(tmp_path, transpiled):
    backend = made("runtime", tmp_path, "points")
    backend.collect(backend.submit(POINTS, "t"))
    assert transpiled == ["points"]
    assert backend.workload(POINTS).executions < POINTS.total


def test_tiles_are_counted_for_the_circuit_of_the_design(tmp_path):
    for design in ("pairs", "points"):
        backend = made("runtime", tmp_path, design)
        assert backend.n_tiles == len(backend.tiling) > 1
    assert RuntimeBackend(device(), X).n_tiles == 1
    assert StatevectorBackend(X).n_tiles == 1


def test_fingerprints_of_jobs_do_not_depend_on_the_design(tmp_path):
    first, second = (made("runtime", tmp_path, design) for design in ("pairs", "points"))
    assert first.fingerprint() == second.fingerprint()
    ticket = first.submit(POINTS, "t")
    assert second.recover(POINTS, "t") == ticket


def test_factories_pass_the_design_to_those_that_take_it():
    aer = BackendFactory(AerBackend, noise=depolarising_noise())
    assert barriers(aer(X, None, columns=None, seed=0).circuit) == 1
    assert barriers(aer(X, None, columns=None, seed=0, design="points").circuit) == 0
    plain = BackendFactory(StatevectorBackend)(X, None, columns=None, seed=0, design="points")
    assert plain.shape == (4, 4)
    with pytest.raises(InputError, match="design"):
        BackendFactory(AerBackend, design="points")
    with pytest.raises(InputError, match="design must be 'pairs' or 'points', got 'auto'"):
        AerBackend(X, noise=depolarising_noise(), design="auto")
