"""Noisy kernels against Aer's density-matrix simulator, and the two noisy routes."""

import importlib

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from qiskit.circuit.library import XGate, zz_feature_map
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit_aer import AerSimulator
from qiskit_aer.noise import (
    NoiseModel,
    ReadoutError,
    amplitude_damping_error,
    depolarizing_error,
    pauli_error,
    thermal_relaxation_error,
)
from scipy import stats

from aqka.backends._noisy.device_noise import noise_on_circuit
from aqka.backends._noisy.noisy_circuit import transpile_for_noise
from aqka.backends.aer import AerBackend, depolarising_noise
from aqka.backends.aer_sampling import AerSamplingBackend
from aqka.core import ShotPlan
from aqka.errors import InputError


def points(count, features, seed=0):
    return np.random.default_rng(seed).uniform(0, 2 * np.pi, (count, features))


def by_aer(circuit, model, X):
    """The same transpiled circuit, pair by pair, on Aer: exact all-zero probabilities."""
    used = 1 + max(
        circuit.find_bit(q).index
        for i in circuit.data
        if i.operation.name != "barrier"
        for q in i.qubits
    )
    small, measured = QuantumCircuit(used), []
    for instruction in circuit.data:
        where = [circuit.find_bit(q).index for q in instruction.qubits]
        if instruction.operation.name == "measure":
            measured += where
        elif instruction.operation.name != "barrier":
            small.append(instruction.operation, where)
    small.save_density_matrix()
    bound = [small.assign_parameters(np.hstack([x, y])) for x in X for y in X]
    simulator = AerSimulator(method="density_matrix", noise_model=model, max_parallel_threads=1)
    result = simulator.run(bound, shots=1).result()
    kernel = np.empty(len(bound))
    for k in range(len(bound)):
        chances = np.real(np.diag(result.data(k)["density_matrix"].data)).reshape([2] * used)
        for qubit in range(used):
            reads_zero = np.ones(2)
            if qubit in measured:
                error = model._local_readout_errors.get((qubit,), model._default_readout_error)
                reads_zero = np.array([1, 0]) if error is None else error.probabilities[:, 0]
            # Qubit 0 is the last axis, so qubit after qubit takes the last one away.
            chances = chances @ reads_zero
        kernel[k] = chances
    return kernel.reshape(len(X), len(X))


def custom_noise():
    model = NoiseModel(basis_gates=["id", "rz", "sx", "x", "cx"])
    relax = thermal_relaxation_error(50e3, 40e3, 2000, excited_state_population=0.1)
    model.add_all_qubit_quantum_error(relax, ["sx", "x"])
    model.add_all_qubit_quantum_error(amplitude_damping_error(0.01), ["rz"])
    model.add_all_qubit_quantum_error(relax.tensor(relax), ["cx"])
    model.add_quantum_error(
        amplitude_damping_error(0.05).tensor(relax), ["cx"], [0, 1], warnings=False
    )
    model.add_quantum_error(amplitude_damping_error(0.03), ["sx"], [1], warnings=False)
    model.add_all_qubit_readout_error(ReadoutError([[0.97, 0.03], [0.08, 0.92]]))
    model.add_readout_error(ReadoutError([[0.9, 0.1], [0.2, 0.8]]), [1], warnings=False)
    return model


def assert_as_aer(backend, model, X):
    difference = np.abs(backend.kernel() - by_aer(backend.circuit, model, X)).max()
    assert difference < 1e-10


@pytest.mark.parametrize("n_qubits", [2, 3, 4])
@pytest.mark.parametrize("level", [0, 1, 3])
def test_depolarising_noise_is_aers(n_qubits, level):
    X, model = points(3, n_qubits), depolarising_noise()
    assert_as_aer(AerBackend(X, noise=model, optimization_level=level), model, X)


@pytest.mark.parametrize("n_qubits", [2, 3])
def test_relaxation_damping_and_readout_errors_are_aers(n_qubits):
    X, model = points(3, n_qubits), custom_noise()
    backend = AerBackend(X, noise=model)
    assert_as_aer(backend, model, X)
    assert np.abs(backend.kernel() - backend.kernel().T).max() > 1e-4


@pytest.fixture(scope="module")
def heron():
    providers = importlib.import_module("qiskit_ibm_runtime.fake_provider")
    device = providers.FakeFez()
    return device, NoiseModel.from_backend(device)


