"""Tables that the tests of allocators start from."""

import numpy as np


def measured_table(problem, kernel, shots=200, seed=0):
    table = problem.new_table()
    table.shots[:] = shots
    table.hits = np.random.default_rng(seed).binomial(table.shots, table.condense(kernel))
    return table
