import pickle

import numpy as np
import pytest
from qiskit_ibm_runtime import fake_provider
from scipy.stats import binom

from aqka import InputError
from aqka.backends import AerBackend
from aqka.backends._jobs import ibm
from aqka.backends._jobs.outcomes import DealtRows, all_zero
from aqka.backends._jobs.rows import Chunk
from aqka.backends._tiles.deal import Deal
from aqka.backends.job_service import JobRequest
from aqka.backends.runtime import RuntimeBackend
from aqka.core import ShotPlan

X = np.random.default_rng(7).uniform(0, 1, (6, 2))


def zeros_of(job, n_rows, shots):
    """Which shots of a job without tiles gave all zeros."""
    dealt = DealtRows.of(Chunk(np.arange(n_rows), shots), 0, None, None)
    return all_zero(dealt.read(job.result(), 2, job.job_id())[0])


def test_ibm_sampler_carries_tags_and_options():
    device = fake_provider.FakeManilaV2()
    runtime = ibm.IbmService(
        device, {"max_execution_time": 300, "environment": {"job_tags": ["lab"]}}
    )
    for _ in range(2):
        options = runtime.sampler(None, ["t", "part"]).options
        assert options.environment.job_tags == ["lab", "t", "part"]
        assert options.max_execution_time == 300


def test_ibm_sampler_stops_jobs_after_the_seconds_that_are_left():
    device = fake_provider.FakeManilaV2()
    for options, left, most in [
        ({"max_execution_time": 300}, 42.7, 42),
        ({}, 0.2, 1),
        ({}, 5e9, 10_800),
    ]:
        sampler = ibm.IbmService(device, options).sampler(None, ["t"], left)
        assert sampler.options.max_execution_time == most
    again = ibm.IbmService(device, {"max_execution_time": 300}).sampler(None, ["t"], 1000.0)
    assert again.options.max_execution_time == 300


def test_ibm_sampler_runs_our_pub():
    """IBM's client-side sampler in its local mode, as RuntimeBackend calls it on hardware."""
    device = fake_provider.FakeManilaV2()
    backend = RuntimeBackend(device, X)
    service, values = ibm.IbmService(device, {}), np.tile(X[0], (3, 2))
    job = service.run(JobRequest(backend.circuit, values, 200, ["t"], 1))
    zeros = zeros_of(job, 3, 200)
    assert zeros.shape == (3, 200)
    assert 0.5 < zeros.mean() < 1


def test_ibm_sampler_runs_our_pub_on_tiles():
    """All tiles as one circuit, two pairs of five qubits, with a register each."""
    device = fake_provider.FakeManilaV2()
    backend = RuntimeBackend(device, X, tiles=2)
    plan = ShotPlan([0, 1, 2], [0, 1, 2], [200, 200, 200])
    deal, (chunk,) = Deal.of(2, 0, "t"), backend._layout(plan, 2).chunks()
    circuit, values = backend._laid_out(plan, chunk, deal, 0)
    job = ibm.IbmService(device, {}).run(JobRequest(circuit, values, 100, ["t"], 1))
    bits, _ = DealtRows.of(chunk, 0, deal, None).read(job.result(), 2, job.job_id())
    assert (len(values), chunk.shots) == (3, 100)
    hits = chunk.per_plan_row(chunk.hits(all_zero(bits)), 3)
    assert np.all((hits > 100) & (hits <= 200))


def test_ibm_local_mode_agrees_with_the_exact_noisy_kernel():
    """IBM's own sampler and noise, our circuit: hits must follow the kernel computed exactly."""
    device = fake_provider.FakeManilaV2()
    exact = AerBackend(X[:3], noise=device)
    rows, cols = np.triu_indices(3)
    values = np.concatenate([X[rows], X[cols]], axis=1)
    job = ibm.IbmService(device, {}).run(JobRequest(exact.circuit, values, 2000, ["t"], 1))
    hits = zeros_of(job, 6, 2000).sum(axis=1)
    k = exact.kernel()[rows, cols]
    # Six binomials, each at a false-alarm rate of 10^-6.
    low, high = (binom.ppf(q, 2000, k) for q in (5e-7, 1 - 5e-7))
    assert np.all((low <= hits) & (hits <= high))


def test_ibm_jobs_are_looked_up_by_all_tags():
    class Service:
        def jobs(self, **arguments):
            return arguments

        def job(self, job_id):
            return job_id

    class Device:
        service = Service()

    runtime = ibm.IbmService(Device(), {})
    assert runtime.jobs(["a", "b"]) == {"job_tags": ["a", "b"], "limit": None}
    assert runtime.job("x") == "x"


def test_credentials_are_not_pickled():
    with pytest.raises(InputError, match="its token would be stored"):
        pickle.dumps(ibm.IbmService("device", {}))
