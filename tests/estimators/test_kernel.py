import copy
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qiskit.circuit.library import zz_feature_map
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from aqka import BackendFactory, InputError, JobError, LedgerError, StatevectorBackend
from aqka.backends.statevector import zz_kernel
from aqka.estimators import QuantumKernel, _store
from aqka.runs import driver
from aqka.runs.audit import verify
from aqka.runs.export import measurements
from tests.estimators.remembering import Counting, Jobs, counted

X = np.random.default_rng(5).uniform(0, np.pi, size=(20, 2))
Y = np.where(X[:, 0] > 1.5, "up", "down")
TEST = np.random.default_rng(6).uniform(0, np.pi, size=(6, 2))


@pytest.fixture
def factory():
    return counted()


def make(factory="statevector", **options):
    defaults = {"budget": 19_000, "test_budget": 12_000, "design": "pairs"}
    return QuantumKernel(backend=factory, **defaults | options)


def test_training_spends_exactly_its_budget_and_test_pairs_their_shots(factory):
    kernel = make(factory)
    train = kernel.matrix(X)
    assert Counting.total() == kernel.shots_used_ == kernel.session_.table.total == 19_000
    assert np.array_equal(train, train.T)
    assert np.all(train.diagonal() == 1)
    block = kernel.matrix(TEST, X)
    assert Counting.total() == kernel.shots_used_ == 19_000 + 120 * 100  # the training average
    # Each value is hits / shots of a binomial draw.
    z = (block - zz_kernel(np.vstack([TEST, X]))[:6, 6:]) * np.sqrt(100)
    assert np.abs(z).max() < 0.5 * 4.5
    assert np.allclose(block * 100, np.rint(block * 100))


def test_nothing_known_is_bought_again(factory):
    kernel = make(factory)
    train, block = kernel.matrix(X), kernel.matrix(TEST, X)
    spent = dict(Counting.bought)
    assert np.array_equal(kernel.matrix(X, X), train)
    assert np.array_equal(kernel.matrix(X, TEST), block.T)  # in the other order
    assert np.array_equal(kernel.matrix(X[3:7]), train[3:7, 3:7])
    assert np.array_equal(kernel.matrix(TEST[[4, 1]], X[::-1]), block[[4, 1], ::-1])
    assert kernel(X[2], TEST[5]) == block[5, 2]
    assert kernel(TEST[0], TEST[0]) == 1
    assert kernel(-0.0 * TEST[0], 0.0 * TEST[0]) == 1
    assert Counting.bought == spent


def test_a_request_buys_only_what_is_new_and_once(factory):
    kernel = make(factory, shots_each=10)
    kernel.matrix(X)
    before = kernel.shots_used_
    points = np.vstack([TEST[:2], TEST[:2], X[:3]])
    found = kernel.matrix(points)  # new: 1 pair of test points and 2 × 3 with training points
    assert kernel.shots_used_ - before == 7 * 10
    assert np.array_equal(found[:2], found[2:4])
    assert found[0, 2] == 1


def test_equal_training_points_cost_nothing(factory):
    doubled = np.vstack([X, X[:5]])
    kernel = make(factory)
    found = kernel.matrix(doubled)
    assert np.array_equal(found[20:], found[:5])
    assert kernel.session_.problem.n_points == 20
    assert Counting.total() == 19_000
    assert np.array_equal(kernel.matrix(X), found[:20, :20])
    assert np.array_equal(make(factory).matrix(X[[0, 0]]), np.ones((2, 2)))
    signs = make(factory).matrix([[0.0, 1.0], [-0.0, 1.0], [2.0, 1.0]])
    assert signs[0, 1] == 1
    assert signs[0, 2] == signs[1, 2]


def test_labels_steer_and_without_any_the_shots_are_even():
    steered, even = make(allocator="aqka"), make()
    steered.fit(X, Y)
    even.fit(X, Y)
    assert np.ptp(steered.session_.table.shots) > 50
    assert np.ptp(even.session_.table.shots) == 0
    with pytest.raises(InputError, match="steered by labels"):
        make(allocator="aqka").matrix(X)


