"""Feature maps trained in simulation: against other libraries' alignment, and what is refused."""

import numpy as np
import pennylane as qml
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from qiskit.quantum_info import Statevector, partial_trace
from sklearn.base import clone

import aqka
from aqka import (
    InputError,
    Points,
    QuantumKernel,
    QuantumRidgeClassifier,
    StatevectorBackend,
    train_map,
)
from aqka.backends.trainable import as_trainable
from aqka.designs import Projected
from aqka.dropins.qiskit_ml import AqkaKernel
from aqka.insight.fold_scores import KernelHead, repeated_folds
from aqka.insight.map_kernels import MapKernel
from aqka.insight.map_training import SCALES, align, nested_scores
from aqka.insight.preflight import preflight
from aqka.insight.scan import Candidate, Spending

RNG = np.random.default_rng(4)
X = RNG.uniform(0, 3, (36, 2))
Y = (X[:, 0] > 1.5).astype(int)


def trainable_circuit(n=2, name="w"):
    x, w = ParameterVector("x", n), ParameterVector(name, 2 * n + 1)
    circuit = QuantumCircuit(n)
    for layer in range(2):
        for qubit in range(n):
            circuit.rx(x[qubit], qubit)
            circuit.ry(w[layer * n + qubit], qubit)
        circuit.crz(w[2 * n], 0, 1)
    return circuit, w


def pennylane_map(x, w):
    for layer in range(2):
        for wire in range(2):
            qml.RX(x[wire], wires=wire)
            qml.RY(w[2 * layer + wire], wires=wire)
        qml.CRZ(w[4], wires=[0, 1])


THETA0 = np.array([0.3, -0.4, 0.8, 0.2, 0.9])


def test_the_loss_is_pennylanes_alignment_of_the_centred_kernel():
    circuit, w = trainable_circuit()
    device = qml.device("default.qubit", wires=2)

    @qml.qnode(device)
    def overlap(a, b):
        pennylane_map(a, THETA0)
        qml.adjoint(pennylane_map)(b, THETA0)
        return qml.probs(wires=[0, 1])

    few, signs = X[:12], 2 * Y[:12] - 1
    kernel = np.array([[overlap(a, b)[0] for b in few] for a in few])
    apart = ~np.eye(len(few), dtype=bool)
    centred = np.where(apart, kernel - kernel[apart].mean(), 0.0)
    known = {
        (a.tobytes(), b.tobytes()): centred[i, j]
        for i, a in enumerate(few)
        for j, b in enumerate(few)
    }
    theirs = qml.kernels.target_alignment(
        few, signs, lambda a, b: known[a.tobytes(), b.tobytes()], rescale_class_labels=False
    )
    # They divide by the norm of all y_i y_j, which is N; ours are centred, without the diagonal.
    targets = np.outer(signs, signs)[apart]
    expected = theirs * len(few) / np.linalg.norm(targets - targets.mean())
    _, losses = align(MapKernel(as_trainable(circuit, 2, w, THETA0)), few, Y[:12], THETA0)
    assert losses[0] == pytest.approx(-expected)


def test_a_circuit_and_the_same_pennylane_function_train_alike():
    circuit, w = trainable_circuit()
    ours = train_map(circuit, X, Y, trainable=w, theta0=THETA0)
    theirs = train_map(pennylane_map, X, Y, theta0=THETA0)
    assert np.allclose(ours.history[:5], theirs.history[:5], atol=1e-6)
    assert ours.history[-1] == pytest.approx(theirs.history[-1], abs=1e-3)
    assert ours.history[-1] < ours.history[0] - 0.1
    kernels = [StatevectorBackend(X, each.bound).kernel() for each in (ours, theirs)]
    assert np.allclose(*kernels, atol=0.02)


def needs_numbers(x, w):
    pennylane_map([float(value) for value in x], w)


@pytest.mark.parametrize(
    "y", [Y, np.array(["a", "b", "c"])[(X[:, 0]).astype(int)], X[:, 0] - X[:, 1]]
)
def test_classes_several_classes_and_numbers(y):
    circuit, w = trainable_circuit()
    trained = train_map(circuit, X, y, trainable=w, theta0=THETA0)
    assert trained.history[-1] < trained.history[0]
    assert list(trained.scale_grid) == list(SCALES)
    assert trained.shots == 0
    assert trained.kept_initial == (trained.validation[1] <= trained.validation[0])


