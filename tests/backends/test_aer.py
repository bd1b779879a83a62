"""Noisy kernels against Aer's density-matrix simulator."""

import importlib

import numpy as np
import pytest
from qiskit.circuit.library import zz_feature_map
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit_aer.noise import NoiseModel

from aqka.backends.aer import AerBackend, depolarising_noise
from aqka.core import ShotPlan
from aqka.errors import InputError
from tests.backends.noisy_kernels import assert_as_aer, custom_noise, points


@pytest.mark.parametrize("n_qubits", [3, 4])
def test_a_heron_device_is_aers(heron, n_qubits):
    device, model = heron
    X = points(2, n_qubits)
    assert_as_aer(AerBackend(X, noise=device, initial_layout=list(range(n_qubits))), model, X)


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
    monkeypatch.setattr("aqka.backends.aer._CHUNK_BYTES", 8 * 4**2 * 2)
    part = AerBackend(X[:3], noise=model, columns=X[2:])
    assert part.shape == (3, 5)
    np.testing.assert_allclose(part.kernel(), whole[:3, 2:], atol=1e-14)


def test_one_transpile_serves_all_pairs(monkeypatch):
    import qiskit

    calls, transpile = [], qiskit.transpile
    monkeypatch.setattr(qiskit, "transpile", lambda *a, **k: calls.append(a) or transpile(*a, **k))
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
        ({"noise": GenericBackendV2(2, seed=0), "X": [[0.1] * 3]}, "2 qubits but .* needs 3"),
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
