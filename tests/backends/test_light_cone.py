import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector

from aqka import InputError, Points, QuantumRidgeClassifier, StatevectorBackend, acquire, predict
from aqka.backends import LightConeBackend, RuntimeBackend
from aqka.backends.feature_maps import built_in_map
from aqka.core.calibration import CalibrationPlan
from aqka.core.point_plans import PointPlan, even_plan
from aqka.core.points import PointTable
from aqka.core.settings import all_edges, choose_settings, line_edges, uniform_settings
from aqka.designs import Projected
from aqka.estimates.readout import confusion_matrices
from aqka.estimates.reduced_states import exact_reduced_states, reduced_states
from aqka.maths.product_bases import ProductBases
from aqka.runs.export import export, measurements, table_of
from aqka.testing import check_point_backend

X = np.random.default_rng(0).uniform(0, 3, size=(2, 2))
LETTERS = np.array([[0, 1], [2, 2], [1, 0], [0, 0]])


def exact_probabilities():
    amplitudes = ProductBases(LETTERS).amplitudes(StatevectorBackend(X).states())
    return np.abs(amplitudes) ** 2


def test_two_qubits_keep_the_whole_contract():
    check_point_backend(
        lambda seed: LightConeBackend(X, seed=seed), LETTERS, exact_probabilities(), shots=4000
    )


def test_readout_errors_keep_the_contract_and_a_calibration_shows_them():
    flip = np.array([[0.95, 0.05], [0.05, 0.95]])
    p = np.einsum("ab,nsbc,cd->nsad", flip, exact_probabilities().reshape(2, 4, 2, 2), flip)
    check_point_backend(
        lambda seed: LightConeBackend(X, seed=seed, noise=(0, 0, 0.05)),
        LETTERS,
        p.reshape(2, 4, 4),
        confusion=np.tile(flip, (2, 1, 1)),
        shots=4000,
    )


def test_sixty_four_qubits_keep_the_contract_bit_by_bit():
    wide = np.random.default_rng(1).uniform(0, 3, size=(2, 64))
    letters = choose_settings(64, seed=0)[[1, 5]]
    means = LightConeBackend(wide).expectations(np.zeros((0, 2), int)).reshape(2, 64, 3)
    ones = (1 - np.take_along_axis(means[:, None], letters[None, :, :, None], axis=3)[..., 0]) / 2
    check_point_backend(lambda seed: LightConeBackend(wide, seed=seed), letters, ones, shots=500)
    with pytest.raises(AssertionError, match="does not follow its probability"):
        check_point_backend(
            lambda seed: LightConeBackend(wide, seed=seed), letters, ones[::-1], shots=500
        )


@pytest.mark.parametrize("noise", [None, (0.01, 0.05)])
def test_drawn_neighbours_have_their_exact_expectations(noise):
    points = np.random.default_rng(2).uniform(0, 3, size=(3, 5))
    backend = LightConeBackend(points, noise=noise, seed=3)
    np.testing.assert_array_equal(backend.joint_pairs, line_edges(5))
    table = PointTable(3, choose_settings(9, seed=0)[:, :5])
    plan = even_plan(np.arange(3), table.settings, 9 * 4000)
    table.add(plan, backend.collect(backend.submit(plan, "drawn")))
    found = reduced_states(table, 2)
    exact = backend.expectations(line_edges(5))
    z = (found.expectations - exact) / np.sqrt(np.maximum(found.variances, 1e-9))
    assert np.max(np.abs(z)) < 4.8
    assert 0.85 < np.sqrt(np.mean(z**2)) < 1.15
    if noise is None:
        states = StatevectorBackend(points).states()
        np.testing.assert_allclose(exact, exact_reduced_states(states, 2).expectations, atol=1e-10)


def test_fifty_qubits_have_the_expectations_that_are_known():
    """One layer of H, RZ(x_q) and RZZ(1) between neighbours."""
    circuit, angles = QuantumCircuit(50), ParameterVector("x", 50)
    circuit.h(range(50))
    for q in range(50):
        circuit.rz(angles[q], q)
    for q in range(49):
        circuit.rzz(1.0, q, q + 1)
    x = np.random.default_rng(0).uniform(0, np.pi, size=(1, 50))
    found = LightConeBackend(x, circuit).expectations(np.zeros((0, 2), int)).reshape(50, 3)
    shrunk = np.cos(1.0) ** np.where(np.isin(np.arange(50), [0, 49]), 1, 2)
    exact = np.stack([np.cos(x[0]) * shrunk, np.sin(x[0]) * shrunk, np.zeros(50)], axis=1)
    np.testing.assert_allclose(found, exact, atol=1e-12)


