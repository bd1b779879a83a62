"""Which kernel is read out of counts of points, chosen by name."""

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector

from aqka import InputError, MatrixBackend, StatevectorBackend, acquire
from aqka.backends.statevector import zz_kernel
from aqka.core.problem import Problem
from aqka.core.settings import choose_settings, uniform_settings
from aqka.designs import Fidelity, PointKernel, Points, Projected, Settle, point_kernel_names
from aqka.designs.points import as_point_kernel, default_point_kernel
from aqka.estimates.projected import overlap_variances
from aqka.estimates.reduced_states import reduced_states
from aqka.runs.driver import fingerprint
from aqka.sessions import Predicting, Training, predict

NOT_SETTLED = Settle(error_rate=1e-9)
ANGLES = np.random.default_rng(0).uniform(0, np.pi, size=(40, 3))
Y = (ANGLES.sum(axis=1) > np.median(ANGLES.sum(axis=1))).astype(int)


def angle_map(n_qubits=3):
    circuit = QuantumCircuit(n_qubits)
    for qubit, angle in enumerate(ParameterVector("x", n_qubits)):
        circuit.ry(angle, qubit)
    return circuit


def backend(X=ANGLES, seed=0):
    return StatevectorBackend(X, angle_map(X.shape[1]), seed=seed)


def overlaps(X, others, locality):
    """Return the mean of Tr ρσ: (1 + cos(x - y))/2 of a qubit, and products of two of them."""
    one = (1 + np.cos(X[:, None] - others)) / 2
    if locality == 1:
        return one.mean(axis=2)
    pairs = [one[..., q] * one[..., q + 1] for q in range(2)]
    return np.mean(pairs, axis=0)


def training(kernel=None, budget=4000, allocator=None, n_qubits=3):
    return Training(Problem(Y), budget, allocator, design=Points(kernel), n_qubits=n_qubits)


def test_names_and_objects_are_kernels_and_mistakes_are_told():
    kinds = {name: as_point_kernel(name) for name in point_kernel_names()}
    assert all(isinstance(kernel, PointKernel) for kernel in kinds.values())
    assert len(set(map(repr, kinds.values()))) == len(kinds) == 7
    own = Projected(gamma=0.3)
    assert as_point_kernel(own) is own
    for wrong, n_qubits, words in (
        ("purify", 4, "one of 'purified', .* got 'purify'. Did you mean 'purified'"),
        (3, 4, "or a PointKernel, got 3"),
        ("device", 9, "at most 8 qubits, and the points have 9; take 'projected'"),
        ("projected-2", 1, "at most the 1 qubit of the points.*take the kernel 'projected'"),
        (Fidelity(), 11, "at most 10 qubits"),
        (Projected(1, pairs="all"), 4, "pairs are for two-qubit states: take locality=2"),
        (Projected(2, pairs="each"), 4, "'neighbours', 'all' or edges, got 'each'"),
        (Projected(2, pairs=((0, 4),)), 4, "two different qubits from 0 to 3"),
        (Projected(3), 4, "locality must be 1 or 2"),
    ):
        with pytest.raises(InputError, match=words):
            training(wrong, n_qubits=n_qubits)


def test_settings_that_cannot_give_the_kernels_states_are_refused_before_the_first_shot():
    for kernel, settings in (
        ("projected-2", uniform_settings(12)),
        ("projected-2-all", choose_settings(12, seed=0)),
        ("projected", uniform_settings(12)[:2]),
    ):
        with pytest.raises(InputError, match=r"no setting measures [XYZ]\d.*; leave settings"):
            Training(Problem(Y), 4000, design=Points(kernel, settings=settings), n_qubits=12)


def test_many_qubits_are_measured_in_the_settings_that_the_kernel_needs():
    for name, count in (("projected", 3), ("projected-2", 9), ("projected-2-all", 27)):
        table = training(name, 40 * 100, n_qubits=100).table
        assert table.settings.shape == (count, 100)
        least = as_point_kernel(name).least_shots(table.settings)
        assert least == 2 * count
    ring = tuple((q, (q + 1) % 12) for q in range(12))
    assert training(Projected(2, pairs=ring), n_qubits=12).table.n_settings == 9


def test_a_kernel_of_one_qubit_states_is_measured_in_three_settings_and_others_as_ever():
    usual = choose_settings(3, seed=0)
    for name in point_kernel_names():
        session = training(name, 40 * 100)
        one_qubit = name in ("projected", "projected-linear")
        expected = uniform_settings(3) if one_qubit else usual
        np.testing.assert_array_equal(session.table.settings, expected)
    steered = training("projected", allocator="aqka")
    np.testing.assert_array_equal(steered.table.settings, usual)
    # What is measured is the same, so that no other kernel needs other shots.
    plain, device = (training(k, 4000) for k in (None, "device"))
    assert fingerprint(plain, backend()) == fingerprint(device, backend())
    assert isinstance(plain.design.kernel_for(plain.table), Fidelity)
    many = training(n_qubits=12)
    np.testing.assert_array_equal(many.table.settings, choose_settings(12, seed=0))
    assert isinstance(many.design.kernel_for(many.table), Projected)


def test_counts_without_a_name_are_read_as_their_settings_allow():
    assert default_point_kernel(choose_settings(3, 0)) == Fidelity()
    assert default_point_kernel(uniform_settings(3)) == Projected()
    assert default_point_kernel(uniform_settings(1)) == Fidelity()
    assert default_point_kernel(choose_settings(9, 0)) == Projected()


