"""A hard ceiling: before every submission what was used and the next job's quote must fit."""

import numpy as np
import pytest

from aqka import CeilingError, InputError, JobError, MatrixBackend, acquire, predict
from aqka.backends import RuntimeBackend
from aqka.backends.sentinel import SentinelBackend
from aqka.core import ShotPlan
from aqka.designs import Settle
from aqka.planning import DeviceModel, make_ceiling
from aqka.runs import Ceiling, driver
from aqka.runs.audit import verify
from tests.conftest import make_kernel, make_labels
from tests.fake_runtime import FakeRuntime

KERNEL, Y = make_kernel(8), make_labels(8)
X = np.random.default_rng(0).uniform(0, 3, (8, 2))
# Whole numbers, so that sums are exact: a job of n executions takes 2 + n / 4 seconds.
DEVICE = DeviceModel(job_overhead=2.0, rep_delay=0.25, execution_overhead=0.0, layer_time=0.0)


def spend(ceiling, backend=None, **options):
    backend = backend or MatrixBackend(KERNEL, seed=1)
    return acquire(backend, Y, 1000, "aqka", design="pairs", ceiling=ceiling, **options)


def quoted(rounds):
    return sum(2 + shots / 4 for shots in rounds)


def test_a_run_that_fits_to_the_second_is_not_stopped():
    rounds = (200, 200, 200, 200, 200)
    ceiling = make_ceiling(f"{quoted(rounds)} s", "pairs", device=DEVICE)
    assert spend(ceiling).table.total == 1000
    assert ceiling.used_seconds == quoted(rounds)
    with pytest.raises(CeilingError):
        spend(make_ceiling(f"{quoted(rounds) - 0.01} s", "pairs", device=DEVICE))


def test_a_stopped_run_says_what_it_needs_and_goes_on_with_more(tmp_path):
    with pytest.raises(CeilingError) as told:
        spend(make_ceiling("110 s", "pairs", device=DEVICE), directory=tmp_path)
    # Two rounds of 52 s are run, the third does not fit; five are 260 s.
    assert "needs 52 s of QPU time, but 6 s of 110 s are left" in str(told.value)
    assert "a ceiling of 156 s" in str(told.value)
    found = verify(tmp_path)
    assert (found.sound, found.shots, found.finished) == (True, 400, False)
    with pytest.raises(CeilingError):  # what the ledger says counts, not what this process did
        spend(make_ceiling("155 s", "pairs", device=DEVICE), directory=tmp_path)
    assert verify(tmp_path).shots == 400
    whole = spend(make_ceiling("260 s", "pairs", device=DEVICE), directory=tmp_path)
    assert np.array_equal(whole.table.hits, spend(None).table.hits)  # bit for bit


def test_what_the_service_reports_counts_instead_of_the_quote(tmp_path):
    """Jobs report 30 s each where 52 s were quoted, so one more fits."""
    service = FakeRuntime(tmp_path / "service", seconds=30.0)
    ceiling = make_ceiling("120 s", "pairs", device=DEVICE)
    with pytest.raises(CeilingError, match=r"needs 52 s .* but 30 s of 120 s"):
        spend(ceiling, RuntimeBackend(service, X), directory=tmp_path / "run")
    assert service.submissions == 3
    assert ceiling.used_seconds == 90


def test_shots_of_sentinels_and_of_lost_jobs_count(tmp_path):
    with_sentinels = SentinelBackend(MatrixBackend(KERNEL, seed=1), [0, 1], shots=25)
    ceiling = make_ceiling(600, "pairs")
    with pytest.raises(CeilingError, match=r"needs 250 shots, but 100 of"):
        spend(ceiling, with_sentinels)
    assert ceiling.used_shots == 500
    service = FakeRuntime(tmp_path / "service")
    service.next_job = "no result"  # it was run, but its outcomes are lost
    ceiling = make_ceiling(300, "pairs")
    with pytest.warns(RuntimeWarning, match="round 0 failed"), pytest.raises(CeilingError):
        spend(ceiling, RuntimeBackend(service, X))
    assert ceiling.used_shots == 200
    service.next_job = "CANCELLED"  # nothing of it was run
    ceiling = make_ceiling(300, "pairs")
    with pytest.warns(RuntimeWarning, match="round 0 failed"), pytest.raises(CeilingError):
        spend(ceiling, RuntimeBackend(service, X))
    assert ceiling.used_shots == 200