@given(st.lists(st.tuples(*[st.lists(st.integers(0, 7), min_size=1, max_size=8)] * 2), max_size=6))
@settings(max_examples=40)
def test_whatever_is_asked_no_pair_is_bought_twice_and_no_budget_exceeded(requests):
    points = np.vstack([X[:6], TEST[:2]])
    kernel = make(counted(), budget=1500, test_budget=150, shots_each=10)
    for rows, cols in requests:
        before = dict(Counting.bought)
        # As an SVM asks: some requests are of points with themselves.
        columns = points[rows] if rows[0] == cols[0] else points[cols]
        try:
            found = kernel.matrix(points[rows], columns)
        except InputError:
            assert Counting.bought == before
        else:
            assert np.array_equal(found, kernel.matrix(columns, points[rows]).T)
        assert all(Counting.bought[pair] == shots for pair, shots in before.items())
    trained = 0 if kernel.session_ is None else 1500
    assert Counting.total() == kernel.shots_used_ <= trained + 150


def test_threads_share_the_budget(factory):
    kernel = make(factory, test_budget=10**6).fit(X)
    with ThreadPoolExecutor(4) as threads:
        blocks = list(threads.map(lambda k: kernel.matrix(TEST[k % 3 : k % 3 + 3], X), range(24)))
    assert all(np.array_equal(block, blocks[k % 3]) for k, block in enumerate(blocks))
    assert Counting.total() == kernel.shots_used_ == 19_000 + 5 * 20 * 100


def test_a_request_beyond_the_budget_is_refused_before_its_first_shot(factory, tmp_path):
    kernel = make(factory, test_budget=12_050, directory=tmp_path)
    kernel.matrix(X)
    block = kernel.matrix(TEST, X)
    spent = Counting.total()
    with pytest.raises(InputError) as caught:
        kernel.matrix(TEST)
    for part in ("15 new pairs at 100", "1500", "50 are left", "19000", "12000 of 12050", "Raise"):
        assert part in str(caught.value)
    assert Counting.total() == spent == kernel.shots_used_
    assert len(list(tmp_path.glob("*-*"))) == 2  # no folder for what was refused
    assert np.array_equal(kernel.matrix(TEST, X), block)
    kernel.test_budget += 1450
    assert kernel.matrix(TEST).shape == (6, 6)
    assert Counting.total() == spent + 1500


def test_a_fit_makes_cross_validation_free(factory):
    kernel = make(factory, allocator="aqka").fit(X, Y)
    assert "aqka" in kernel.session_.allocator.describe()  # which needs the labels
    scores = cross_val_score(SVC(kernel=kernel.matrix), X, Y, cv=4)
    assert scores.shape == (4,)
    assert Counting.total() == 19_000
    assert kernel.fit(X, Y) is kernel  # known, so nothing to do
    assert Counting.total() == 19_000


def test_single_pairs_need_to_know_their_shots(factory):
    with pytest.raises(InputError, match="shots_each is needed"):
        make(factory)(X[0], X[1])
    kernel = make(factory, shots_each=7)
    assert kernel(X[0], X[1]) == kernel(X[1], X[0])
    assert Counting.total() == kernel.shots_used_ == 7


def test_other_requests_draw_other_noise():
    kernel = make(shots_each=1000, test_budget=10**6)
    exact = zz_kernel(X)
    errors = [kernel(X[i], X[i + 1]) - exact[i, i + 1] for i in range(19)]
    assert len(np.unique(np.sign(errors))) == 2
    # The same plan on the same kernel value, of points that hardly differ.
    close = [kernel(X[0], X[1] * (1 + k)) for k in (1e-6, -1e-6)]
    assert close[0] != close[1]
    # In the last bits another processor may compute the same point.
    spent = kernel.shots_used_
    assert kernel(X[0], np.nextafter(X[1], 5 * np.ones(2))) == kernel(X[0], X[1])
    assert kernel(X[1], np.nextafter(X[1], 5 * np.ones(2))) == 1
    assert kernel.shots_used_ == spent


def test_copies_share_the_budget(factory):
    kernel = make(factory, test_budget=12_000)
    copies = [copy.deepcopy(kernel), copy.copy(kernel), clone(kernel)]
    copies += [pickle.loads(pickle.dumps(kernel)), clone(clone(kernel))]
    train, block = kernel.fit_transform(X), kernel.transform(TEST)
    for other in copies:
        assert np.array_equal(other.fit_transform(X[5:]), train[5:, 5:])
        assert np.array_equal(other.transform(TEST), block[:, 5:])
    assert Counting.total() == kernel.shots_used_ == copies[-1].shots_used_ == 31_000
    with pytest.raises(InputError, match="12000 of 12000"):
        copies[-1].matrix(TEST)


