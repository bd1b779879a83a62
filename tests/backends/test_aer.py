"""Noisy kernels against Aer's density-matrix simulator."""

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest
from qiskit.circuit.library import zz_feature_map
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit_aer.noise import NoiseModel

from aqka.backends._jobs.transpile import Transpiler
from aqka.backends.aer import AerBackend, depolarising_noise
from aqka.core import PointPlan, ShotPlan
from aqka.errors import InputError
from tests.backends.aer_sampling import AerSamplingBackend
from tests.backends.noisy_kernels import (
    all_pairs,
    assert_as_aer,
    assert_binomial,
    custom_noise,
    points,
)


def test_a_device_is_aers(calibrated):
    device, model = calibrated
    X = points(2, 4)
    assert_as_aer(AerBackend(X, noise=device, initial_layout=[0, 1, 3, 5]), model, X)


def test_routing_that_moves_qubits_is_followed():
    device = GenericBackendV2(5, coupling_map=[[k, k + 1] for k in range(4)], seed=1)
    X, model = points(3, 4), NoiseModel.from_backend(device)
    backend = AerBackend(X, zz_feature_map(4, entanglement="full"), noise=device)
    assert_as_aer(backend, model, X)
    ends = backend.circuit.layout
    assert ends.initial_index_layout() != ends.final_index_layout()


def test_without_noise_it_is_the_fidelity():
    X = points(5, 3)
    kernel = AerBackend(X, noise=NoiseModel()).kernel()
    np.testing.assert_allclose(np.diag(kernel), 1, atol=1e-12)
    np.testing.assert_allclose(kernel, kernel.T, atol=1e-12)


def test_columns_and_chunks_change_nothing(monkeypatch):
    X, model = points(7, 2), custom_noise()
    whole = AerBackend(X, noise=model).kernel()
    monkeypatch.setattr("aqka.backends._noisy.programs._CHUNK_BYTES", 8 * 4**2 * 2)
    part = AerBackend(X[:3], noise=model, columns=X[2:])
    assert part.shape == (3, 5)
    np.testing.assert_allclose(part.kernel(), whole[:3, 2:], atol=1e-14)


def test_one_transpile_serves_all_pairs(monkeypatch):
    calls, transpile = [], Transpiler.__call__
    monkeypatch.setattr(Transpiler, "__call__", lambda *a: calls.append(a) or transpile(*a))
    backend = AerBackend(points(30, 2), noise=depolarising_noise())
    plan = ShotPlan(*np.triu_indices(30), np.full(465, 10))
    for tag in ("a", "b"):
        backend.collect(backend.submit(plan, tag))
    assert len(calls) == 1


def test_hits_depend_on_the_tag_and_the_seed_alone():
    X, plan = points(4, 2), ShotPlan([0, 1], [1, 3], [1000, 1000])
    draws = [AerBackend(X, noise=depolarising_noise(), seed=seed) for seed in (1, 1, 2)]
    first, again, other = (b.collect(b.submit(plan, "t")) for b in draws)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[0.1, np.nan]]}, "X holds NaN"),
        ({"columns": [[0.1, np.inf]]}, "columns holds NaN or infinite"),
        ({"columns": [[0.1]]}, "columns must have as many features as X, 2, got 1"),
        ({"noise": "depolarising"}, "noise must be a qiskit_aer NoiseModel or a backend.*got str"),
        ({"noise": None}, "got NoneType"),
        ({"noise": GenericBackendV2(2, seed=0), "X": [[0.1] * 3]}, "needs 3 qubits but .* has 2"),
        ({"optimization_level": 7}, "optimization_level must be 0, 1, 2 or 3, got 7"),
        ({"initial_layout": [0]}, "initial_layout"),
        ({"X": np.zeros((100, 12))}, "exact noisy states would take"),
    ],
)
def test_bad_input_says_what_to_change(change, message):
    arguments = {"X": points(3, 2), "noise": depolarising_noise()} | change
    with pytest.raises(InputError, match=message):
        AerBackend(**arguments)


