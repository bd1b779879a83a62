import numpy as np

from aqka.allocators import make_allocator
from aqka.core import PairTable


def test_uniform_is_equal_and_spreads_its_remainder_at_random():
    table = PairTable(20)
    plan = make_allocator("uniform").ask(table, None, 190 * 3 + 50, np.random.default_rng(0))
    assert sorted(set(plan.shots.tolist())) == [3, 4]
    rows, cols = table.pairs(np.flatnonzero(plan.shots == 4))
    assert len(np.unique(np.concatenate([rows, cols]))) > 15  # not only the first points