def test_a_pickled_copy_elsewhere_answers_but_does_not_buy(factory):
    kernel = make(factory)
    train = kernel.matrix(X)
    state = pickle.dumps(kernel)
    _store._alive.clear()  # as in another process
    other = pickle.loads(state)
    assert other is not kernel
    assert np.array_equal(other.matrix(X), train)
    with pytest.raises(InputError, match="directory"):
        other.matrix(TEST, X)


def test_a_pickled_copy_elsewhere_shares_a_directory(factory, tmp_path):
    kernel = make(factory, directory=tmp_path)
    kernel.matrix(X)
    state = pickle.dumps(kernel)
    _store._alive.clear()
    other = pickle.loads(state)
    block = kernel.matrix(TEST, X)
    assert np.array_equal(other.matrix(TEST, X), block)
    with pytest.raises(InputError, match="12000 of 12000"):
        other.matrix(TEST)
    assert other.shots_used_ == kernel.shots_used_ == Counting.total() == 31_000


SCRIPT = """
import sys
import numpy as np
from aqka.estimators import QuantumKernel
from tests.estimators.remembering import Counting, Jobs, counted
X, TEST = (np.load(f"{sys.argv[1]}/{name}.npy") for name in ("X", "TEST"))
kernel = QuantumKernel(
    backend=counted(), budget=19_000, test_budget=12_000, design="pairs",
    directory=sys.argv[1] + "/run",
)
Counting.die_next = True
kernel.matrix(X)
kernel.matrix(TEST, X)
"""


def test_after_a_crash_a_new_process_buys_nothing_twice(factory, tmp_path):
    for name, values in {"X": X, "TEST": TEST}.items():
        np.save(tmp_path / f"{name}.npy", values)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    root = Path(__file__).parents[2]
    assert subprocess.run(command, check=False, cwd=root).returncode == 9  # a job in flight
    kernel = make(factory, directory=tmp_path / "run")
    part = kernel.matrix(TEST[[2, 0]], X)  # another request than the one that broke off
    # Of the simulator the job in flight is drawn again, which costs nothing; no more than that.
    assert Counting.total() == 12_000
    counted()
    for other in (kernel, make(factory, directory=tmp_path / "run")):
        whole = make(factory)
        assert np.array_equal(other.matrix(X), whole.matrix(X))
        assert np.array_equal(other.matrix(TEST, X), whole.matrix(TEST, X))
        assert np.array_equal(other.matrix(X, TEST)[:, [2, 0]], part.T)
        assert other.shots_used_ == 31_000
    assert Counting.total() == 2 * 31_000  # of the two that keep no ledger


@pytest.mark.parametrize("lost", ["ticket", "hits"])
def test_a_paid_job_in_flight_is_fetched_not_sent_again(tmp_path, monkeypatch, lost):
    counted()
    Jobs.kept = {}
    factory = BackendFactory(Jobs)
    kernel = make(factory, directory=tmp_path)
    kernel.matrix(X)
    with monkeypatch.context() as patched:
        patched.setattr(Jobs, "stop", "submit" if lost == "ticket" else "collect")
        with pytest.raises(KeyboardInterrupt):
            kernel.matrix(TEST, X)
    other = make(factory, directory=tmp_path)
    assert other.matrix(TEST, X).shape == (6, 20)
    assert np.array_equal(kernel.matrix(TEST, X), other.matrix(TEST, X))
    assert Counting.total() == kernel.shots_used_ == other.shots_used_ == 31_000


def test_every_shot_is_in_a_sound_ledger(tmp_path):
    kernel = make(directory=tmp_path)
    kernel.matrix(X)
    kernel.matrix(TEST, X)
    folders = sorted(tmp_path.glob("*-*"))
    assert [folder.name for folder in folders] == ["0001-training-pairs", "0002-more-pairs"]
    assert all(verify(folder).sound and verify(folder).finished for folder in folders)
    assert sum(int(measurements(folder).shots.sum()) for folder in folders) == kernel.shots_used_