@pytest.mark.parametrize("n_qubits", [3, 4])
def test_a_heron_device_is_aers(heron, n_qubits):
    device, model = heron
    X = points(2, n_qubits)
    assert_as_aer(AerBackend(X, noise=device, initial_layout=list(range(n_qubits))), model, X)


def test_a_devices_noise_is_that_of_the_whole_device():
    device = GenericBackendV2(6, seed=3)
    whole = NoiseModel.from_backend(device)
    circuit = transpile_for_noise(
        zz_feature_map(3), device, optimization_level=0, initial_layout=[4, 1, 2]
    )
    part = noise_on_circuit(device, circuit)
    for name, errors in part._local_quantum_errors.items():
        for qubits, error in errors.items():
            assert error == whole._local_quantum_errors[name][qubits]
    assert set(part._local_readout_errors) == {(1,), (2,), (4,)}
    assert part._local_readout_errors[(4,)] == whole._local_readout_errors[(4,)]


def test_routing_that_moves_qubits_is_followed():
    device = GenericBackendV2(5, coupling_map=[[k, k + 1] for k in range(4)], seed=1)
    X, model = points(3, 4), NoiseModel.from_backend(device)
    backend = AerBackend(X, zz_feature_map(4, entanglement="full"), noise=device)
    assert_as_aer(backend, model, X)
    ends = backend.circuit.layout
    assert ends.initial_index_layout() != ends.final_index_layout()


def test_gates_with_several_angles_and_parametrised_two_qubit_gates():
    x = ParameterVector("a", 3)
    circuit = QuantumCircuit(3)
    circuit.u(x[0], x[1] ** 2, 0.3, 0)
    circuit.cp(x[1] * x[2], 0, 1)
    circuit.rzz(x[2], 2, 0)
    circuit.ccx(0, 1, 2)
    circuit.barrier()
    circuit.rzx(np.pi - x[0], 1, 2)
    circuit.ecr(2, 0)
    X, model = points(3, 3), depolarising_noise(0.02, 0.1)
    model.add_basis_gates(["ccx"])
    backend = AerBackend(X, circuit, noise=model)
    assert {"u", "cp", "rzz", "ccx", "rzx", "ecr"} <= set(backend.circuit.count_ops())
    assert_as_aer(backend, model, X)


def test_controlled_rotations_without_noise_are_their_decomposition():
    x = ParameterVector("a", 2)
    circuit = QuantumCircuit(2)
    circuit.h([0, 1])
    circuit.crx(x[0] * x[1], 0, 1, ctrl_state=0)
    circuit.cu(x[0], x[1], 0.1, x[1], 1, 0)
    X, plain, kept = points(3, 2), NoiseModel(), NoiseModel()
    kept.add_basis_gates(["h", "cu", "crx_o0", "crx"])
    kernels = [AerBackend(X, circuit, noise=model).kernel() for model in (plain, kept)]
    np.testing.assert_allclose(*kernels, atol=1e-12)


def labelled_map():
    x = ParameterVector("a", 2)
    circuit = QuantumCircuit(2)
    circuit.ry(x[0], 0)
    circuit.append(XGate(label="slow"), [0])
    circuit.cx(0, 1)
    circuit.delay(2000, 1, unit="dt")
    circuit.id(0)
    circuit.ry(x[1], 1)
    return circuit


def test_errors_follow_labels_delays_and_idling():
    model = NoiseModel(basis_gates=["ry", "x", "cx", "id"])
    model.add_all_qubit_quantum_error(depolarizing_error(0.3, 1), ["x"])
    model.add_all_qubit_quantum_error(amplitude_damping_error(0.2), ["slow", "delay"])
    model.add_all_qubit_quantum_error(amplitude_damping_error(0.1), ["id"])
    X = points(3, 2)
    backend = AerBackend(X, labelled_map(), noise=model, optimization_level=0)
    assert backend.circuit.count_ops()["id"] == 2
    assert_as_aer(backend, model, X)


def test_delays_on_a_device_relax():
    device = GenericBackendV2(2, seed=1)
    X, model = points(2, 2), NoiseModel.from_backend(device)
    slow = labelled_map()
    slow.delay(450_000, 0, unit="dt")
    backend = AerBackend(X, slow, noise=device, optimization_level=0)
    assert_as_aer(backend, model, X)
    quick = AerBackend(X, labelled_map(), noise=device, optimization_level=0)
    assert np.abs(backend.kernel() - quick.kernel()).max() > 1e-3


