import pickle
from importlib import import_module

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from qiskit.exceptions import QiskitError
from qiskit.primitives import BackendSamplerV2, BaseSamplerV2, StatevectorSampler
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit.quantum_info import Statevector

from aqka import InputError, StatevectorBackend, acquire
from aqka._util import optional
from aqka.backends import JobShape, circuits
from aqka.backends.feature_maps import built_in_map
from aqka.backends.sampler import SamplerBackend
from aqka.core import ShotPlan
from aqka.errors import JobError

X = np.random.default_rng(7).uniform(0, 1, (6, 2))
Z = np.random.default_rng(8).uniform(0, 1, (3, 2))


def exact(seed):
    return StatevectorSampler(seed=np.random.default_rng(seed))


def aer(seed):
    return import_module("qiskit_aer.primitives").SamplerV2(seed=seed)


def kernel(rows, cols):
    circuit = built_in_map("zz", 2)
    states = [
        [Statevector(circuit.assign_parameters(x)) for x in points] for points in (rows, cols)
    ]
    return np.array([[abs(a.inner(b)) ** 2 for b in states[1]] for a in states[0]])


def plan_of_all(rows, cols, shots):
    i, j = np.divmod(np.arange(rows * cols), cols)
    return ShotPlan(i, j, np.full(rows * cols, shots))


def run(backend, plan, tag="t"):
    return backend.collect(backend.submit(plan, tag))


class Counting(BaseSamplerV2):
    """Passes jobs on and counts them; may refuse one."""

    def __init__(self, refuse=()):
        self.inner = StatevectorSampler()
        self.runs = []
        self.refuse = set(refuse)

    def run(self, pubs, *, shots=None):
        pubs = list(pubs)
        self.runs.append((len(pubs), pubs[0][1].shape, shots))
        if len(self.runs) in self.refuse:
            raise QiskitError("queue is full")
        return self.inner.run(pubs, shots=shots)


@pytest.mark.parametrize("make", [exact, aer])
@pytest.mark.parametrize("jobs", [JobShape(), JobShape(free_shots=True), JobShape(quantum=79)])
def test_means_agree_with_the_kernel(make, jobs):
    backend = SamplerBackend(make, X, columns=Z, jobs=jobs, seed=3)
    assert backend.shape == (6, 3)
    shots = 200 + 40 * np.arange(18)
    plan = plan_of_all(6, 3, 1)
    hits = run(backend, ShotPlan(plan.rows, plan.cols, shots))
    truth = kernel(X, Z).ravel()
    assert np.all((hits >= 0) & (hits <= shots))
    deviation = (hits - shots * truth) / np.sqrt(shots * truth * (1 - truth))
    assert np.sum(deviation**2) < 42.3  # the 99.9 % quantile of chi-square with 18 degrees


def test_copies_of_a_row_are_independent():
    """Hits of 100 pairs of eight single-shot rows vary as a binomial does."""
    backend = SamplerBackend(exact, X, seed=1, jobs=JobShape(quantum=1))
    hits = run(backend, ShotPlan(np.zeros(100), np.ones(100), np.full(100, 8)))
    p = kernel(X, X)[0, 1]
    assert hits.var() == pytest.approx(8 * p * (1 - p), rel=0.5)
    assert hits.mean() == pytest.approx(8 * p, abs=4 * np.sqrt(8 * p * (1 - p) / 100))


@pytest.mark.parametrize("make", [exact, aer])
def test_a_tag_gives_the_same_hits_and_another_gives_others(make):
    plan = plan_of_all(6, 6, 50)
    first, second = (SamplerBackend(make, X, seed=5) for _ in range(2))
    assert run(first, plan, "a").tolist() == run(second, plan, "a").tolist()
    assert run(first, plan, "b").tolist() != run(first, plan, "a").tolist()
    assert (
        run(SamplerBackend(make, X, seed=6), plan, "a").tolist() != run(first, plan, "a").tolist()
    )


def test_backend_sampler_is_transpiled_and_reseeded():
    device = GenericBackendV2(3, seed=1)
    sampler = BackendSamplerV2(backend=device, options={"seed_simulator": 11})
    backend = SamplerBackend(sampler, X, jobs=JobShape(free_shots=True))
    assert backend.circuit.num_qubits == 3
    plan = plan_of_all(6, 6, 40)
    assert run(backend, plan, "a").tolist() == run(backend, plan, "a").tolist()
    assert run(backend, plan, "a").tolist() != run(backend, plan, "b").tolist()


