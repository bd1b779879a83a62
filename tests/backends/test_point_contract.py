"""Every backend that runs a feature map also measures its points."""

import numpy as np
import pytest
from qiskit.primitives import StatevectorSampler
from qiskit.quantum_info import Statevector
from qiskit_aer.noise import ReadoutError
from qiskit_ibm_runtime.fake_provider import FakeFez

from aqka import InputError, MatrixBackend, QuantumRidgeClassifier, acquire
from aqka.backends import (
    AerBackend,
    LightConeBackend,
    PennylaneBackend,
    RuntimeBackend,
    SamplerBackend,
    StatevectorBackend,
    depolarising_noise,
)
from aqka.backends._jobs.rows import Ticket
from aqka.backends.feature_maps import built_in_map
from aqka.backends.sentinel import SentinelBackend
from aqka.core import OutcomeCounts, PointPlan, ShotPlan
from aqka.core.point_plans import even_plan
from aqka.core.settings import choose_settings, uniform_settings
from aqka.testing import check_point_backend
from tests.backends.aer_sampling import AerSamplingBackend
from tests.estimates.points import basis_change
from tests.fake_runtime import FakeRuntime

X = np.random.default_rng(7).normal(size=(3, 3))
LETTERS = np.array([[0, 1, 2], [2, 2, 2], [1, 0, 0], [1, 1, 1]])


def exact_probabilities(points, letters):
    """By Qiskit: each point's state, then H and S† as its own documentation has them."""
    circuit = built_in_map("zz", points.shape[1])
    states = np.stack([Statevector(circuit.assign_parameters(x)).data for x in points])
    turned = np.stack([states @ basis_change(row).T for row in letters], axis=1)
    return np.abs(turned) ** 2


EXACT = exact_probabilities(X, LETTERS)


def angle_map(x):
    import pennylane as qml

    qml.AngleEmbedding(x, wires=range(3))
    qml.CNOT(wires=[0, 1])
    qml.CNOT(wires=[1, 2])


def test_statevector_backend():
    faultless = np.array([np.eye(2)] * 3)
    check_point_backend(
        lambda seed: StatevectorBackend(X, seed=seed), LETTERS, EXACT, confusion=faultless
    )
    circuit = built_in_map("zz", 3)
    check_point_backend(lambda seed: StatevectorBackend(X, circuit, seed=seed), LETTERS, EXACT)


def test_a_backend_of_points_alone_refuses_pairs_before_anything_is_written(tmp_path):
    backend = LightConeBackend(X)
    for ask in (
        lambda: backend.submit(ShotPlan([0], [1], [5]), "t"),
        lambda: LightConeBackend(X, columns=X),
        lambda: acquire(backend, [0, 1, 1], 30, design="pairs", directory=tmp_path / "run"),
        lambda: QuantumRidgeClassifier(
            backend="light-cone", design="pairs", directory=tmp_path / "fit"
        ).fit(X, [0, 1, 1]),
    ):
        with pytest.raises(InputError, match=r"measures points, not pairs: use design='points'"):
            ask()
    assert not list(tmp_path.iterdir())


def test_many_qubits_are_drawn_shot_by_shot():
    points = np.random.default_rng(3).normal(size=(2, 13))
    backend = StatevectorBackend(points)
    plan = even_plan([0, 1], uniform_settings(13), 30_000)
    found = plan.checked(backend.collect(backend.submit(plan, "t")))
    states = StatevectorBackend(points).states()
    for row in np.flatnonzero(plan.settings == 2):  # Z: the state's own probabilities
        p = np.abs(states[plan.points[row]]) ** 2
        seen, counts = (column[found.rows == row] for column in (found.outcomes, found.counts))
        ones = [np.average((seen >> q) & 1, weights=counts) for q in range(13)]
        expected = [p[(np.arange(2**13) >> q) & 1 == 1].sum() for q in range(13)]
        np.testing.assert_allclose(ones, expected, atol=5 * 0.5 / np.sqrt(10_000))


def sampled_and_exact(noise, points):
    exact = AerBackend(points, noise=noise)
    which, settings = np.indices((len(points), len(LETTERS))).reshape(2, -1)
    plan = PointPlan(which, settings, np.ones_like(which), LETTERS)
    p = exact._probabilities(plan, np.arange(len(plan))).reshape(len(points), len(LETTERS), -1)
    np.testing.assert_allclose(p.sum(axis=2), 1.0)
    return exact, p


