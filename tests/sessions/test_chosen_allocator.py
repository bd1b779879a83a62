"""Which allocator a run has that names none."""

import pytest

from aqka import InputError, MatrixBackend, acquire
from aqka.allocators import make_allocator
from aqka.allocators.aqka import Aqka
from aqka.core.defaults import DEFAULT_ALLOCATOR, FIRST_DEFAULT
from aqka.runs.ledger import LEDGER_NAME
from aqka.sessions.chosen_allocator import chosen_allocator
from tests.conftest import make_kernel, make_labels


def bought(directory, allocator):
    return acquire(
        MatrixBackend(make_kernel(6)), make_labels(6), 60, allocator, directory=directory
    )


def test_what_is_named_is_taken(tmp_path):
    bought(tmp_path / "first", FIRST_DEFAULT)
    assert chosen_allocator("aqka", tmp_path / "first") == Aqka()
    assert chosen_allocator(Aqka(floor=0.1)) == Aqka(floor=0.1)
    with pytest.raises(InputError, match="Did you mean 'uniform'"):
        chosen_allocator("unifrom")


def test_nothing_named_is_the_default_or_what_the_first_version_began(tmp_path):
    default, first = make_allocator(DEFAULT_ALLOCATOR), make_allocator(FIRST_DEFAULT)
    assert default != first
    for name in (FIRST_DEFAULT, "aqka", None):
        bought(tmp_path / str(name), name)
    assert chosen_allocator(None) == default
    assert chosen_allocator(None, tmp_path / "nothing there") == default
    assert chosen_allocator(None, tmp_path / FIRST_DEFAULT) == first
    assert chosen_allocator(None, tmp_path / "aqka") == default  # which is refused, by name
    assert chosen_allocator(None, tmp_path / "None") == default
    again = bought(tmp_path / FIRST_DEFAULT, None)  # goes on, and finds it finished
    assert again.allocator == first


def test_a_damaged_ledger_is_left_to_whoever_opens_it(tmp_path):
    (tmp_path / LEDGER_NAME).write_bytes(b"not a ledger")
    assert chosen_allocator(None, tmp_path) == make_allocator(DEFAULT_ALLOCATOR)