def test_columns_follow_the_order_of_parameters():
    """Twelve features, where sorting by name would put x[10] before x[2]."""
    theta = ParameterVector("t", 12)
    circuit = QuantumCircuit(1)
    for k in range(12):
        circuit.ry(theta[k] / (k + 1), 0)
    points = np.random.default_rng(0).uniform(0, 2, (2, 12))
    backend = SamplerBackend(
        exact, points, circuit, target_backend=GenericBackendV2(1, ["rz", "sx", "x"], seed=0)
    )
    angle = ((points[0] - points[1]) / np.arange(1, 13)).sum()
    shots = 20_000
    hits = run(backend, ShotPlan([0], [1], [shots]))[0]
    p = np.cos(angle / 2) ** 2
    assert abs(hits - shots * p) < 4 * np.sqrt(shots * p * (1 - p))


def test_a_parameter_that_acts_on_nothing():
    theta = ParameterVector("t", 2)
    circuit = QuantumCircuit(1)
    circuit.ry(theta[1], 0)
    circuit.global_phase = theta[0]
    backend = SamplerBackend(
        exact, X, circuit, target_backend=GenericBackendV2(1, ["rz", "sx", "x"], seed=0)
    )
    assert run(backend, ShotPlan([2], [2], [30])).tolist() == [30]


def test_one_pub_of_all_rows_per_plan():
    sampler = Counting()
    backend = SamplerBackend(sampler, X)
    run(backend, ShotPlan([0, 1, 2], [1, 2, 3], [10, 20, 5]))
    assert sampler.runs == [(1, (7, 4), 5)]


def test_limits_split_a_plan_into_jobs(monkeypatch):
    monkeypatch.setattr("aqka.backends._jobs.rows.MAX_EXECUTIONS", 40)
    sampler = Counting()
    backend = SamplerBackend(sampler, X, jobs=JobShape(quantum=10))
    ticket = backend.submit(ShotPlan([0, 1], [0, 1], [55, 30]), "t")
    assert sampler.runs == [(1, (4, 4), 10), (1, (4, 4), 10), (1, (1, 4), 5)]
    assert backend.collect(ticket).tolist() == [55, 30]
    assert backend.collect(ticket).tolist() == [55, 30]


def test_a_refused_job_is_the_only_one_sent_again():
    sampler = Counting(refuse={2})
    backend = SamplerBackend(sampler, X, jobs=JobShape(max_rows=2))
    plan = ShotPlan([0, 1, 2], [0, 1, 2], [10, 20, 10])
    with pytest.raises(QiskitError, match="queue"):
        backend.submit(plan, "t")
    ticket = backend.submit(plan, "t")
    assert len(sampler.runs) == 3
    assert backend.collect(ticket).tolist() == [10, 20, 10]


def test_empty_plans_send_no_job():
    sampler = Counting()
    backend = SamplerBackend(sampler, X)
    assert run(backend, ShotPlan([], [], [])).tolist() == []
    assert run(backend, ShotPlan([0], [1], [0])).tolist() == [0]
    assert sampler.runs == []


def test_hundred_thousand_rows_are_counted():
    from qiskit.primitives import BitArray, DataBin, PrimitiveResult, SamplerPubResult

    class Instant(BaseSamplerV2):
        def run(self, pubs, *, shots=None):
            rows = len(pubs[0][1])
            bits = np.random.default_rng(0).integers(0, 2, (rows, shots, 1), dtype=np.uint8)
            data = DataBin(meas=BitArray(bits, 2), shape=(rows,))

            class Job:
                def job_id(self):
                    return "j"

                def result(self):
                    return PrimitiveResult([SamplerPubResult(data)])

            return Job()

    backend = SamplerBackend(Instant(), X)
    rows = 100_000
    plan = ShotPlan(np.arange(rows) % 6, np.arange(rows) % 5, np.full(rows, 8))
    hits = run(backend, plan)
    assert hits.mean() == pytest.approx(4, abs=0.05)


def test_pickling_keeps_collected_hits_and_goes_on():
    backend = SamplerBackend(exact, X, seed=4)
    plan = plan_of_all(6, 6, 10)
    ticket = backend.submit(plan, "a")
    hits = backend.collect(ticket)
    copy = pickle.loads(pickle.dumps(backend))
    assert copy.collect(ticket).tolist() == hits.tolist()
    assert run(copy, plan, "a").tolist() == hits.tolist()


def test_acquire_runs_on_a_sampler():
    backend = SamplerBackend(exact, X, seed=1, jobs=JobShape(free_shots=True))
    session = acquire(backend, [1, 1, 1, -1, -1, -1], budget=600)
    assert session.table.total == 600