def test_more_shots_than_memory_holds_are_refused_where_each_is_drawn_by_itself():
    plan = even_plan([0, 1], uniform_settings(14), shots_per_point=10**12)
    backend = LightConeBackend(np.full((2, 14), 0.1))
    with pytest.raises(InputError, match=r"100,000,000 shots a round.*got 2,000,000,000,000"):
        backend.collect(backend.submit(plan, "t"))
    counting = StatevectorBackend(np.full((2, 14), 0.1))  # of outcomes, however many shots
    assert counting.collect(counting.submit(plan, "t")).counts.sum() == plan.total


def ring(n_qubits):
    x, circuit = ParameterVector("x", n_qubits), QuantumCircuit(n_qubits)
    for q in range(n_qubits):
        circuit.ry(x[q], q)
    for q in range(n_qubits):
        circuit.cz(q, (q + 1) % n_qubits)
    for q in range(n_qubits):
        circuit.ry(x[q], q)
    return circuit


def test_pairs_that_are_not_drawn_together_are_refused_before_the_first_shot(tmp_path):
    y, many = np.array([1, -1] * 6), np.random.default_rng(0).uniform(0, 3, size=(12, 12))
    backend = LightConeBackend(many, ring(12))
    assert len(backend.joint_pairs) == 11  # the last one would close the ring
    edges = tuple(map(tuple, [*line_edges(12).tolist(), (0, 11)]))
    for kernel, words in (
        ("projected-2-all", r"samples qubits .* independently, .* of the 66 pairs"),
        (
            Projected(2, pairs=edges),
            "1 of the 12 pairs that the kernel reads: take the kernel 'proj",
        ),
    ):
        with pytest.raises(InputError, match=words):
            acquire(backend, y, 12 * 90, design=Points(kernel), directory=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    acquire(backend, y, 12 * 90, design=Points("projected"))
    few = LightConeBackend(many[:, :4])
    with pytest.raises(InputError, match="only a projected kernel can be read from"):
        acquire(few, y, 12 * 90, design="points")


def test_bad_input_names_the_remedy_before_anything_is_drawn():
    for make, words in (
        (lambda: LightConeBackend(np.zeros((2, 300))), "300 qubits; an outcome holds 256 at most"),
        (
            lambda: LightConeBackend(np.zeros((2, 20)), "zz-full"),
            "depends on 20 qubits, at most 14",
        ),
        (lambda: LightConeBackend(X, noise=(0.1,)), "noise must be the depolarising rates"),
        (lambda: LightConeBackend(X, noise=(0, -0.1)), r"each within \[0, 1\].*got \(0, -0.1\)"),
        (lambda: LightConeBackend(X, columns=X), "measures points, not pairs"),
    ):
        with pytest.raises(InputError, match=words):
            make()


@pytest.fixture(scope="module")
def torino():
    from qiskit_ibm_runtime.fake_provider import FakeTorino

    return FakeTorino()


def test_a_fake_device_draws_many_qubits_by_light_cones_with_its_errors(torino):
    many = np.random.default_rng(0).uniform(0, np.pi, size=(4, 30))
    backend = RuntimeBackend(torino, many, "zz", design="points", seed=1)
    np.testing.assert_array_equal(backend.joint_pairs, line_edges(30))
    table = PointTable(4, choose_settings(30, seed=0))
    plan = even_plan(np.arange(4), table.settings, 9 * 400)
    table.add(plan, backend.collect(backend.submit(plan, "drawn")))
    found = reduced_states(table, 2).expectations
    exact = LightConeBackend(many, "zz").expectations(line_edges(30))
    big = np.abs(exact) > 0.5
    damped = np.sum(found[big] * exact[big]) / np.sum(exact[big] ** 2)
    assert 0.7 < damped < 0.97
    assert np.abs(found - damped * exact).mean() < 1.2 / np.sqrt(400)
    # Readout errors are the device's, and a calibration sees them.
    references = CalibrationPlan([0, 1], [2000, 2000], 30)
    seen = backend.collect(backend.submit(references, "calibrated"))
    errors = confusion_matrices(seen, 30)
    physical = backend.circuit.layout.final_index_layout()
    wrong = [torino.target["measure"][(q,)].error for q in physical]
    assert np.abs(errors[:, 1, 0] - wrong).max() < 5 * np.sqrt(max(wrong) / 2000)


def test_a_fake_device_says_what_it_cannot_simulate_before_the_first_shot(torino, tmp_path):
    from qiskit_ibm_runtime.fake_provider import FakeManilaV2

    y, many = [1, -1, 1, -1], np.random.default_rng(0).uniform(0, 1, size=(4, 30))

    def run(backend, **options):
        acquire(backend, y, 4 * 18, directory=tmp_path / "run", **options)

    points = RuntimeBackend(torino, many, "zz", design="points")
    deep = RuntimeBackend(torino, many, built_in_map("zz", 30, 4), design="points")
    for refused, words in (
        (
            lambda: RuntimeBackend(FakeManilaV2(), many, "zz", design="points"),
            "needs 30 qubits but fake_manila has 5; reduce",
        ),
        (lambda: run(points, design="pairs"), "measures points, not pairs: use design='points'"),
        (lambda: run(points, design=Points("projected-2-all")), "of the 435 pairs that the kernel"),
        (lambda: run(deep, design=Points("projected")), "depends on 8 qubits, at most 7"),
    ):
        with pytest.raises(InputError, match=words):
            refused()
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="tiles must be 1 on fake_torino, which draws 30 qubits"):
        RuntimeBackend(torino, many, "zz", design="points", tiles=2)