@pytest.mark.parametrize("kept", [True, False])
def test_a_request_that_broke_off_is_finished_first(factory, tmp_path, monkeypatch, kept):
    monkeypatch.setattr(driver, "FAILED_ROUNDS", 1)
    kernel = make(factory, directory=tmp_path if kept else None, test_budget=12_000)
    kernel.matrix(X)
    Counting.fail_next = True
    with pytest.warns(RuntimeWarning, match="lost"), pytest.raises(JobError):
        kernel.matrix(TEST[:3], X)
    if kept:
        kernel = make(factory, directory=tmp_path, test_budget=12_000)
    with pytest.raises(InputError, match="6000 of 12000 on 60 other"):
        kernel.matrix(np.vstack([TEST, TEST + 0.1]), X)
    kernel.matrix(TEST, X)
    assert kernel.shots_used_ == 31_000


def test_a_folder_whose_request_was_never_written_is_passed_over(tmp_path):
    (tmp_path / "0001-more-pairs").mkdir()
    assert make(directory=tmp_path).matrix(X).shape == (20, 20)
    (tmp_path / "0002-training-pairs" / "request.npz").write_bytes(b"PK nonsense")
    with pytest.raises(LedgerError, match="damaged"):
        make(directory=tmp_path).matrix(X)


@pytest.mark.parametrize("design", ["pairs", "points", "auto"])
def test_an_empty_request_is_an_empty_answer_at_no_cost(factory, tmp_path, design):
    kernel = make(factory, design=design, directory=tmp_path)
    none = np.empty((0, 2))
    assert kernel.matrix(X[:3], none).shape == (3, 0)
    assert kernel.matrix(none, X[:3]).shape == (0, 3)
    assert kernel.matrix(none).shape == kernel.matrix([]).shape == (0, 0)
    assert (Counting.total(), kernel.shots_used_, list(tmp_path.iterdir())) == (0, 0, [])


def test_auto_settles_by_the_first_points_and_by_what_is_there(factory, tmp_path):
    few, many = ({"budget": b, "design": "auto"} for b in (600, 20 * 512))
    for options, points, name in ((few, X[:4], "pairs"), (many, X, "points")):
        kernel = make(factory, **options, directory=tmp_path / name)
        late = make(factory, **options, directory=tmp_path / name)  # made before there is any
        train, spent = kernel.matrix(points), Counting.total()
        assert kernel.session_.design.name == name
        assert (tmp_path / name / f"0001-training-{name}").is_dir()
        # Whatever is asked first, what is there decides.
        for again in (late, make(factory, **options, directory=tmp_path / name)):
            again.matrix(points[:2], points[2:])
            np.testing.assert_array_equal(again.matrix(points), train)
        assert Counting.total() == spent


def test_threads_that_ask_at_once_settle_on_one_design(factory):
    kernel = make(factory, design="auto", budget=20 * 512, shots_each=512, test_budget=10**6)
    kernel.test_budget, spent = 10**6, 20 * 512
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(kernel.matrix, [X] * 8))
    assert all(np.array_equal(each, found[0]) for each in found)
    assert Counting.total() == kernel.shots_used_ == spent


def test_a_directory_of_another_kernel_is_refused(tmp_path):
    make(directory=tmp_path).matrix(X)
    with pytest.raises(LedgerError, match="budget"):
        make(directory=tmp_path, budget=500).matrix(X)
    with pytest.raises(LedgerError, match="backend"):
        make(directory=tmp_path, seed=3).matrix(X)


def test_workers_share_one_ledger(tmp_path):
    kernel = make(directory=tmp_path, test_budget=10**6, shots_each=20)
    scores = cross_val_score(SVC(kernel=kernel.matrix), X, Y, cv=2, n_jobs=2)
    assert scores.shape == (2,)
    kernel.matrix(X)  # the rest of the pairs, and what the workers found
    folders = sorted(tmp_path.glob("*-*"))
    assert kernel.shots_used_ == sum(int(measurements(f).shots.sum()) for f in folders)
    trained = kernel.session_.table.n_pairs
    assert kernel.shots_used_ == 19_000 + 20 * (190 - trained)  # each pair once


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget"),
        ({"test_budget": -1}, "test_budget"),
        ({"shots_each": 0.5}, "shots_each"),
        ({"seed": -1}, "seed"),
        ({"factory": "precomputed"}, "BackendFactory"),
        ({"allocator": "akqa"}, "Did you mean 'aqka'"),
    ],
)
def test_wrong_settings_are_refused_before_a_shot(options, message):
    kernel = make(**options)
    with pytest.raises(InputError, match=message):
        kernel.fit(X).transform(TEST)
    assert kernel.shots_used_ in (0, 19_000)  # the training kernel was right


