import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aqka import InputError
from aqka.backends._jobs import rows
from aqka.backends._jobs.rows import JobShape, Layout

SHOTS = st.lists(st.integers(0, 300), max_size=30)


def executions(chunk):
    return len(chunk.plan_rows) * chunk.shots


def laid_out(shots, limit, **shape):
    """A layout where a job may run fewer executions than IBM's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "MAX_EXECUTIONS", limit)
        return JobShape(**shape).layout(shots)


@settings(max_examples=60, deadline=None)
@given(SHOTS, st.one_of(st.none(), st.integers(1, 40)), st.integers(40, 2000), st.integers(1, 500))
def test_rows_of_each_pair_sum_to_its_shots(shots, quantum, max_executions, max_rows):
    layout = laid_out(shots, max_executions, quantum=quantum, max_rows=max_rows)
    chunks = layout.chunks()
    total = np.zeros(len(shots), dtype=int)
    for chunk in chunks:
        assert 0 < len(chunk.plan_rows) <= max_rows
        assert executions(chunk) <= max_executions
        total += np.bincount(chunk.plan_rows, minlength=len(shots)) * chunk.shots
    assert total.tolist() == shots


@settings(max_examples=60, deadline=None)
@given(SHOTS, st.one_of(st.none(), st.integers(1, 40)), st.integers(0, 2**32 - 1))
def test_row_hits_come_back_as_pair_hits(shots, quantum, seed):
    """Hits drawn shot by shot and summed per pair equal what the rows give."""
    layout = laid_out(shots, 200, quantum=quantum)
    rng = np.random.default_rng(seed)
    expected = np.zeros(len(shots), dtype=int)
    total = np.zeros(len(shots), dtype=int)
    for chunk in layout.chunks():
        hits = rng.integers(0, chunk.shots + 1, len(chunk.plan_rows))
        for pair, count in zip(chunk.plan_rows, hits, strict=True):
            expected[pair] += count
        total += chunk.per_plan_row(hits, len(shots))
    assert total.tolist() == expected.tolist()


@settings(max_examples=100, deadline=None)
@given(SHOTS, st.one_of(st.none(), st.integers(1, 40)))
def test_encoding_is_lossless(shots, quantum):
    layout = laid_out(shots, 1000, quantum=quantum, max_rows=77)
    again = Layout.decode(layout.encode())
    assert again.shots.tolist() == layout.shots.tolist()
    assert (again.quantum, again.max_executions, again.max_rows) == (layout.quantum, 1000, 77)


def test_automatic_quantum_is_the_common_divisor_and_one_job():
    layout = JobShape().layout([12, 18, 0, 6])
    assert layout.quantum == 6
    assert [chunk.shots for chunk in layout.chunks()] == [6]


def test_given_quantum_leaves_the_rest_to_a_second_job():
    chunks = JobShape(quantum=5).layout([17, 5, 9]).chunks()
    assert [(chunk.plan_rows.tolist(), chunk.shots) for chunk in chunks] == [
        ([0, 0, 0, 1, 2], 5),
        ([0, 2, 2], 2),
    ]


def test_too_many_rows_are_fewer_with_a_larger_quantum():
    """100,000 single shots as rows of one would be five jobs."""
    shots = np.random.default_rng(0).integers(20, 81, 2000)
    layout = JobShape(max_rows=20_000).layout(shots)
    assert layout.quantum > 1
    assert len(layout.chunks()) == 2
    assert sum(executions(chunk) for chunk in layout.chunks()) == shots.sum()


def test_one_pair_with_more_shots_than_a_job_may_run():
    layout = JobShape().layout([25_000_000])
    chunks = layout.chunks()
    assert sum(executions(chunk) for chunk in chunks) == 25_000_000
    assert max(executions(chunk) for chunk in chunks) <= 10_000_000
    assert len(chunks) == 3


def test_a_prime_count_above_the_limit_of_a_row():
    assert laid_out([1009], 1000).quantum == 1
    layout = laid_out([1_000_003], 2_000_000)
    assert len(layout.chunks()) == 2
    assert sum(len(chunk.plan_rows) for chunk in layout.chunks()) < 100


def test_empty_plans_are_no_jobs():
    for shots in ([], [0, 0]):
        layout = JobShape().layout(shots)
        assert layout.chunks() == []
        assert layout.shots.tolist() == shots


def test_hundred_thousand_rows_are_quick_and_encode_short():
    shots = np.random.default_rng(0).integers(0, 4, 100_000)
    layout = JobShape().layout(shots)
    hits = [
        chunk.per_plan_row(np.ones(len(chunk.plan_rows)), len(shots)) for chunk in layout.chunks()
    ]
    assert sum(hits).tolist() == shots.tolist()
    assert len(layout.encode()) < 100_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, -1],), "must not be negative"),
        (([1.5],), "whole numbers"),
    ],
)
def test_bad_shots(arguments, message):
    with pytest.raises(InputError, match=message):
        JobShape().layout(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quantum": 0}, "quantum must be a whole number of at least 1"),
        ({"quantum": 10_000_001}, "lower quantum"),
        ({"max_rows": 0}, "max_rows"),
        ({"quantum": 2, "free_shots": True}, "free_shots"),
    ],
)
def test_bad_shapes(arguments, message):
    with pytest.raises(InputError, match=message):
        JobShape(**arguments)


@settings(max_examples=100, deadline=None)
@given(SHOTS, st.integers(300, 5000), st.integers(0, 2**32 - 1))
def test_free_shots_count_the_first_ones(shots, max_executions, seed):
    layout = laid_out(shots, max_executions, free_shots=True)
    rng = np.random.default_rng(seed)
    expected = np.zeros(len(shots), dtype=int)
    total = np.zeros(len(shots), dtype=int)
    for chunk in layout.chunks():
        assert executions(chunk) <= max_executions
        zeros = rng.random((len(chunk.plan_rows), chunk.shots)) < 0.5
        for pair, row in zip(chunk.plan_rows, zeros, strict=True):
            expected[pair] = row[: shots[pair]].sum()
        total += chunk.per_plan_row(chunk.hits(zeros), len(shots))
    assert total.tolist() == expected.tolist()
    assert Layout.decode(layout.encode()).quantum == layout.quantum


def test_more_outcomes_than_asked_for_are_not_counted():
    (chunk,) = JobShape(quantum=2).layout([2]).chunks()
    assert chunk.hits(np.ones((1, 5), dtype=bool)).tolist() == [2]


def test_unreadable_layout():
    with pytest.raises(InputError, match="readable layout"):
        Layout.decode("nonsense")


@pytest.mark.parametrize("shots", [499, 500, 521, 26, 2, 10_000_019])
@pytest.mark.parametrize("tiles", [1, 2, 26])
def test_on_all_tiles_the_copies_of_a_row_are_enough_for_most_of_them(shots, tiles):
    """A prime number of shots among them, which no number of copies divides."""
    layout = JobShape().layout([shots, shots], tiles, on_all_tiles=True)
    chunks = layout.chunks()
    assert sum(chunk.per_plan_row(chunk.row_shots(), 2) for chunk in chunks).tolist() == [shots] * 2
    copies = sum(np.count_nonzero(chunk.plan_rows == 0) for chunk in chunks)
    assert 2 * copies >= min(tiles, shots)