def test_an_error_on_measurements_comes_before_them():
    flips, reads = depolarising_noise(), depolarising_noise()
    flips.add_all_qubit_quantum_error(pauli_error([("X", 0.1), ("I", 0.9)]), ["measure"])
    reads.add_all_qubit_readout_error(ReadoutError([[0.9, 0.1], [0.1, 0.9]]))
    X = points(4, 2)
    kernels = [AerBackend(X, noise=model).kernel() for model in (flips, reads)]
    np.testing.assert_allclose(*kernels, atol=1e-12)


def test_a_simulators_own_noise_is_used():
    X, model = points(3, 2), custom_noise()
    simulator = AerSimulator(noise_model=model)
    assert_as_aer(AerBackend(X, noise=simulator), model, X)


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


def test_correlated_readout_errors_are_refused():
    model = depolarising_noise()
    model.add_readout_error(ReadoutError(np.full((4, 4), 0.25)), [0, 1])
    with pytest.raises(InputError, match="correlated readout error"):
        AerBackend(points(2, 2), noise=model)


@pytest.mark.parametrize("rate", [-0.1, 1.5, "1%", True, float("nan")])
def test_depolarising_rates_are_checked(rate):
    with pytest.raises(InputError, match="one_qubit must be a depolarising rate"):
        depolarising_noise(rate)


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


# The routes against each other. Each test has fixed seeds and would, over fresh seeds, raise a
# false alarm at this rate.
FALSE_ALARM = 1e-3


def assert_binomial(hits, shots, chance):
    """Chi-square over pairs, two-sided: means and variances must be the binomial's."""
    ratio = (hits - shots * chance) ** 2 / (shots * chance * (1 - chance))
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(hits))
    assert low < ratio.sum() < high


def all_pairs(count, shots):
    rows, cols = np.triu_indices(count)
    return ShotPlan(rows, cols, np.resize(shots, len(rows)))


def test_both_routes_draw_from_one_distribution():
    X, plan = points(20, 3, seed=5), all_pairs(20, [300, 400])
    exact = AerBackend(X, noise=custom_noise(), seed=1)
    sampled = AerSamplingBackend(X, noise=custom_noise(), seed=1)
    chance = exact.kernel()[plan.rows, plan.cols]
    for backend in (exact, sampled):
        hits = backend.collect(backend.submit(plan, "t"))
        assert_binomial(hits, plan.shots, chance)


def test_a_devices_model_is_cut_to_the_qubits_in_use(heron):
    _, model = heron
    X = points(2, 2)
    backend = AerBackend(X, noise=model, initial_layout=[7, 6])
    circuit = transpile_for_noise(
        zz_feature_map(2), model, optimization_level=1, initial_layout=[7, 6]
    )
    part = noise_on_circuit(model, circuit)
    assert set(part._local_readout_errors) == {(6,), (7,)}
    assert set(part._local_quantum_errors["cz"]) == {(6, 7), (7, 6)}
    assert len(model._local_readout_errors) == 156
    assert_as_aer(backend, part, X)


def test_both_routes_agree_on_a_device(heron):
    device, _ = heron
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
    monkeypatch.setattr("aqka.backends.aer_sampling._SHOTS_A_RUN", 10)
    X, plan = points(3, 2), ShotPlan([0, 1, 0, 2, 2], [0, 2, 2, 2, 1], [4, 0, 1, 4, 4])
    noiseless = AerSamplingBackend(X, noise=NoiseModel())
    hits = noiseless.collect(noiseless.submit(plan, "t"))
    assert (hits <= plan.shots).all()
    assert hits[[0, 3]].tolist() == [4, 4]
    again = AerSamplingBackend(X, noise=NoiseModel())
    np.testing.assert_array_equal(again.collect(again.submit(plan, "t")), hits)
    empty = ShotPlan([], [], [])
    assert len(noiseless.collect(noiseless.submit(empty, "e"))) == 0


def test_sampling_refuses_what_it_cannot_run():
    backend = AerSamplingBackend(points(3, 2), noise=depolarising_noise(), columns=points(2, 2))
    with pytest.raises(InputError, match="cols of the plan must be below 2, got 2"):
        backend.submit(ShotPlan([2], [2], [1]), "t")
    with pytest.raises(InputError, match="unknown or was collected"):
        backend.collect("t")
    with pytest.raises(InputError, match="noise must be"):
        AerSamplingBackend(points(3, 2), noise="heavy")