def test_scales_start_at_the_best_common_one_and_are_put_into_the_circuit():
    trained = train_map("zz", X, Y)
    assert trained.theta.shape == (2,)
    expected = StatevectorBackend(X * trained.theta).kernel()
    assert np.allclose(StatevectorBackend(X, trained.bound).kernel(), expected, atol=1e-12)
    given = train_map(lambda x: qml.AngleEmbedding(x, wires=range(2)), X, Y)
    assert given.theta.shape == (2,)
    kernel = StatevectorBackend(X, given.bound).kernel()
    assert np.allclose(kernel, np.prod(np.cos((X[:, None] - X) * given.theta / 2) ** 2, axis=2))


def test_theta0_is_kept_where_training_overfits():
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 2, len(X))
    circuit, w = trainable_circuit()
    trained = train_map(circuit, X, noise, trainable=w, theta0=THETA0)
    assert trained.kept_initial
    assert np.array_equal(trained.theta, THETA0)
    assert trained.history[-1] < trained.history[0]  # on the points that it saw


def test_the_bound_map_serves_estimators_and_drop_ins():
    circuit, w = trainable_circuit()
    bound = train_map(circuit, X, Y, trainable=w, theta0=THETA0).bound
    model = clone(QuantumRidgeClassifier(budget=4000, feature_map=bound)).fit(X, Y)
    assert model.score(X, Y) > 0.7
    exact = StatevectorBackend(X, bound).kernel()
    for design in ("pairs", "points"):
        kernel = QuantumKernel(budget=200_000, feature_map=bound, design=design)
        measured = kernel.fit(X).matrix(X)
        assert np.abs(measured - exact).max() < 0.25
    drop_in = AqkaKernel(feature_map=bound, budget=200_000, test_budget=0)
    assert np.abs(drop_in.evaluate(X) - exact).max() < 0.25


def test_which_parameters_are_trained():
    circuit, w = trainable_circuit()
    vectors = [as_trainable(circuit, 2, each).trainable for each in (None, w, "w", list(w))]
    assert all(found == list(w) for found in vectors)
    assert len(as_trainable(circuit, 5, "x").trainable) == 2
    assert len(as_trainable(circuit, 6, ["w[4]"]).trainable) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trainable": []}, "at least one parameter must be trained"),
        ({"trainable": "v"}, "not a parameter of feature_map; it has w, x"),
        ({"trainable": ["w", "x[0]"]}, "either data or trainable, not both"),
        ({"trainable": ["w[0]"]}, "leaves 6 for the data; X has 2 columns"),
        ({"theta0": [0.1]}, r"theta0 must be 5 finite numbers.* got shape \(1,\)"),
        ({"theta0": [np.nan] * 5}, "theta0 must be 5 finite numbers"),
        ({"feature_map": pennylane_map}, "theta0 must be given"),
        ({"feature_map": needs_numbers, "theta0": THETA0}, "cannot be traced"),
        ({"feature_map": 3}, "feature_map must be a Qiskit circuit"),
        ({"y": Y[:-1]}, "X has 36 points, but y labels 35"),
        ({"y": np.arange(36) == 0}, "class True of y has one point only"),
        ({"y": np.arange(36) < 2, "validation": 0.06}, "validation part of 2 points has one class"),
        ({"validation": 0.0}, "holds out 0"),
        ({"y": np.zeros(36, dtype=int)}, "y has one class only, 0"),
        ({"y": np.arange(36) // 2}, "y has 18 classes, and validation = 0.25 holds out 9"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"where": "mars"}, "where must be"),
        ({"where": "statevector"}, "budget must be given with a backend"),
        ({"where": "statevector", "budget": 7000}, "at least 10 steps"),
        ({"budget": 7000}, "budget is for training on shots"),
        ({"pairs_per_step": 3}, "pairs_per_step must be"),
        ({"design": Points("projected"), "where": "aer", "budget": 900}, r"to 4,536\.$"),
        ({"design": "rows"}, "design must be"),
        ({"where": "light-cone", "budget": 70_000}, "measures points, not pairs"),
    ],
)
def test_what_cannot_work_is_refused_before_the_first_shot(change, message):
    given = {"feature_map": trainable_circuit()[0], "X": X, "y": Y} | change
    with pytest.raises(InputError, match=message):
        train_map(**given)


def test_an_unknown_keyword_is_no_option_of_a_run():
    with pytest.raises(TypeError, match=r"train_map.* unexpected keyword argument 'theta_0'"):
        train_map(trainable_circuit()[0], X, Y, theta_0=THETA0)


