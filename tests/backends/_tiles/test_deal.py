import numpy as np
import pytest
from scipy.stats import chisquare

from aqka import InputError
from aqka.backends._tiles.deal import Deal, spread_quantum


def test_every_row_has_a_slot_of_its_own_and_only_the_last_row_has_idle_ones():
    requests = np.repeat(np.arange(13), 3)
    deal = Deal.of(5, seed=1, tag="t")
    slots = deal.slots(requests, job=0)
    assert len(set(slots.tolist())) == 39
    rows = np.bincount(slots // 5)
    assert rows.tolist() == [5] * 7 + [4]


def test_the_copies_of_a_request_are_on_different_tiles():
    copies = np.random.default_rng(0).integers(1, 11, size=50)
    requests = np.repeat(np.arange(50), copies)
    slots = Deal.of(10, seed=1, tag="t").slots(requests, job=0)
    for request in range(50):
        tiles = slots[requests == request] % 10
        assert len(set(tiles.tolist())) == copies[request]


def test_who_meets_whom_is_even():
    deals = [Deal.of(6, seed=0, tag=f"t{k}").slots(np.arange(9), job=0) % 6 for k in range(2000)]
    for request in range(9):
        counts = np.bincount([tiles[request] for tiles in deals], minlength=6)
        assert chisquare(counts).pvalue > 1e-4


def test_the_deal_is_a_function_of_seed_tag_and_job():
    requests = np.arange(30)
    slots = Deal.of(7, 3, "tag").slots(requests, 0).tolist()
    assert Deal.of(7, 3, "tag").slots(requests, 0).tolist() == slots
    for other in (Deal.of(7, 4, "tag"), Deal.of(7, 3, "gat"), Deal.of(6, 3, "tag")):
        assert other.slots(requests, 0).tolist() != slots
    assert Deal.of(7, 3, "tag").slots(requests, 1).tolist() != slots


def test_the_deal_stays_what_it_was():
    """Tickets are read by later versions, too."""
    assert Deal(4, (1, 2)).slots([0, 0, 1, 1, 2, 2, 2], 0).tolist() == [7, 4, 1, 6, 2, 3, 0]


def test_a_deal_is_read_back():
    deal = Deal.of(21, seed=5, tag="round 3")
    assert Deal.decode(deal.encode()) == deal
    for bad in ("", "3", "x-1-2", "3-1-2-4"):
        with pytest.raises(InputError, match="no readable deal"):
            Deal.decode(bad)


@pytest.mark.parametrize("divisor", [1, 2, 6, 7, 30, 64, 97, 100, 1024])
@pytest.mark.parametrize("n_tiles", [2, 5, 20])
def test_a_row_has_a_divisor_of_the_shots(divisor, n_tiles):
    quantum = spread_quantum(divisor, n_tiles)
    assert divisor % quantum == 0
    assert divisor // quantum <= n_tiles