def test_wrong_requests_are_told_and_cost_nothing(factory, tmp_path):
    kernel = make(factory)
    with pytest.raises(InputError, match="NaN"):
        kernel.matrix(np.full((20, 2), np.nan))
    with pytest.raises(InputError, match="two-dimensional"):
        kernel.matrix(X[0])
    with pytest.raises(InputError, match="as many features"):
        kernel.matrix(X, TEST[:, :1])
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be made"):
        make(factory, directory=tmp_path / "file" / "below").matrix(X)
    with pytest.raises(InputError, match="2 parameters"):
        make(factory, feature_map=zz_feature_map(2), directory=tmp_path).matrix(np.eye(20))
    assert not list(tmp_path.glob("*-*"))
    assert Counting.total() == 0


class LosesOnce(StatevectorBackend):
    """Answers one block of test pairs with nonsense: its shots were run, their hits are lost."""

    left = 0

    def collect(self, ticket):
        hits = super().collect(ticket)
        if type(self).left and self.shape[0] != self.shape[1]:
            type(self).left -= 1
            return -hits - 1
        return hits


def test_lost_shots_are_paid_for_and_asked_for_again(tmp_path, monkeypatch):
    monkeypatch.setattr(LosesOnce, "left", 1)
    kernel = make(BackendFactory(LosesOnce), directory=tmp_path, test_budget=30_000)
    kernel.matrix(X)
    with pytest.warns(RuntimeWarning, match="cannot be used"), pytest.raises(JobError) as lost:
        kernel.matrix(TEST, X)
    assert "the shots of 120 pairs were run, but their hits are lost" in str(lost.value)
    assert kernel.shots_used_ == 19_000 + 120 * 100  # they were run, and count
    block = kernel.matrix(TEST, X)
    assert np.isfinite(block).all()
    assert kernel.shots_used_ == 19_000 + 2 * 120 * 100
    # Another process knows all of it.
    again = make(BackendFactory(LosesOnce), directory=tmp_path, test_budget=30_000)
    np.testing.assert_array_equal(again.matrix(TEST, X), block)
    assert again.shots_used_ == kernel.shots_used_


def test_shots_that_lost_their_request_are_refused_and_not_bought_again(factory, tmp_path):
    make(factory, directory=tmp_path).matrix(X)
    bought = Counting.total()
    (tmp_path / "0001-training-pairs" / "request.npz").unlink()
    with pytest.raises(LedgerError, match=r"has lost its request\.npz.*nothing was bought again"):
        make(factory, directory=tmp_path).matrix(X)
    assert Counting.total() == bought


@pytest.mark.parametrize("left", [[], ["ledger.lock"], ["ledger.lock", "ledger.draft"]])
def test_a_folder_in_which_nothing_has_begun_is_no_request(factory, tmp_path, left):
    folder = tmp_path / "0001-training-pairs"
    folder.mkdir()
    for name in left:
        (folder / name).touch()
    make(factory, directory=tmp_path).matrix(X)
    assert verify(tmp_path / "0002-training-pairs").finished


def test_folders_of_another_kernel_are_refused(factory, tmp_path):
    """A whole folder, request and ledger, in the place of another one's."""
    for name, seed in (("one", 0), ("other", 1)):
        make(factory, directory=tmp_path / name, seed=seed).matrix(X)
        make(factory, directory=tmp_path / name, seed=seed).matrix(TEST, X)
    bought = Counting.total()
    for folder in ("0001-training-pairs", "0002-more-pairs"):
        mixed = shutil.copytree(tmp_path / "one", tmp_path / f"mixed-{folder}")
        shutil.rmtree(mixed / folder)
        shutil.copytree(tmp_path / "other" / folder, mixed / folder)
        with pytest.raises(LedgerError, match="belongs to another run"):
            make(factory, directory=mixed).matrix(X)
    assert Counting.total() == bought
