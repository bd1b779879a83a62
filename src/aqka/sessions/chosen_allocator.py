"""The allocator of a run that names none: the default, or what version 0.1.0 began it with."""

from pathlib import Path

from aqka.allocators import Allocator, make_allocator
from aqka.core.defaults import DEFAULT_ALLOCATOR, FIRST_DEFAULT
from aqka.errors import LedgerError
from aqka.runs.ledger import LEDGER_NAME, Ledger


def chosen_allocator(
    allocator: str | Allocator | None, directory: str | Path | None = None
) -> Allocator:
    """Return the allocator that is named, or the default.

    Where nothing is named and the directory holds a run that the default of version 0.1.0 began,
    it is that one: the run goes on to the same bits, and no shot is bought twice.
    """
    if allocator is not None:
        return make_allocator(allocator)
    first = make_allocator(FIRST_DEFAULT)
    return first if _began(first, directory) else make_allocator(DEFAULT_ALLOCATOR)


def _began(allocator: Allocator, directory: str | Path | None) -> bool:
    """Return whether the directory holds a run that was begun with an allocator."""
    path = Path(directory or ".") / LEDGER_NAME
    if directory is None or not path.exists():
        return False
    try:
        with Ledger(path) as ledger:
            first = next(ledger.entries(), None)
    except LedgerError:  # whoever opens it to go on says what is wrong with it
        return False
    facts = {} if first is None else first.body.get("fingerprint")
    return isinstance(facts, dict) and facts.get("allocator") == allocator.describe()