def test_too_few_shots_for_reduced_states_are_refused_before_the_first():
    with pytest.raises(InputError, match="every point 6 shots"):
        training("projected-linear", 40 * 5)
    session = training("projected-linear", 40 * 6)
    assert session.design.least_shots(session.table) == 6
    least = Projected(2, "linear").least_shots(choose_settings(3, 0))
    with pytest.raises(InputError, match=f"every point {least} shots"):
        training("projected-2-linear", 40 * (least - 1))


@pytest.mark.parametrize("locality", [1, 2])
def test_the_linear_kernel_is_the_mean_overlap_of_reduced_states(locality):
    name = "projected-linear" if locality == 1 else "projected-2-linear"
    session = acquire(backend(), Y, 40 * 3000, design=Points(name))
    head = session.fit()
    exact = overlaps(ANGLES, ANGLES, locality)
    off = ~np.eye(40, dtype=bool)
    states = reduced_states(session.table, locality)
    variances = overlap_variances(session.table, states) / states.n_states**2
    z = (head.kernel - exact)[off] / np.sqrt(variances[off])
    assert 0.85 < np.sqrt(np.mean(z**2)) < 1.15
    assert np.linalg.eigvalsh(head.kernel).min() > -1e-12
    assert "linear projected kernel" in head.estimate.meaning
    # Of new points, the deviation is that of their shots for the head as it is.
    new = np.random.default_rng(1).uniform(0, np.pi, size=(200, 3))
    prediction = Predicting(head, 200, 200 * 400, stop=NOT_SETTLED)
    device = backend(new, seed=1)
    while not prediction.done:
        prediction.tell(device.collect(device.submit(prediction.ask(), prediction.tag)))
    found = head.decide(prediction.table)
    # The training points' measured expectations stand for the exact ones: many shots more of the
    # new points alone tell the truth.
    truth = Predicting(head, 200, 200 * 100_000, stop=NOT_SETTLED, seed=3)
    while not truth.done:
        truth.tell(device.collect(device.submit(truth.ask(), truth.tag)))
    z = (found.f - head.decide(truth.table).f) / found.deviation
    assert 0.8 < np.sqrt(np.mean(z**2)) < 1.2


@pytest.mark.parametrize("form", ["gaussian", "linear"])
@pytest.mark.parametrize("locality", [1, 2])
def test_exact_states_give_the_decision_of_the_exact_kernel(form, locality):
    """With very many training shots, f is that of the kernel by its formula."""
    kernel = Projected(locality, form, gamma=0.4 if form == "gaussian" else None)
    head = acquire(backend(), Y, 40 * 10**7, design=Points(kernel)).fit()
    new = np.random.default_rng(1).uniform(0, np.pi, size=(30, 3))
    block = overlaps(new, ANGLES, locality)
    if form == "gaussian":  # ‖ρ - σ‖² = 2 - 2 Tr ρσ of pure states, and of products of them
        block = np.exp(-0.4 * (4 - locality) * (2 - 2 * block))
    f = head.estimate.decide_exactly(head, backend(new))
    # Entries are known to about 2e-4, times the coefficients.
    np.testing.assert_allclose(f, block @ head.alpha, atol=1e-3 * np.linalg.norm(head.alpha))
    with pytest.raises(InputError, match="MatrixBackend has no exact states; predict"):
        head.estimate.decide_exactly(head, MatrixBackend(np.eye(2)))


@pytest.mark.parametrize("name", point_kernel_names())
@pytest.mark.parametrize("y", [Y, np.digitize(ANGLES[:, 0], [1.0, 2.0]), np.cos(ANGLES[:, 0])])
def test_every_kernel_learns_and_predicts(name, y):
    session = acquire(backend(), y, 40 * 600, design=Points(name))
    head = session.fit()
    found = predict(head, backend(seed=1), 40 * 600)
    if y.dtype.kind == "f":
        assert np.corrcoef(found.f, y)[0, 1] > 0.7
    else:
        assert np.mean(found.labels == y) > 0.65
    assert np.all(found.low <= found.high)


def test_the_readout_errors_of_a_calibration_reach_the_linear_kernel():
    design = Points("projected-linear", calibration_shots=400)
    session = acquire(backend(), Y, 40 * 600 + 400, design=design)
    used = session.fit().estimate.kernel_of_points.confusion
    np.testing.assert_array_equal(used, session.confusion)


def test_the_devices_kernel_has_its_noise_and_the_purified_one_has_not():
    qiskit_aer = pytest.importorskip("qiskit_aer")
    assert qiskit_aer
    from aqka.backends import AerBackend, depolarising_noise

    X = np.random.default_rng(2).uniform(0, 3, size=(12, 2))
    device = AerBackend(X, noise=depolarising_noise(0.01, 0.1))
    found = {}
    for name in ("purified", "device"):
        session = acquire(device, np.arange(12) % 2, 12 * 4000, design=Points(name))
        found[name] = session.fit()
    pure, noisy = found["purified"].kernel, found["device"].kernel
    np.testing.assert_allclose(pure.diagonal(), 1.0)
    assert noisy.diagonal().max() < 0.95
    exact = zz_kernel(X)
    assert np.mean((pure - exact) ** 2) < 0.5 * np.mean((noisy - exact) ** 2)
    assert "noise removed" in found["purified"].estimate.meaning
    assert "with the device's noise" in found["device"].estimate.meaning
