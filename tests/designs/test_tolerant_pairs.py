"""Pairs read by their flipped bits: against exact chances, and from acquire to predictions."""

from dataclasses import replace

import numpy as np
import pytest
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit.quantum_info import Statevector
from scipy.stats import binom, chi2

from aqka import (
    InputError,
    LedgerError,
    MatrixBackend,
    Pairs,
    QuantumKernel,
    QuantumRidgeClassifier,
    StatevectorBackend,
    acquire,
    predict,
)
from aqka.backends import AerBackend, RuntimeBackend, depolarising_noise
from aqka.backends.feature_maps import built_in_map
from aqka.backends.sentinel import SentinelBackend
from aqka.backends.simulated import SimulatedBackend
from aqka.core import PairTable, Problem, ShotPlan
from aqka.core.tolerance import Tolerance
from aqka.designs import PairEstimate, Settle, measured_by
from aqka.learners import FittedHead
from aqka.runs.export import measurements, table_of
from aqka.sessions import Training

QUBITS = 3
X = np.random.default_rng(0).uniform(0, 1.5, (8, QUBITS))
Y = np.arange(8) % 2
NEW = np.random.default_rng(1).uniform(0, 1.5, (5, QUBITS))
TOLERANT = Pairs("tolerant")


def exact_flips(x, other):
    """The chances of 0, 1, … ones, by Qiskit."""
    circuit = built_in_map("zz", QUBITS)
    both = circuit.assign_parameters(x).compose(circuit.assign_parameters(other).inverse())
    ones = [bits.count("1") for bits in Statevector(both).probabilities_dict()]
    chances = list(Statevector(both).probabilities_dict().values())
    return np.bincount(ones, chances, QUBITS + 1)


@pytest.mark.parametrize(
    "make",
    [
        StatevectorBackend,
        lambda X, columns: AerBackend(X, noise=depolarising_noise(0, 0), columns=columns),
        lambda X, columns: RuntimeBackend(
            GenericBackendV2(3, noise_info=False, seed=0), X, columns=columns
        ),
    ],
    ids=["statevector", "aer", "jobs"],
)
def test_flipped_bits_follow_their_exact_chances(make):
    """A chi-square of 12 pairs, each with 2,000 shots, at 1e-6 and a fixed seed."""
    rows, cols = (part.ravel() for part in np.indices((4, 3)))
    backend = make(NEW[:4], columns=X[:3])
    plan = ShotPlan(rows, cols, np.full(12, 2000), bits=backend.flipped_bits)
    found = plan.checked(backend.collect(backend.submit(plan, "flips")))
    expected = 2000 * np.array([exact_flips(NEW[i], X[j]) for i, j in zip(rows, cols, strict=True)])
    likely = expected > 5
    statistic = np.sum((found - expected)[likely] ** 2 / expected[likely])
    assert chi2.sf(statistic, likely.sum()) > 1e-6


def test_a_session_reads_the_mean_of_w_to_the_flipped_bits():
    session = acquire(StatevectorBackend(X), Y, 28 * 400, design=TOLERANT)
    table, estimate = session.table, session.estimate()
    w, upper = table.tolerance.weight, np.triu_indices(8, 1)
    exact = [exact_flips(X[i], X[j]) @ w ** np.arange(4) for i, j in zip(*upper, strict=True)]
    error = (estimate.kernel[upper] - exact) / np.sqrt(estimate.variance[upper])
    assert 0 < w < 1
    assert np.all(np.abs(error) < 5)
    assert 0.5 < np.mean(error**2) < 2
    assert "a different kernel" in estimate.meaning
    assert not estimate.is_fidelity
    assert measured_by(table) == estimate.design == TOLERANT
    assert table.flips.sum() == table.total == 28 * 400


