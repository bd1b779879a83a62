"""What a backend or an allocator answers is checked before it is written, counted or believed."""

import numpy as np
import pytest

from aqka import InputError, JobError, MatrixBackend, Schedule, acquire
from aqka.allocators import Allocation, Allocator
from aqka.runs.audit import sound_history, verify
from aqka.runs.ledger import LEDGER_NAME, Ledger
from tests.conftest import make_kernel, make_labels

KERNEL, Y = make_kernel(12), make_labels(12)
WRONG = {
    "negative": lambda shots: -np.ones_like(shots),
    "too many": lambda shots: shots + 1,
    "NaN": lambda shots: np.full(len(shots), np.nan),
    "too short": lambda shots: shots[:-1],
    "too long": lambda shots: np.append(shots, 0),
    "fractional": lambda shots: shots / 3 + 0.1,
    "bool": lambda shots: shots > 0,
    "text": lambda shots: np.array(["1"] * len(shots)),
    "complex": lambda shots: shots.astype(complex),
    "2-D": lambda shots: shots.reshape(1, -1),
    "masked": lambda shots: np.ma.masked_array(shots, mask=[True] + [False] * (len(shots) - 1)),
    "None": lambda shots: None,
    "a list of texts": lambda shots: ["a"] * len(shots),
    "a dict": lambda shots: {"hits": 3},
    "ragged": lambda shots: [[1], [2, 3]],
    "infinite": lambda shots: np.full(len(shots), np.inf),
    "huge": lambda shots: np.full(len(shots), 2**63, dtype=np.uint64),
}


class Lying(MatrixBackend):
    """Answers the second round wrongly, once."""

    def __init__(self, answer):
        super().__init__(KERNEL)
        self.answer, self.collected, self.submitted = answer, 0, 0

    def submit(self, plan, tag):
        self.submitted += plan.total
        self.shots = plan.shots
        return super().submit(plan, tag)

    def collect(self, ticket):
        self.collected += 1
        hits = super().collect(ticket)
        return self.answer(self.shots) if self.collected == 2 else hits

    def fingerprint(self):
        return "lying"


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_fails_its_round_and_is_kept_as_evidence(tmp_path, name):
    backend = Lying(WRONG[name])
    with pytest.warns(RuntimeWarning, match="answer cannot be used"):
        session = acquire(backend, Y, 500, "aqka", directory=tmp_path)
    history = sound_history(tmp_path)
    assert [round.failed for round in history.rounds] == [False, True, False, False, False]
    wrong = history.rounds[1]
    # Its shots were run: they count against the budget, and for nothing else.
    assert wrong.lost == wrong.planned.total > 0
    assert wrong.measured.total == 0
    assert backend.submitted == 500 == session.table.total + wrong.lost
    assert session.lost == wrong.lost
    with Ledger(tmp_path / LEDGER_NAME) as ledger:
        (entry,) = [entry for entry in ledger.read() if entry.kind == "failed"]
    assert entry.body["evidence"]
    # What was finished is found again, without a shot.
    again = acquire(Lying(None), Y, 500, "aqka", directory=tmp_path)
    np.testing.assert_array_equal(again.table.hits, session.table.hits)


def test_whole_numbers_in_any_clothes_are_hits(tmp_path):
    for k, clothes in enumerate((list, tuple, lambda hits: hits.astype(float), np.ma.masked_array)):
        backend = MatrixBackend(KERNEL)
        collect = backend.collect
        backend.collect = lambda ticket, f=clothes, plain=collect: f(plain(ticket))
        session = acquire(backend, Y, 300, "aqka", directory=tmp_path / str(k))
        assert session.table.total == 300
        assert verify(tmp_path / str(k)).sound


@pytest.mark.parametrize(
    "partial",
    [
        (np.array([1]), np.array([1])),
        (None, None),
        ("ab", "cd"),
        (np.full(66, 10**6), np.zeros(66, dtype=int)),
        (3, 4),
    ],
)
def test_bad_partial_results_are_not_believed(tmp_path, partial):
    class Cut(Lying):
        def collect(self, ticket):
            self.collected += 1
            hits = super(Lying, self).collect(ticket)
            if self.collected == 2:
                raise JobError("cut", partial)
            return hits

    backend = Cut(None)
    with pytest.warns(RuntimeWarning, match="cut"):
        session = acquire(backend, Y, 500, "aqka", directory=tmp_path)
    assert verify(tmp_path).sound
    assert session.table.total + session.lost == 500 == backend.submitted


def test_a_run_whose_backend_always_lies_stops_within_its_budget(tmp_path):
    class Liar(Lying):
        def collect(self, ticket):
            super(Lying, self).collect(ticket)
            return -self.shots

    backend = Liar(None)
    with pytest.warns(RuntimeWarning), pytest.raises(JobError, match="3 rounds in a row"):
        acquire(backend, Y, 500, "aqka", directory=tmp_path)
    assert backend.submitted <= 500
    assert verify(tmp_path).sound


class Thief(Allocator):
    """Tries to make what was measured unmeasured."""

    schedule = Schedule(rounds=40)

    def __init__(self, theft):
        self.theft = theft

    def ask(self, table, problem, shots, rng):
        self.theft(table)
        answer = np.zeros(table.n_pairs, dtype=np.int64)
        answer[0] = shots
        return Allocation(answer)

    def describe(self):
        return "thief"


def in_place(table):
    table.shots[:] = 0


def by_adding(table):
    from aqka.core import ShotPlan

    table.add(ShotPlan([0], [1], [5]), [0])


def by_a_new_array(table):
    table.shots = np.zeros_like(table.shots)


def test_an_allocator_cannot_write_to_the_counts():
    with pytest.raises(ValueError, match="read-only"):
        acquire(MatrixBackend(KERNEL), Y, 1000, Thief(in_place))


@pytest.mark.parametrize("theft", [by_adding, by_a_new_array])
def test_an_allocator_that_changes_its_copy_of_the_table_gains_nothing(theft):
    backend = Lying(None)
    backend.collect = super(Lying, backend).collect
    session = acquire(backend, Y, 1000, Thief(theft))
    assert session.table.total == backend.submitted == 1000


def test_the_driver_counts_for_itself(tmp_path):
    backend = Lying(None)
    backend.collect = super(Lying, backend).collect

    def reset(session):
        session.table.shots[:] = 0  # a session that forgets what it has measured

    with pytest.raises(InputError, match="of its budget of 1000 have already run"):
        acquire(backend, Y, 1000, "aqka", on_round=reset)
    assert backend.submitted <= 1000


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n, shots: np.full(n, shots), "must return an Allocation, got ndarray"),
        (lambda n, shots: None, "must return an Allocation, got NoneType"),
        (lambda n, shots: Allocation(None), r"got shape \(\) and dtype object"),
        (lambda n, shots: Allocation([shots / n] * n), "and dtype float64"),
        (lambda n, shots: Allocation([2**62] * n), "must allocate exactly"),
    ],
)
def test_a_wrong_return_type_gets_a_clear_error(answer, message):
    class Wrong(Allocator):
        def ask(self, table, problem, shots, rng):
            return answer(table.n_pairs, shots)

    with pytest.raises(InputError, match=message):
        acquire(MatrixBackend(KERNEL), Y, 1000, Wrong())
