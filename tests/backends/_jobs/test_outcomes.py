import numpy as np
import pytest
from qiskit.primitives import BitArray, DataBin, PrimitiveResult, SamplerPubResult

from aqka.backends._jobs.outcomes import DealtRows
from aqka.backends._jobs.rows import Chunk
from aqka.backends._tiles.deal import Deal, Sentinels
from aqka.errors import JobError

DEAL = Deal.of(4, 0, "t")
CHUNK = Chunk(np.arange(6), shots=5)


def result_of(slots, shots=5):
    """Outcomes that say in which slot they were seen, in every register."""
    tiles = np.repeat(np.arange(slots, dtype=np.uint8).reshape(-1, 4, 1), shots, axis=2)
    data = {f"q{k}": BitArray(tiles[:, k, :, np.newaxis].copy(), 8) for k in range(4)}
    return PrimitiveResult([SamplerPubResult(DataBin(**data, shape=(slots // 4,)))])


def test_rows_stand_side_by_side_and_are_read_back():
    dealt = DealtRows.of(CHUNK, 0, DEAL, None)
    values = np.arange(12.0).reshape(6, 2) + 1
    laid = dealt.side_by_side(values, values[:0])
    assert laid.shape == (2, 8)
    assert laid.reshape(8, 2)[dealt.slots].tolist() == values.tolist()
    assert (laid.reshape(8, 2).sum(axis=1) == 0).sum() == 2
    bits, seen = dealt.read(result_of(8), 8, "job")
    assert bits[:, 0, 0].tolist() == dealt.slots.tolist()
    assert seen is None


def test_sentinels_take_idle_slots_and_rows_of_their_own():
    dealt = DealtRows.of(CHUNK, 0, DEAL, Sentinels((7, 9), 8))
    assert len(dealt.sentinel_slots) == 2 + 2 * 2 * 4  # idle ones; two rows of five shots a point
    taken = np.concatenate([dealt.slots, dealt.sentinel_slots])
    assert sorted(taken.tolist()) == list(range(24))
    beside = -dealt.sentinel_points[:, np.newaxis] * np.ones(2)
    laid = dealt.side_by_side(np.ones((6, 2)), beside).reshape(24, 2)
    assert set(laid[dealt.sentinel_slots, 0].tolist()) == {-7.0, -9.0}
    _, seen = dealt.read(result_of(24), 8, "job")
    assert seen.names == ("q0", "q1", "q2", "q3")
    assert seen.shots.sum() == 5 * len(dealt.sentinel_slots)
    assert np.all(seen.shots >= 10)
    # Slot 0 alone shows all zeros, if it is a sentinel's.
    assert seen.hits.sum() == (5 if 0 in dealt.sentinel_slots else 0)


def test_only_the_first_job_has_sentinels():
    assert DealtRows.of(CHUNK, 1, DEAL, Sentinels((7,), 8)).sentinels is None


@pytest.mark.parametrize(("slots", "shots"), [(4, 5), (8, 4), (12, 5)])
def test_other_outcomes_than_sent_are_refused(slots, shots):
    with pytest.raises(JobError, match="2 rows of 5 shots; was it sent"):
        DealtRows.of(CHUNK, 0, DEAL, None).read(result_of(slots, shots), 8, "job")


def test_bits_beyond_the_qubits_are_refused():
    data = DataBin(meas=BitArray(np.full((6, 5, 1), 8, dtype=np.uint8), 3), shape=(6,))
    with pytest.raises(JobError, match="not those of 1 circuits of 3 qubits"):
        DealtRows.of(CHUNK, 0, None, None).read(PrimitiveResult([SamplerPubResult(data)]), 3, "job")