def test_a_resumed_run_equals_the_uninterrupted_one_bit_for_bit(tmp_path):
    def head(directory, budget=1400):
        session = acquire(
            StatevectorBackend(X), Y, budget, "aqka", design=TOLERANT, directory=directory
        )
        return session, session.fit()

    class Dies(StatevectorBackend):
        def collect(self, ticket):
            if ticket.endswith("r3"):
                raise KeyboardInterrupt
            return super().collect(ticket)

        def fingerprint(self):
            return StatevectorBackend(X).fingerprint()

    whole, trained = head(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        acquire(Dies(X), Y, 1400, "aqka", design=TOLERANT, directory=tmp_path / "cut")
    session, again = head(tmp_path / "cut")
    np.testing.assert_array_equal(session.table.flips, whole.table.flips)
    np.testing.assert_array_equal(again.alpha, trained.alpha)
    assert table_of(tmp_path / "cut").table.tolerance == whole.table.tolerance
    counts = measurements(tmp_path / "cut")
    assert counts.hits.shape[1] == QUBITS + 1
    np.testing.assert_array_equal(counts.hits.sum(axis=1), counts.shots)
    kept = tmp_path / "new"
    found = predict(again, StatevectorBackend(NEW, columns=X), 600, directory=kept)
    repeated = predict(trained, StatevectorBackend(NEW, columns=X), 600, directory=kept)
    np.testing.assert_array_equal(found.f, repeated.f)
    with pytest.raises(LedgerError, match=r"these differ: bits .*; pairs .*"):
        acquire(StatevectorBackend(X), Y, 1400, "aqka", design="pairs", directory=tmp_path / "cut")


class Drawn(SimulatedBackend):
    """Flipped bits of a test-by-train block with chances of our own."""

    def __init__(self, chances, seed):
        super().__init__(seed)
        self.chances = chances

    shape = property(lambda self: self.chances.shape[:2])
    flipped_bits = property(lambda self: self.chances.shape[2] - 1)

    def _identity(self):
        return []

    def _draw(self, plan, rng):
        raise NotImplementedError

    def _draw_flips(self, plan, rng):
        return rng.multinomial(plan.shots, self.chances[plan.rows, plan.cols])


def drawn_head(alpha, tolerance):
    table = PairTable(len(alpha), bits=tolerance.bits)
    table.tolerance = tolerance
    estimate = PairEstimate(table, Problem(np.arange(len(alpha)) % 2))
    return FittedHead(alpha, np.zeros(()), estimate, 0.1, np.arange(2))


def test_a_wrong_class_is_settled_more_rarely_than_the_error_rate():
    """400 points of f just below 0, looked at 20 times; at 1e-6 and fixed seeds."""
    alpha, tolerance = np.array([1.0, -0.7, 0.4]), Tolerance(4, 0.6, 0.5)
    rows = np.random.default_rng(0).dirichlet(np.ones(5), 3)
    kernel = rows @ tolerance.worths
    head = replace(drawn_head(alpha, tolerance), intercept=np.array(-alpha @ kernel - 1e-3))
    wrong = 0
    for seed in range(2):
        backend = Drawn(np.tile(rows, (400, 1, 1)), seed)
        found = predict(head, backend, 400 * 3 * 20, stop=Settle(0.2, 20))
        wrong += int(np.sum(found.settled & (found.labels == 1)))
    assert 8 <= wrong <= binom.isf(1e-6, 800, 0.2)


def test_flipped_bits_settle_what_hits_leave_open():
    """Two training points whose rows differ in how many bits are flipped, and never all read 0."""
    near, far = np.array([0, 0.6, 0.3, 0.1, 0]), np.array([0, 0, 0.1, 0.3, 0.6])
    block = np.tile(np.stack([near, far]), (20, 1, 1))
    head = drawn_head(np.array([1.0, -1.0]), Tolerance(4, 0.6, 0.1))
    found = predict(head, Drawn(block, 0), 20 * 2 * 300)
    assert found.settled.all()
    assert np.all(found.labels == 1)
    assert found.shots.sum() < 20 * 2 * 100


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda counts: counts + 1, r"sum to the shots"),
        (lambda counts: -counts, r"sum to the shots"),
        (lambda counts: counts[:, :-1], r"shape \(2, 4\)"),
        (lambda counts: counts[:, 0], r"shape \(2, 4\)"),
        (lambda counts: counts / 3, r"whole numbers"),
        (lambda counts: np.full((2, 4), 2**62), r"sum to the shots|2\*\*50"),
        (lambda counts: [[1], [2, 3]], r"flipped bits"),
        (lambda counts: None, r"flipped bits"),
    ],
)
def test_counts_that_do_not_fit_are_refused(answer, message):
    plan = ShotPlan([0, 0], [1, 2], [5, 3], bits=3)
    counts = np.array([[1, 2, 1, 1], [3, 0, 0, 0]])
    np.testing.assert_array_equal(plan.checked(counts), counts)
    with pytest.raises(InputError, match=message):
        plan.checked(answer(counts))
    table = PairTable(3, bits=3)
    with pytest.raises(InputError):
        table.add(plan, answer(counts))
    assert table.total == 0


def test_what_cannot_work_is_refused_before_the_first_shot():
    with pytest.raises(InputError, match="Did you mean 'tolerant'"):
        Pairs("tolerent")
    kernel = MatrixBackend(np.eye(8))
    with pytest.raises(InputError, match="MatrixBackend counts hits alone"):
        acquire(kernel, Y, 100, design=TOLERANT)
    with pytest.raises(InputError, match="without sentinels"):
        acquire(SentinelBackend(StatevectorBackend(X), [0], 10), Y, 100, design=TOLERANT)
    with pytest.raises(InputError, match="hits alone"):
        kernel.submit(ShotPlan([0], [1], [5], bits=3), "flips")
    with pytest.raises(InputError, match="needs n_qubits"):
        Training(Problem(Y), 100, design=TOLERANT)
    with pytest.raises(InputError, match="more than"):
        PairTable(5000, bits=200)
    with pytest.raises(InputError, match="take an estimator"):
        QuantumKernel(design=TOLERANT).fit(X)


def test_a_finished_run_is_read_as_it_was_measured():
    numbers = np.arange(8).reshape(-1, 1)
    plain = acquire(StatevectorBackend(X), Y, 280, design="pairs")
    session = acquire(StatevectorBackend(X), Y, 280, design=TOLERANT)
    for run, design in ((plain, TOLERANT), (session, "pairs")):
        with pytest.raises(InputError, match=r"the finished run, which measured Pairs\("):
            QuantumRidgeClassifier(backend=run, design=design).fit(numbers, Y)
    part = QuantumRidgeClassifier(backend=session).fit(numbers[:6], Y[:6])
    np.testing.assert_array_equal(part.kernel_, session.estimate().kernel[:6, :6])
    assert part.table_.flips.sum() == part.table_.total


def test_a_shot_knows_states_as_well_as_its_hits_do():
    table, hits = PairTable(8, bits=QUBITS), PairTable(8)
    table.shots[:], hits.shots[:], table.tolerance = 5, 20, Tolerance(QUBITS, 0.6, 0.25)
    found, same = (PairEstimate(one, Problem(Y)).known_states(QUBITS) for one in (table, hits))
    assert found == same


def test_an_estimator_measures_new_points_in_the_same_way():
    model = QuantumRidgeClassifier(budget=6000, new_points=5, design=TOLERANT).fit(X, Y)
    labels = model.predict(NEW)
    assert labels.shape == (5,)
    exact = QuantumRidgeClassifier(budget=2800, design=TOLERANT).fit(X, Y)
    with pytest.raises(InputError, match="no exact entries of this kernel"):
        exact.predict(NEW)
