"""Kernels that measure points: each once, and every entry of measured points is free."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pennylane as qml
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from qiskit.circuit.library import zz_feature_map
from qiskit_machine_learning.algorithms import QSVC
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from aqka import BackendFactory, InputError, JobError, LedgerError, MatrixBackend, Points
from aqka.backends.statevector import zz_kernel, zz_states
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.designs import Fidelity, point_kernel_names
from aqka.designs.fidelity import StateEstimate
from aqka.dropins.qiskit_ml import AqkaKernel
from aqka.estimators import QuantumKernel, _store
from aqka.maths.point_law import kernel_error
from aqka.maths.product_bases import ProductBases
from aqka.runs.audit import verify
from tests.estimators.remembering import Counting, Jobs, counted

X = np.random.default_rng(5).uniform(0, np.pi, size=(20, 2))
Y = np.where(X[:, 0] > 1.5, "up", "down")
TEST = np.random.default_rng(6).uniform(0, np.pi, size=(6, 2))
EXACT = zz_kernel(np.vstack([X, TEST]))


@pytest.fixture
def factory():
    return counted()


def make(factory="statevector", **options):
    defaults = {"budget": 20 * 512, "test_budget": 6 * 512, "design": "points"}
    return QuantumKernel(backend=factory, **defaults | options)


def test_the_kernel_is_the_exact_one_within_the_error_of_the_law(factory):
    kernel = make(factory)
    train, block = kernel.matrix(X), kernel.matrix(TEST, X)
    assert Counting.bought == {tuple(point): 512 for point in np.vstack([X, TEST])}
    assert Counting.total() == kernel.shots_used_ == 26 * 512
    assert np.array_equal(train, train.T)
    assert np.all(train.diagonal() == 1)
    upper = np.triu_indices(20, k=1)
    for found, exact in ((train[upper], EXACT[:20, :20][upper]), (block, EXACT[20:, :20])):
        error = found - exact
        law = kernel_error(2, 512, exact)
        assert 0.5 < np.mean(error**2) / law < 2
        assert np.abs(error).max() < 5 * np.sqrt(law)


def test_every_entry_of_measured_points_is_free_whoever_asks(factory):
    kernel = make(factory)
    train, block = kernel.matrix(X), kernel.matrix(TEST[:5], X)
    spent = dict(Counting.bought)
    others = kernel.matrix(TEST[:5])  # pairs that were never asked for
    assert np.abs(others - EXACT[20:25, 20:25]).max() < 0.2
    np.testing.assert_allclose(kernel.matrix(X, TEST[:5]), block.T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(kernel.matrix(X[3:7]), train[3:7, 3:7], rtol=0, atol=1e-12)
    assert kernel(X[2], TEST[4]) == pytest.approx(block[4, 2], abs=1e-12)
    assert kernel(TEST[5], TEST[5]) == 1  # unknown, but equal
    state = pickle.dumps(kernel)
    _store._alive.clear()  # as in another process
    np.testing.assert_array_equal(pickle.loads(state).matrix(X), train)
    assert Counting.bought == spent
    # A known point, two new ones that stand twice: only these two are bought.
    kernel.test_budget += 512
    kernel.matrix(np.vstack([TEST[5:], TEST[5:] + 0.1, TEST[5:]]), np.vstack([X[:1], TEST[5:]]))
    assert Counting.total() == sum(spent.values()) + 2 * 512


def test_the_budget_is_kept_and_shots_each_are_what_they_say(factory):
    kernel = make(factory, shots_each=300, test_budget=1000)
    kernel(X[0], X[1])  # no training kernel is needed to know the shots
    assert Counting.bought == {tuple(X[0]): 300, tuple(X[1]): 300}
    spent = kernel.shots_used_
    with pytest.raises(InputError) as caught:
        kernel.matrix(TEST[:2], X[:1])
    for part in ("2 new points at 300", "600 shots", "400 are left", "600 of 1000", "shots_each"):
        assert part in str(caught.value)
    assert kernel.shots_used_ == Counting.total() == spent
    with pytest.raises(InputError, match="shots_each is needed"):
        make(factory)(X[0], X[1])


def test_a_fit_makes_cross_validation_free_and_labels_can_steer(factory):
    kernel = make(factory, allocator="predictive").fit(X, Y)
    assert np.ptp(kernel.session_.table.shots_per_point) > 10
    scores = cross_val_score(SVC(kernel=kernel.matrix), X, Y, cv=4)
    assert scores.mean() > 0.6
    assert Counting.total() == kernel.shots_used_ == 20 * 512
    with pytest.raises(InputError, match="steered by labels"):
        make(allocator="aqka").matrix(X)


def kernel_only(X, **_):
    return MatrixBackend(np.eye(len(X)))


def test_a_backend_without_states_and_a_directory_of_pairs_are_refused(tmp_path):
    with pytest.raises(InputError, match="only measures pairs"):
        make(BackendFactory(kernel_only), directory=tmp_path).matrix(X)
    assert not list(tmp_path.glob("*-*"))
    make(design="pairs", directory=tmp_path).matrix(X)
    with pytest.raises(LedgerError, match="design='pairs'"):
        make(directory=tmp_path).matrix(X)


def test_points_of_other_features_are_refused_before_a_shot(factory, tmp_path):
    kernel = make(factory, directory=tmp_path)
    train, spent = kernel.matrix(X), Counting.total()
    with pytest.raises(InputError, match=r"as many features.*states of 2 qubits, got 3"):
        kernel.matrix(np.ones((1, 3)), np.zeros((1, 3)))
    assert Counting.total() == spent
    np.testing.assert_array_equal(make(factory, directory=tmp_path).matrix(X), train)


SCRIPT = """
import sys
import numpy as np
from aqka.estimators import QuantumKernel
from tests.estimators.remembering import Counting, counted
X, TEST = (np.load(f"{sys.argv[1]}/{name}.npy") for name in ("X", "TEST"))
kernel = QuantumKernel(
    backend=counted(), budget=20 * 512, test_budget=6 * 512, design="points",
    directory=sys.argv[1] + "/run",
)
Counting.die_next = True
kernel.matrix(X)
kernel.matrix(TEST, X)
"""


def test_after_a_kill_a_new_process_buys_nothing_twice(factory, tmp_path):
    for name, values in {"X": X, "TEST": TEST}.items():
        np.save(tmp_path / f"{name}.npy", values)
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    assert subprocess.run(command, check=False, cwd=root).returncode == 9  # a job in flight
    kernel = make(factory, directory=tmp_path / "run")
    part = kernel.matrix(TEST[[2, 0]], X)  # another request than the one that broke off
    assert Counting.total() == 6 * 512  # of a simulator the job in flight is drawn again
    whole = make()
    np.testing.assert_array_equal(kernel.matrix(X), whole.matrix(X))
    np.testing.assert_array_equal(kernel.matrix(TEST, X), whole.matrix(TEST, X))
    np.testing.assert_allclose(kernel.matrix(TEST, X)[[2, 0]], part, rtol=0, atol=1e-12)
    assert Counting.total() == 6 * 512
    folders = sorted((tmp_path / "run").glob("*-*"))
    assert [folder.name for folder in folders] == ["0001-training-points", "0002-more-points"]
    assert all(verify(folder).sound and verify(folder).finished for folder in folders)
    kernel.test_budget += 512
    block = kernel.matrix(TEST[:1] + 0.1, X)  # a single point
    again = make(factory, directory=tmp_path / "run", test_budget=7 * 512)
    np.testing.assert_array_equal(again.matrix(TEST[:1] + 0.1, X), block)
    assert again.shots_used_ == 27 * 512


@pytest.mark.parametrize("lost", ["submit", "collect"])
def test_a_paid_job_in_flight_is_fetched_not_sent_again(tmp_path, monkeypatch, lost):
    counted()
    Jobs.kept = {}
    with monkeypatch.context() as patched:
        patched.setattr(Jobs, "stop", lost)
        with pytest.raises(KeyboardInterrupt):
            make(BackendFactory(Jobs), directory=tmp_path).matrix(X)
    kernel = make(BackendFactory(Jobs), directory=tmp_path)
    assert np.abs(kernel.matrix(X) - EXACT[:20, :20]).max() < 0.2
    assert Counting.total() == kernel.shots_used_ == 20 * 512


@pytest.mark.parametrize("kept", [True, False])
def test_points_whose_fit_is_interrupted_are_not_bought_again(factory, tmp_path, monkeypatch, kept):
    kernel = make(factory, directory=tmp_path if kept else None)

    def interrupt(*_):
        raise KeyboardInterrupt

    for place, name, rows in ((Points, "read", X), (StateEstimate, "extended", TEST)):
        with monkeypatch.context() as patched:
            patched.setattr(place, name, interrupt)
            with pytest.raises(KeyboardInterrupt):
                kernel.matrix(rows, X)
        spent = Counting.total()
        assert np.isfinite(kernel.matrix(rows, X)).all()
        assert Counting.total() == kernel.shots_used_ == spent
    np.testing.assert_array_equal(kernel.matrix(TEST, X), make().fit(X).matrix(TEST, X))


class LosesOnce(Counting):
    """Answers one request for new points with nonsense: its shots were run, and are lost."""

    left = 0

    def collect(self, ticket):
        if type(self).left and self.shape != (20, 20):
            type(self).left -= 1
            return OutcomeCounts([0], [0], [1])
        return super().collect(ticket)


def test_lost_shots_are_paid_for_and_asked_for_again(monkeypatch):
    monkeypatch.setattr(LosesOnce, "left", 1)
    counted()
    kernel = make(BackendFactory(LosesOnce), test_budget=10**4)
    kernel.matrix(X)
    with pytest.warns(RuntimeWarning, match="cannot be used"), pytest.raises(JobError) as lost:
        kernel.matrix(TEST, X)
    assert "the shots of 6 points were run" in str(lost.value)
    assert kernel.shots_used_ == 26 * 512
    assert np.isfinite(kernel.matrix(TEST, X)).all()
    assert kernel.shots_used_ == Counting.total() == 32 * 512


def test_above_eight_qubits_it_is_the_projected_kernel(factory):
    angles = ParameterVector("x", 9)
    circuit = QuantumCircuit(9)
    for qubit, angle in enumerate(angles):
        circuit.ry(angle, qubit)
    points = np.random.default_rng(0).uniform(0, np.pi, size=(10, 9))
    # One-qubit states are Ry(x)|0⟩, so that ‖ρ - σ‖² = 1 - cos(x - y) for each qubit.
    distances = np.sum(1 - np.cos(points[:, None] - points), axis=2)
    gamma = 1 / np.median(distances[:8, :8][np.triu_indices(8, k=1)])
    exact = np.exp(-gamma * distances)
    settings = {"feature_map": circuit, "budget": 8 * 3000, "test_budget": 6000}
    with pytest.raises(InputError, match="whose width is taken from the training points"):
        make(factory, **settings, shots_each=600).matrix(points[8:], points[:8])
    with pytest.raises(InputError, match=r"every point 8 shots.* 16 shots for 8 points"):
        make(factory, **settings | {"budget": 16}).matrix(points[:8])
    assert Counting.total() == 0
    few = make(factory, **settings | {"budget": 8 * 8}, shots_each=7).fit(points[:8])
    with pytest.raises(InputError, match=r"shots_each must be at least 8 .* got 7"):
        few.matrix(points[8:], points[:8])
    assert Counting.total() == 8 * 8
    kernel = make(factory, **settings)
    train, block = kernel.matrix(points[:8]), kernel.matrix(points[8:], points[:8])
    # Var D = 4 Σ_q Σ_P (½ΔP)² (1 - P²) · 3/S for both points: at most 4 · D/2 · 2 · 3/S.
    deviation = gamma * exact * np.sqrt(12 * distances / 3000)
    for found, some in ((train, np.s_[:8, :8]), (block, np.s_[8:, :8])):
        # The median's own error, which is common to all entries, is below 5 %.
        margin = 5 * deviation[some] + 0.05 * np.abs(np.log(exact[some])) * exact[some]
        assert np.all(np.abs(found - exact[some]) <= margin + 1e-12)
    assert kernel.shots_used_ == 10 * 3000


def test_a_projected_kernel_whose_training_shots_were_lost_takes_its_width_from_the_points_it_has(
    monkeypatch,
):
    monkeypatch.setattr(LosesOnce, "left", 1)
    points = np.random.default_rng(0).uniform(0, 1, size=(8, 9))
    options = {"budget": 8 * 300, "shots_each": 300, "test_budget": 8 * 300}
    kernel = make(BackendFactory(LosesOnce), **options)
    with pytest.warns(RuntimeWarning, match="cannot be used"), pytest.raises(JobError):
        kernel.matrix(points)
    entries = kernel.matrix(points)[np.triu_indices(8, k=1)]
    assert np.exp(-1.5) < np.median(entries) < np.exp(-0.7)  # 1/e, but for the noise that is kept
    assert kernel.shots_used_ == 16 * 300


def test_new_points_are_fitted_with_the_rank_that_the_training_points_chose():
    random, letters = np.random.default_rng(0), choose_settings(2, seed=0)
    clean = abs(ProductBases(letters).amplitudes(zz_states(np.vstack([X, TEST])))) ** 2
    chances = 0.75 * clean + 0.25 / 4  # a quarter of the shots are noise
    tables = []
    for some in (slice(0, 20), slice(20, 26)):
        plan = even_plan(range(len(chances[some])), letters, shots_per_point=2052)
        table = PointTable(len(chances[some]), letters)
        counts = random.multinomial(plan.shots, chances[some][plan.points, plan.settings])
        table.add(plan, OutcomeCounts.of_dense(counts))
        tables.append(table)
    errors = []
    for kernel in (Fidelity(), Fidelity(rank=1)):
        states = Points(kernel).read(tables[0], None).extended(tables[1])
        error = states.block(np.arange(20, 26), np.arange(20)) - EXACT[20:, :20]
        errors.append(np.sqrt(np.mean(error**2)))
    assert errors[0] < 0.75 * errors[1]  # of mixed states, and of states taken as pure


def test_qsvc_of_qiskit_machine_learning_runs_unchanged():
    feature_map = zz_feature_map(2, reps=2, entanglement="linear")
    kernel = AqkaKernel(
        feature_map=feature_map, budget=20 * 4096, test_budget=6 * 4096, design="points"
    )
    model = QSVC(quantum_kernel=kernel).fit(X, Y)
    wanted = SVC(kernel="precomputed").fit(EXACT[:20, :20], Y)
    found, exact = model.decision_function(TEST), wanted.decision_function(EXACT[20:, :20])
    assert np.abs(found - exact).max() < 0.2
    assert np.array_equal(model.predict(TEST), wanted.predict(EXACT[20:, :20]))
    assert kernel.measured.shots_used_ == 26 * 4096


def embedding(x):
    qml.AngleEmbedding(x, wires=range(2))
    qml.CNOT(wires=[0, 1])
    qml.AngleEmbedding(x, wires=range(2), rotation="Z")
    qml.AngleEmbedding(x, wires=range(2))


@qml.qnode(qml.device("default.qubit", wires=2))
def overlap(x1, x2):
    embedding(x1)
    qml.adjoint(embedding)(x2)
    return qml.probs(wires=range(2))


def test_qml_kernels_of_pennylane_run_unchanged():
    points = X[:8]
    kernel = QuantumKernel(
        embedding, budget=8 * 4096, test_budget=10**5, design="points", shots_each=4096
    )
    found = qml.kernels.square_kernel_matrix(points, kernel)  # pair by pair
    exact = qml.kernels.square_kernel_matrix(points, lambda a, b: overlap(a, b)[0])
    assert kernel.shots_used_ == 8 * 4096  # eight points, not 28 pairs
    assert np.abs(found - exact).max() < 5 * np.sqrt(1 / 4096)
    np.testing.assert_allclose(kernel.matrix(points), found, rtol=0, atol=1e-12)
    block = kernel.matrix(TEST[:2], points)
    wanted = qml.kernels.kernel_matrix(TEST[:2], points, lambda a, b: overlap(a, b)[0])
    assert np.abs(block - wanted).max() < 5 * np.sqrt(1 / 4096)
    assert kernel.shots_used_ == 10 * 4096


@pytest.mark.parametrize("name", point_kernel_names())
def test_the_kernel_of_points_is_the_users_choice(factory, tmp_path, name):
    options = {"design": Points(name), "directory": tmp_path / "kernel"}
    kernel = make(factory, **options)
    train, block = kernel.matrix(X), kernel.matrix(TEST, X)
    assert kernel.shots_used_ == 26 * 512
    expected = Points(name).read(kernel.session_.table, None).kernel
    off = ~np.eye(20, dtype=bool)
    np.testing.assert_allclose(train[off], expected[off], atol=1e-12)
    assert kernel.session_.table.n_settings == (3 if "2" not in name and "proj" in name else 9)
    if name.endswith("linear"):  # a point with itself is the mean purity of its reduced states
        np.testing.assert_allclose(train.diagonal(), expected.diagonal())
    else:
        assert np.all(train.diagonal() == 1)
    again = make(factory, **options)
    np.testing.assert_array_equal(again.matrix(TEST, X), block)
    np.testing.assert_allclose(again.matrix(X[:3], X[2:5]), train[:3, 2:5], rtol=1e-12)
    assert Counting.total() == 26 * 512
    assert np.isfinite(SVC(kernel="precomputed").fit(train, Y).decision_function(block)).all()


def test_a_linear_kernel_measures_a_point_for_its_own_entry(factory):
    for name, shots in (("projected-linear", 21 * 512), ("projected", 20 * 512)):
        kernel = make(factory, design=Points(name)).fit(X)
        assert 0.4 < kernel(TEST[0], TEST[0]) < 1.1
        assert kernel.shots_used_ == shots


def test_kernels_of_points_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="Did you mean 'device'"):
        make(design=Points("devise"))
    with pytest.raises(InputError, match="to pairs, not points"):
        make(allocator="nystrom").fit(X)  # which is for pairs
    nine = make(design=Points("device"), shots_each=9)
    with pytest.raises(InputError, match="at most 8 qubits, and the points have 9"):
        nine.matrix(np.zeros((2, 9)), np.ones((1, 9)))
    by_qiskit = AqkaKernel(
        feature_map=zz_feature_map(2), budget=20 * 64, test_budget=0, design=Points("projected")
    )
    assert by_qiskit.evaluate(X).shape == (20, 20)
