"""One budget for fit and predict, in the estimators."""

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from qiskit_ibm_runtime.fake_provider import FakeFez
from sklearn.base import clone

from aqka import (
    BackendFactory,
    CeilingError,
    InputError,
    QuantumFeatures,
    QuantumKernel,
    QuantumRidgeClassifier,
    StatevectorBackend,
    quote,
)
from aqka.backends import RuntimeBackend
from aqka.backends.base import Workload
from aqka.estimators import _source
from aqka.planning import Wish, split_budget
from aqka.planning.device import HERON

X = np.random.default_rng(0).uniform(0, 3, (20, 2))
Y = (X[:, 0] > 1.5).astype(int)


def test_fit_and_predict_share_the_budget_and_no_more():
    settings = {"budget": 3000, "new_points": 8, "design": "pairs"}
    model = clone(QuantumRidgeClassifier(**settings)).fit(X[:12], Y[:12])
    split = split_budget(3000, 12, 8, "pairs")
    assert model.shots_used_ == split.train
    assert model.quote_.total.shots == 3000
    made = model.prediction(X[12:])
    assert made.shots.sum() <= split.predict
    with pytest.raises(CeilingError, match="the ceiling is reached"):
        model.prediction(X[12:], budget=5000, error_rate=0.001)


def test_money_needs_a_rate_which_the_budget_states():
    with pytest.raises(InputError, match="needs a rate"):
        QuantumRidgeClassifier(budget="$20").fit(X[:12], Y[:12])
    model = QuantumRidgeClassifier(budget="$100 at $96/min", new_points=8).fit(X[:12], Y[:12])
    assert model.quote_.total_cost <= 100
    assert model.quote_.total_cost > 99.9


def test_without_new_points_the_budget_is_for_training():
    model = QuantumRidgeClassifier(budget=3000).fit(X[:12], Y[:12])
    assert (model.shots_used_, model.quote_.parts) == (3000, ())
    assert model.predict(X[12:]).shape == (8,)  # a simulator's exact entries


def four_qubits():
    """Two features on four qubits in a line."""
    circuit, x = QuantumCircuit(4), ParameterVector("x", 2)
    for q in range(4):
        circuit.ry(x[q % 2], q)
    for q in range(3):
        circuit.cz(q, q + 1)
    return circuit


class Device(StatevectorBackend):
    """A simulator that says what a device would; the circuit of a point is shorter."""

    rep_delay, n_tiles = 1e-3, 7

    def __init__(self, X, feature_map=None, *, columns=None, seed=0, design="pairs"):
        super().__init__(X, feature_map, columns=columns, seed=seed)
        self.layers = {"pairs": 2, "points": 1}[design]

    @property
    def circuit(self):
        return four_qubits().repeat(self.layers).decompose()

    def workload(self, plan):
        return Workload(plan.total, -(-plan.total // self.n_tiles), 1)


@pytest.mark.parametrize("design", ["pairs", "points"])
def test_quote_and_ceiling_are_of_the_circuit_tiles_and_device_that_run(design):
    factory = BackendFactory(Device)
    depth = factory(X, None, columns=None, seed=0, design=design).circuit.depth()
    how = {"n_qubits": 4, "depth": depth, "tiles": 7, "device": HERON.with_rep_delay(1e-3)}
    settings = {"backend": factory, "budget": "60 s", "design": design}
    model = QuantumRidgeClassifier(four_qubits(), **settings, new_points=8).fit(X[:12], Y[:12])
    assert model.quote_ == quote(12, "60 s", **how, wish=Wish(8, design=design))
    assert model.shots_used_ == model.quote_.shots
    assert len(model.predict(X[12:])) == 8  # the ceiling leaves what was quoted
    alone = quote(12, "60 s", **how, wish=Wish(design=design)).shots
    assert QuantumKernel(four_qubits(), **settings).fit(X[:12]).shots_used_ == alone
    if design == "points":
        del settings["design"]
        assert QuantumFeatures(four_qubits(), **settings).fit(X[:12]).shots_used_ == alone


@pytest.mark.parametrize("design", ["auto", "pairs", "points"])
def test_time_on_tiles_buys_the_shots_of_all_tiles(design):
    factory = BackendFactory(RuntimeBackend, backend=FakeFez(), tiles="auto")
    settled = _source.Purchase(four_qubits(), factory, "20 s", design=design)
    source = _source.kernel_source(X, settled)
    backend = source.purchase.make(X)
    made = source.purchase.quoted(X, backend)
    assert (made.n_qubits, made.tiles) == (backend.n_qubits, backend.n_tiles)
    assert (made.depth, made.design) == (backend.circuit.depth(), source.design.name)
    assert made.n_qubits == 4
    assert made.tiles > 20
    assert made.shots > 20 * 28_000  # what one tile runs in that time


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({"budget": "15 s"}, 2),  # to choose: one of each design
        ({"budget": 3000, "new_points": 1}, 2),
        ({"budget": 3000, "design": "points"}, 1),
        ({}, 1),  # for the default shots of the design that was chosen; it is not shown
    ],
)
def test_the_quote_that_chose_the_design_is_the_one_that_is_kept(monkeypatch, settings, count):
    asked = []

    def counted(*args, **options):
        asked.append(quote(*args, **options))
        return asked[-1]

    monkeypatch.setattr(_source, "quote", counted)
    model = QuantumRidgeClassifier(**settings).fit(X[:6], Y[:6])
    assert len(asked) == count
    assert any(model.quote_ is one for one in asked) == ("budget" in settings)
    asked.clear()
    settings.pop("new_points", None)
    QuantumKernel(**settings).fit(X[:6])
    assert len(asked) == count


def test_a_budget_of_one_qubit_is_quoted_for_one_qubit():
    model = QuantumRidgeClassifier(budget=900).fit(X[:12, :1], Y[:12])
    assert model.quote_.n_qubits == 1
