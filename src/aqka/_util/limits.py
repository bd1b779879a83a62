"""How much a file may ask for that anyone may have made: one limit for all that reads files.

A few bytes can stand for many: compressed zeros, a table with a billion rows of nothing, a text
that is stored once and meant a million times. So sizes are taken from headers and checked against
these before anything is built.
"""

import math

MAX_UNPACKED_BYTES = 2**30
"""What a file, or one entry of a ledger, may unpack to."""

BYTES_PER_PAIR = 24
"""What a pair takes in a ledger's plan, its row, column and shots; in a table it takes 16."""

MAX_PAIRS = MAX_UNPACKED_BYTES // BYTES_PER_PAIR
"""Pairs that a table may have, so that a plan of all of them can be written and read back."""

MAX_POINTS = math.isqrt(2 * MAX_PAIRS) - 1
"""Training points, each with itself and every other a pair, that make no more pairs than that."""

MAX_FILE_BYTES = 64 * 2**20
"""Of a file with a table, as it is stored."""
MAX_ROWS = 10**6
MAX_COLUMNS = 10_000
MAX_CELLS = 2 * 10**7
"""Numbers that a table may have, and characters that a column of texts may take."""