def test_job_of_another_process():
    ticket = SamplerBackend(exact, X).submit(ShotPlan([0], [1], [5]), "t")
    with pytest.raises(JobError, match="lives in the process"):
        SamplerBackend(exact, X).collect(ticket)


@pytest.mark.parametrize(("sampler", "lost"), [(Counting(), 5), (StatevectorSampler(), 0)])
def test_shots_of_a_job_that_cannot_be_found_are_lost_where_they_may_be_paid(sampler, lost):
    ticket = SamplerBackend(sampler, X).submit(ShotPlan([0], [1], [5]), "t")
    with pytest.raises(JobError, match="lives in the process") as caught:
        SamplerBackend(sampler, X).collect(ticket)
    assert caught.value.lost == lost


def test_failed_job_is_named_and_not_run_again():
    class Failing(Counting):
        def run(self, pubs, *, shots=None):
            job = super().run(pubs, shots=shots)

            def result():
                raise QiskitError("device went down")

            job.result = result
            return job

    sampler = Failing()
    backend = SamplerBackend(sampler, X)
    ticket = backend.submit(ShotPlan([0], [1], [5]), "t")
    for _ in range(2):
        with pytest.raises(JobError, match=r"device went down.*Nothing was run again"):
            backend.collect(ticket)
    assert len(sampler.runs) == 1


@pytest.mark.parametrize("ticket", ["", "abc", "a:b", "a+b:eNpjYGRgAAAABAAB"])
def test_bad_tickets(ticket):
    with pytest.raises(InputError, match="ticket"):
        SamplerBackend(exact, X).collect(ticket)


def measured():
    circuit = built_in_map("zz", 2)
    circuit.measure_all()
    return circuit


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sampler": 3}, "sampler must be a qiskit BaseSamplerV2"),
        ({"sampler": StatevectorSampler(seed=3)}, "fixed seed 3.*default_rng"),
        ({"sampler": lambda seed: StatevectorSampler(seed=seed)}, "fixed seed"),
        ({"X": [[0.1, np.nan]]}, "NaN or infinite values in 1 rows"),
        ({"X": [0.1]}, "two-dimensional"),
        ({"columns": [[0.1]]}, "columns must have as many features as X, 2"),
        ({"feature_map": QuantumCircuit(2)}, "no parameters"),
        ({"feature_map": measured()}, "is 'measure'; aqka measures by itself"),
        ({"feature_map": built_in_map("zz", 3)}, "3 parameters but the data have 2"),
        ({"target_backend": GenericBackendV2(1, ["rz", "sx", "x"])}, "needs 2 qubits but .* has 1"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        SamplerBackend(**{"sampler": exact, "X": X, **arguments})


def test_plan_out_of_range():
    with pytest.raises(InputError, match="rows of the plan must be below 6, got 9"):
        SamplerBackend(exact, X).submit(ShotPlan([9], [0], [1]), "t")


def test_missing_extra(monkeypatch):
    def missing(module):
        raise ImportError(module)

    monkeypatch.setattr(optional, "import_module", missing)
    with pytest.raises(InputError, match=r"pip install 'aqka\[qiskit\]'"):
        SamplerBackend(exact, X)


def test_other_points_share_the_circuit():
    sampler = Counting()
    train = SamplerBackend(sampler, X)
    test = train.with_points(Z, columns=X)
    assert test.shape == (3, 6)
    assert train.shape == (6, 6)
    assert test.circuit is train.circuit
    hits = run(test, ShotPlan([1], [4], [2000]))
    assert abs(hits[0] - 2000 * kernel(Z, X)[1, 4]) < 4 * np.sqrt(500)
    with pytest.raises(InputError, match="has 3 features"):
        train.with_points(np.ones((2, 3)))


def test_a_map_may_call_its_parameters_x():
    """The fidelity circuit's own parameters have that name too."""
    x = ParameterVector("x", 2)
    circuit = QuantumCircuit(2)
    circuit.ry(x[0], 0)
    circuit.ry(x[1], 1)
    circuit.cx(0, 1)
    circuit.rz(2 * x[0] * x[1], 1)
    points = [[0.3, 1.1], [0.9, 0.2], [2.0, 0.7]]
    exact = StatevectorBackend(points, circuit).kernel()
    test = circuits.fidelity_circuit(circuit)
    test.remove_final_measurements()
    for i, j in [(0, 1), (1, 2), (0, 0)]:
        bound = test.assign_parameters([*points[i], *points[j]])
        assert abs(Statevector(bound).data[0]) ** 2 == pytest.approx(exact[i, j])