def test_a_run_of_many_qubits_is_resumed_exported_and_read_back(tmp_path):
    wide = np.random.default_rng(1).uniform(0, 1, size=(6, 130))
    y, design = [1, -1] * 3, Points("projected-2", calibration_shots=20)

    def run(budget=6 * 40 + 20):
        return acquire(
            LightConeBackend(wide, noise=(0, 0, 0.02)),
            y,
            budget,
            design=design,
            directory=tmp_path / "run",
        )

    table = run().table
    assert table.outcomes.shape[1] == 3
    again, stored = run().table, table_of(tmp_path / "run").table
    for other in (again, stored):
        for name in ("shots", "cells", "outcomes", "counts"):
            np.testing.assert_array_equal(getattr(other, name), getattr(table, name))
    errors = confusion_matrices(table_of(tmp_path / "run").calibration.answer, 130)
    assert errors.shape == (130, 2, 2)
    rows = export(tmp_path / "run", tmp_path / "counts.csv")
    text = (tmp_path / "counts.csv").read_text().splitlines()
    assert text[0] == "round,point,setting,outcome_0,outcome_1,outcome_2,seen"
    export(tmp_path / "run", tmp_path / "counts.npz")
    with np.load(tmp_path / "counts.npz") as found:
        written = np.stack([found[f"outcome_{k}"] for k in range(3)], axis=1)
        assert len(written) == rows == len(text) - 1
        measured = written[found["setting"] >= 0]
    assert sorted(map(tuple, measured)) == sorted(
        map(tuple, measurements(tmp_path / "run").outcome[-len(measured) :])
    )
    assert set(map(tuple, measured)) == set(map(tuple, table.outcomes))


def test_deep_maps_of_which_only_single_qubits_fit_are_drawn_qubit_by_qubit(monkeypatch):
    monkeypatch.setattr("aqka.backends._bulk.light_cones.MAX_CONE", 5)
    backend = LightConeBackend(np.random.default_rng(0).uniform(0, 3, size=(1, 8)))
    assert backend.joint_pairs.tolist() == [[0, 1], [1, 2], [5, 6], [6, 7]]
    plan = PointPlan([0], [0], [50], [[0] * 8])
    assert plan.checked(backend.collect(backend.submit(plan, "any"))).counts.sum() == 50


@pytest.mark.parametrize("kernel", ["projected", "projected-2"])
def test_an_estimator_learns_from_sixty_four_qubits_and_its_exact_decision_is_near(kernel):
    random = np.random.default_rng(0)
    y = np.tile([-1, 1], 15)
    data = random.normal(0.7 + 0.3 * y[:, None], 0.15, (30, 64))
    model = QuantumRidgeClassifier(
        "zz", "light-cone", budget=30 * 180, design=Points(kernel), new_points=10
    )
    model.fit(data[:20], y[:20])
    assert model.score(data[20:], y[20:]) > 0.85
    head = acquire(LightConeBackend(data[:20]), y[:20], 20 * 540, design=Points(kernel)).fit()
    backend = LightConeBackend(data[20:], seed=5)
    exact = head.estimate.decide_exactly(head, backend)
    drawn = predict(head, backend, 10 * 540)
    assert np.mean(np.sign(exact) == drawn.labels) > 0.9


def test_the_zz_map_in_pairwise_order_is_the_same_unitary():
    from qiskit.circuit.library import zz_feature_map
    from qiskit.quantum_info import Operator

    values = np.random.default_rng(3).uniform(0, 3, size=5)
    for reps in (1, 2):
        ours, theirs = built_in_map("zz", 5, reps), zz_feature_map(5, reps, entanglement="linear")
        same = [c.assign_parameters(values) for c in (ours, theirs)]
        np.testing.assert_allclose(*(Operator(c).data for c in same), atol=1e-12)
    many = built_in_map("zz", 60, 2)
    assert many.decompose().depth(lambda step: len(step.qubits) == 2) == 8
    assert all_edges(3).tolist() == [[0, 1], [0, 2], [1, 2]]
