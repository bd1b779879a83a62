import numpy as np

from aqka.allocators import make_allocator
from aqka.core import PairTable


def test_random_is_multinomial_with_equal_weights():
    table = PairTable(30)
    shots = make_allocator("random").ask(table, None, 100_000, np.random.default_rng(0)).shots
    expected = 100_000 / table.n_pairs
    chi_square = np.sum((shots - expected) ** 2 / expected)
    # 434 degrees of freedom: mean 434, sd 29.5; five sd is a false alarm in 10^6.
    assert abs(chi_square - (table.n_pairs - 1)) < 5 * np.sqrt(2 * table.n_pairs)