def test_aer_samples_what_the_exact_noisy_probabilities_say():
    noise = depolarising_noise(0.01, 0.05)
    # Aer's rows are what is true, ours what is read. Each qubit of the map has errors of its own.
    chances = [(0.03, 0.08), (0.01, 0.05), (0.0, 0.1)]
    for qubit, (up, down) in enumerate(chances):
        noise.add_readout_error(ReadoutError([[1 - up, up], [down, 1 - down]]), [qubit])
    # The rotation that prepares a reference state is a gate like others: at λ it flips λ/2 of them.
    prepared = np.array([[0.995, 0.005], [0.005, 0.995]])
    confusion = np.array([[[1 - up, down], [up, 1 - down]] for up, down in chances]) @ prepared
    _, p = sampled_and_exact(noise, X)
    assert np.abs(p - EXACT).max() > 0.05  # the noise is no rounding error
    known = {"shots": 8000, "confusion": confusion}
    check_point_backend(lambda seed: AerBackend(X, noise=noise, seed=seed), LETTERS, p, **known)
    check_point_backend(
        lambda seed: AerSamplingBackend(X, noise=noise, seed=seed), LETTERS, p, **known
    )


def test_a_fake_heron_follows_its_own_exact_noise():
    device = FakeFez()
    _, p = sampled_and_exact(device, X[:2])
    check_point_backend(
        lambda seed: RuntimeBackend(device, X[:2], seed=seed), LETTERS, p, shots=4000
    )


def exact_sampler(seed):
    return StatevectorSampler(seed=np.random.default_rng(seed))


def test_sampler_and_service(tmp_path):
    check_point_backend(
        lambda seed: SamplerBackend(exact_sampler, X, seed=seed), LETTERS, EXACT, shots=400
    )
    directories = (tmp_path / str(k) for k in range(1000))
    check_point_backend(
        lambda seed: RuntimeBackend(FakeRuntime(next(directories)), X, seed=seed),
        LETTERS,
        EXACT,
        shots=400,
    )


@pytest.mark.parametrize("device", ["default.qubit", "lightning.qubit", "default.mixed"])
def test_pennylane_backend(device):
    # The states of the function itself, which test_statevector compares with PennyLane's own.
    states = StatevectorBackend(X, angle_map).states()
    turned = np.stack([states @ basis_change(row).T for row in LETTERS], axis=1)
    check_point_backend(
        lambda seed: PennylaneBackend(X, angle_map, device, seed=seed), LETTERS, np.abs(turned) ** 2
    )


@pytest.mark.parametrize("wrap", [lambda b: b, lambda b: SentinelBackend(b, [0], 1)])
def test_a_kernel_matrix_has_no_points_to_measure(wrap):
    backend = wrap(MatrixBackend(np.eye(3)))
    assert backend.n_qubits is None
    with pytest.raises(InputError, match=r"measures pairs, not points.*StatevectorBackend"):
        backend.submit(PointPlan([0], [0], [5], [[2, 2]]), "t")


def test_one_transpiled_circuit_and_one_job_serve_all_points_and_settings(tmp_path):
    service = FakeRuntime(tmp_path)
    backend = RuntimeBackend(service, X)
    letters = choose_settings(3, seed=0)
    plan = even_plan(np.arange(3), letters, 54)
    ticket = backend.submit(plan, "all")
    assert len(Ticket.read(ticket).job_ids) == 1
    assert service.submissions == 1
    plan.checked(backend.collect(ticket))
    point, pair = RuntimeBackend(service, X, design="points").circuit, backend.circuit
    assert 2 * point.num_nonlocal_gates() == pair.num_nonlocal_gates()
    assert point.depth() < 0.7 * pair.depth()


def test_a_ticket_of_points_is_collected_by_another_process(tmp_path):
    service = FakeRuntime(tmp_path)
    plan = even_plan(np.arange(3), LETTERS, 40)
    ticket = RuntimeBackend(service, X).submit(plan, "t")
    first = RuntimeBackend(service, X).collect(ticket)
    again = RuntimeBackend(service, X).collect(RuntimeBackend(service, X).recover(plan, "t"))
    for name in ("rows", "outcomes", "counts"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert service.submissions == 1


def test_pairs_and_points_of_one_backend_do_not_meet(tmp_path):
    backend = RuntimeBackend(FakeRuntime(tmp_path), X)
    pairs, points = ShotPlan([0], [1], [12]), PointPlan([0], [1], [12], LETTERS)
    tickets = [backend.submit(plan, "same tag") for plan in (pairs, points)]
    assert isinstance(backend.collect(tickets[1]), OutcomeCounts)
    assert backend.collect(tickets[0]).shape == (1,)