def test_without_aer_the_message_says_how_to_get_it(monkeypatch):
    def missing(name, *args):
        if name.startswith("qiskit_aer"):
            raise ImportError(name)
        return importlib.import_module(name, *args)

    monkeypatch.setattr("aqka._util.optional.import_module", missing)
    with pytest.raises(InputError, match=r"pip install 'aqka\[aer\]'"):
        AerBackend(points(2, 2), noise=object())
    with pytest.raises(InputError, match=r"pip install 'aqka\[aer\]'"):
        depolarising_noise()


def test_both_routes_draw_from_one_distribution():
    X, plan = points(20, 3, seed=5), all_pairs(20, [300, 400])
    exact = AerBackend(X, noise=custom_noise(), seed=1)
    sampled = AerSamplingBackend(X, noise=custom_noise(), seed=1)
    chance = exact.kernel()[plan.rows, plan.cols]
    for backend in (exact, sampled):
        hits = backend.collect(backend.submit(plan, "t"))
        assert_binomial(hits, plan.shots, chance)


def test_both_routes_agree_on_a_device(calibrated):
    device, _ = calibrated
    X, plan = points(12, 3, seed=6), all_pairs(12, 500)
    chance = AerBackend(X, noise=device).kernel()[plan.rows, plan.cols]
    sampled = AerSamplingBackend(X, noise=device)
    assert_binomial(sampled.collect(sampled.submit(plan, "t")), plan.shots, chance)


def test_sampled_top_ups_of_a_pair_are_independent():
    X, noise = points(2, 2), depolarising_noise()
    chance = AerBackend(X, noise=noise).kernel()[0, 1]
    backend = AerSamplingBackend(X, noise=noise)
    # The same pair many times in a plan, with different shots, and under many tags.
    plan = ShotPlan([0] * 9, [1] * 9, [50, 50, 50, 60, 60, 60, 70, 70, 70])
    hits = np.stack([backend.collect(backend.submit(plan, f"t{k}")) for k in range(40)])
    assert_binomial(hits.ravel(), np.tile(plan.shots, 40), chance)
    # Shared randomness would show in the sums, whose variance it raises.
    assert_binomial(hits.sum(axis=1), np.full(40, plan.total), chance)


def test_sampled_hits_fit_the_plan_and_repeat(monkeypatch):
    monkeypatch.setattr("tests.backends.aer_sampling._SHOTS_A_RUN", 10)
    X, plan = points(3, 2), ShotPlan([0, 1, 0, 2, 2], [0, 2, 2, 2, 1], [4, 0, 1, 4, 4])
    noiseless = AerSamplingBackend(X, noise=NoiseModel())
    hits = noiseless.collect(noiseless.submit(plan, "t"))
    assert (hits <= plan.shots).all()
    assert hits[[0, 3]].tolist() == [4, 4]
    again = AerSamplingBackend(X, noise=NoiseModel())
    np.testing.assert_array_equal(again.collect(again.submit(plan, "t")), hits)
    empty = ShotPlan([], [], [])
    assert len(noiseless.collect(noiseless.submit(empty, "e"))) == 0


FINGERPRINT = """
from aqka.backends import AerBackend, depolarising_noise
for design in ("pairs", "points"):
    noise = depolarising_noise(0.02)
    print(AerBackend([[0.1, 0.2]], noise=noise, design=design).fingerprint())
"""


def test_fingerprints_tell_noise_apart_the_same_in_every_process():
    first, second = (
        subprocess.run(
            [sys.executable, "-c", FINGERPRINT],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout.splitlines()
        for seed in ("1", "2")
    )
    assert first == second
    noise = depolarising_noise(0.03)
    for design, print_ in zip(("pairs", "points"), first, strict=True):
        other = AerBackend([[0.1, 0.2]], noise=noise, design=design).fingerprint()
        assert other.partition("noise=")[0] == print_.partition("noise=")[0]
        assert other != print_


def test_points_of_more_qubits_than_a_kernel_could_hold_are_refused_only_for_pairs(monkeypatch):
    monkeypatch.setattr("aqka.backends.aer._LARGEST_BYTES", 8 * 4**2 * 3)
    with pytest.raises(InputError, match="take fewer points or fewer qubits"):
        AerBackend(points(4, 2), noise=depolarising_noise())
    backend = AerBackend(points(4, 2), noise=depolarising_noise(), design="points")
    plan = PointPlan([0, 3], [0, 0], [5, 5], [[2, 2]])
    plan.checked(backend.collect(backend.submit(plan, "t")))