@pytest.mark.parametrize("where", ["simulation", "statevector"])
def test_scales_at_which_an_angle_has_no_value_are_left_out(where):
    x, w = ParameterVector("x", 2), ParameterVector("w", 1)
    circuit = QuantumCircuit(2)
    for qubit in range(2):
        circuit.rx(x[qubit].arcsin(), qubit)
    circuit.ry(w[0], 0)
    given = {} if where == "simulation" else {"budget": 520, "pairs_per_step": 20}
    trained = train_map(circuit, X / 3, Y, where, trainable=w, theta0=[0.5], **given)
    assert max(trained.scale_grid) == 1.0


def test_an_angle_without_a_derivative_is_trained_on_shots():
    x, w = ParameterVector("x", 2), ParameterVector("w", 1)
    circuit = QuantumCircuit(2)
    circuit.rx(x[0], 0)
    circuit.rx(x[1] * w[0].abs(), 1)
    trained = train_map(circuit, X, Y, "statevector", 520, 20, trainable=w, theta0=[0.5])
    assert trained.shots == 520
    assert len(trained.scale_grid) == 9


def test_columns_of_targets_are_aligned_together():
    circuit, _ = trainable_circuit()
    y = np.stack([X[:, 0], X[:, 1] ** 2], axis=1)
    kernel = StatevectorBackend(X, as_trainable(circuit, 2).bind(THETA0)).kernel()
    centred, upper = y - y.mean(axis=0), np.triu_indices(len(X), 1)
    expected = np.corrcoef(kernel[upper], (centred @ centred.T)[upper])[0, 1]
    _, losses = align(MapKernel(as_trainable(circuit, 2)), X, y, THETA0)
    assert losses[0] == pytest.approx(-expected)
    assert train_map(circuit, X, y, theta0=THETA0).history[-1] < 0


def test_a_constant_feature_of_zero_keeps_its_scale_in_reach():
    zero = np.stack([np.full(len(X), 2.0), np.zeros(len(X))], axis=1)
    assert np.allclose(as_trainable("z", 2).unit(zero), [0.5, 1.0])


def test_a_default_of_a_function_is_not_theta():
    def angles(x, wires=(0, 1)):
        qml.AngleEmbedding(x, wires=wires)

    assert as_trainable(angles, 2).scales
    assert (
        len(as_trainable(lambda x, w=THETA0: pennylane_map(x, w), 2, None, THETA0).trainable) == 5
    )


def test_folds_that_cannot_be_split_keep_the_first_theta():
    y = Y.copy()
    y[:2] = 2
    circuit, _ = trainable_circuit()
    folds = repeated_folds(y, repeats=1)
    assert min(np.sum(y[fold.kept] == 2) for fold in folds) == 1
    kernel = MapKernel(as_trainable(circuit, 2, None, THETA0))
    _, trained = nested_scores(kernel, X, y, folds, KernelHead(y))
    assert trained.name == "trained map, exact"


def test_an_ambiguous_circuit_must_be_told_apart():
    circuit, _ = trainable_circuit()
    with pytest.raises(InputError, match="which parameters are trained"):
        train_map(circuit, X[:, :1], Y)
    wide = QuantumCircuit(15)
    x = ParameterVector("x", 1)
    wide.rx(x[0], range(15))
    with pytest.raises(InputError, match="at most 14; call train_map with a backend"):
        train_map(wide, X[:, :1], Y)


def test_a_function_may_leave_a_feature_out_but_not_branch_on_it():
    def only_first(x, w):
        qml.RX(x[0] * w[0], wires="a")

    trained = train_map(only_first, X, Y, theta0=[1.0, 2.0])
    kernel = StatevectorBackend(X, trained.bound).kernel()
    first = X[:, 0] * trained.theta[0]
    assert np.allclose(kernel, np.cos((first[:, None] - first) / 2) ** 2)

    def branching(x, w):
        qml.RX(w[0] if x[0] == 0.7 else w[1], wires=0)

    with pytest.raises(InputError, match="cannot be traced"):
        train_map(branching, X, Y, theta0=[1.0, 2.0])


def test_the_front_door_has_it():
    assert aqka.train_map is train_map
    assert "validation" in repr(train_map("z", X, Y))