class Billing(MatrixBackend):
    """A device whose jobs fail as a list says, and bill what it says, or do not tell (None)."""

    replayable = False

    def __init__(self, bills):
        super().__init__(KERNEL, seed=1)
        self.bills, self.used, self.limits = list(bills), {}, []

    @property
    def usage(self):
        return self.used

    def limit_seconds(self, seconds):
        self.limits.append(seconds)

    def collect(self, ticket):
        hits = super().collect(ticket)
        self.used[ticket] = self.bills.pop(0)
        if self.bills:
            raise JobError("the job was cancelled while it ran")
        return hits

    def fingerprint(self):
        return "billing"


@pytest.mark.filterwarnings("ignore:round . failed")
def test_what_failed_jobs_used_counts_and_bounds_the_next(tmp_path, monkeypatch):
    """Each job is quoted with 52 s; the ones that fail have used 20 s."""
    monkeypatch.setattr(driver, "FAILED_ROUNDS", 9)
    ceiling = make_ceiling("100 s", "pairs", device=DEVICE)
    backend = Billing([20.0] * 5)
    with pytest.raises(CeilingError, match=r"needs 52 s .* but 40 s of 100 s are left"):
        spend(ceiling, backend, directory=tmp_path)
    assert ceiling.used_seconds == 60
    assert backend.limits == [100, 80, 60]
    assert verify(tmp_path).qpu_seconds == 60
    resumed = make_ceiling("100 s", "pairs", device=DEVICE)
    with pytest.raises(CeilingError, match=r"40 s of 100 s are left"):
        spend(resumed, Billing([]), directory=tmp_path)
    assert resumed.used_seconds == 60


@pytest.mark.filterwarnings("ignore:round . failed")
def test_a_failed_job_whose_bill_nobody_knows_counts_by_its_quote_and_a_free_one_not(tmp_path):
    for bill, used in ((None, 52.0), (0.0, 0.0)):
        ceiling = make_ceiling("60 s", "pairs", device=DEVICE)
        with pytest.raises((CeilingError, JobError)):
            spend(ceiling, Billing([bill] * 9), directory=tmp_path / str(bill))
        assert ceiling.used_seconds == used


def test_a_backend_is_not_bound_by_the_ceiling_of_an_earlier_run():
    backend = Billing([])
    backend.collect = MatrixBackend(KERNEL, seed=1).collect
    with pytest.raises(InputError):  # it does not know the ticket, which is of no interest here
        spend(make_ceiling("100 s", "pairs", device=DEVICE), backend)
    with pytest.raises(InputError):
        spend(None, backend)
    assert backend.limits == [100, None]


def test_training_and_prediction_share_one(tmp_path):
    ceiling = make_ceiling(1300, "pairs")
    head = spend(ceiling, directory=tmp_path / "train").fit("ridge")
    block = MatrixBackend(KERNEL[:3], rectangular=True)
    with pytest.raises(CeilingError):
        predict(head, block, 5000, stop=Settle(0.001), ceiling=ceiling, directory=tmp_path / "test")
    assert 1000 < ceiling.used_shots <= 1300
    used = ceiling.used_shots
    spend(ceiling, directory=tmp_path / "train")  # the same run, opened again, counts once
    assert ceiling.used_shots == used


def test_a_plan_that_a_dead_process_sent_is_taken_and_one_it_did_not_is_refused(tmp_path):
    """Killed between the plan's entry and its ticket: what is paid for is always collected."""
    service = FakeRuntime(tmp_path / "service", seconds=50.0)

    for after, submissions in ((True, 1), (False, 1)):
        backend, place = RuntimeBackend(service, X), tmp_path / str(after)

        def die(plan, tag, send=backend.submit if after else None):
            if send is not None:
                send(plan, tag)
            raise KeyboardInterrupt

        backend.submit = die
        with pytest.raises(KeyboardInterrupt):
            spend(make_ceiling("60 s", "pairs", device=DEVICE), backend, directory=place)
        ceiling = make_ceiling("50 s" if after else "51 s", "pairs", device=DEVICE)
        with pytest.raises(CeilingError):
            spend(ceiling, RuntimeBackend(service, X), directory=place)
        assert service.submissions == submissions
        assert verify(place).shots == (200 if after else 0)


def test_a_plan_in_several_jobs_pays_for_each():
    ceiling = Ceiling(seconds=1e9, job_seconds=2.0, execution_seconds=0.25, max_executions=100)
    work = MatrixBackend(KERNEL).workload(ShotPlan([0], [1], [250]))
    assert ceiling.quote(work) == 3 * 2 + 250 / 4


def test_money_is_seconds_at_a_rate():
    ceiling = make_ceiling("$3", "pairs", rate=60.0, device=DEVICE)
    assert ceiling.seconds == pytest.approx(3.0)
    with pytest.raises(CeilingError, match=r"of \$3 are left"):
        spend(ceiling)