def entangled(n, reps):
    x, w = ParameterVector("x", n), ParameterVector("w", reps * n)
    circuit = QuantumCircuit(n)
    circuit.h(range(n))
    for layer in range(reps):
        for qubit in range(n):
            circuit.rz(x[qubit], qubit)
            circuit.ry(w[layer * n + qubit], qubit)
        for first in (0, 1):
            for qubit in range(first, n - 1, 2):
                circuit.cz(qubit, qubit + 1)
    for qubit in range(n):
        circuit.rx(x[qubit], qubit)
    return circuit


@pytest.mark.parametrize("name", ["projected", "projected-2", "projected-linear"])
@pytest.mark.parametrize("reps", [1, 2])
def test_the_alignment_of_a_projected_kernel_is_that_of_reduced_states(name, reps):
    n, rng = 6, np.random.default_rng(0)
    points, theta = rng.uniform(0, 3, (9, n)), rng.uniform(-3, 3, reps * n)
    made, y = as_trainable(entangled(n, reps), n, "w"), np.arange(9) % 2
    kernel, upper = MapKernel(made, Points(name)), np.triu_indices(9, 1)
    sets = [(q, q + 1) for q in range(n - 1)] if "2" in name else [(q,) for q in range(n)]

    def reduced(x, theta):
        values = dict(zip([*made._data, *made.trainable], [*x, *theta], strict=True))
        state = Statevector(made.circuit.assign_parameters(values))
        return [partial_trace(state, sorted(set(range(n)) - set(s))).data for s in sets]

    def expected(theta):
        states = np.array([reduced(x, theta) for x in points])
        if "linear" in name:
            entries = np.einsum("iqab,jqba->ij", states, states).real
        else:
            away = np.sum(np.abs(states[:, None] - states) ** 2, axis=(2, 3, 4))
            entries = np.exp(-away / away[upper].mean())
        return np.corrcoef(entries[upper], (y[:, None] == y)[upper])[0, 1]

    found, gradient = kernel.alignment(points, theta, (y[:, None] == y).astype(float))
    assert found == pytest.approx(expected(theta))
    step = 1e-5 * np.eye(len(theta))[2]
    slope = (expected(theta + step) - expected(theta - step)) / 2e-5
    assert gradient[2] == pytest.approx(slope, abs=1e-8)


def test_operators_of_three_qubits_are_not_trained():
    with pytest.raises(InputError, match="locality 1 or 2 to be trained"):
        train_map("z", np.ones((8, 3)), Y[:8], design=Points(Projected(4)))


def test_auto_trains_the_fidelity_up_to_24_qubits_and_above_them_a_projected_kernel():
    for design in ("auto", "pairs", "points"):
        assert MapKernel(as_trainable("z", 2), design).is_fidelity
    assert MapKernel(as_trainable("z", 24)).is_fidelity
    wide = MapKernel(as_trainable("z", 25))
    assert not wide.is_fidelity
    assert wide.design == Points()


def test_a_check_forecasts_no_pairs_of_a_projected_kernel():
    kernel = MapKernel(as_trainable("z", 2), Points("projected"))
    candidates = [Candidate({"map": "z"}, X, "z")]
    spending = Spending(budget=300, n_train=24, allocator="uniform", learner="ridge")
    found = preflight(X, Y, "z", spending=spending, candidates=candidates, trainable=kernel)
    assert [scores.name for scores in found.training][-1] == "trained map, exact"
    assert found.recommendation.sentence.endswith("exact.")


def test_a_kernel_says_whether_it_can_be_simulated():
    deep = QuantumCircuit(30)
    deep.rx(ParameterVector("w", 1)[0], range(30))
    for qubit in range(29):  # the last qubit depends on all others
        deep.cx(qubit, qubit + 1)
    deep.ry(ParameterVector("x", 1)[0], 29)
    for n_features, circuit, design, simulates in (
        (14, entangled(14, 1), "pairs", True),
        (15, entangled(15, 1), "pairs", False),
        (15, entangled(15, 1), Points("projected"), True),
        (1, deep, Points("projected"), False),
    ):
        kernel = MapKernel(as_trainable(circuit, n_features, "w"), design)
        assert kernel.simulates() is simulates


def test_sixty_qubits_are_trained_in_simulation():
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 3, (16, 60))
    y = (points[:, 0] > 1.5).astype(int)
    trained = train_map(entangled(60, 1), points, y, design=Points("projected"), trainable="w")
    assert trained.history[-1] < trained.history[0] - 0.2
    assert len(trained.scale_grid) == 9
    assert trained.bound.num_parameters == 60
