"""The entries of a ledger as lines of a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqka._util.arrays import exact_sum
from aqka._util.text import inert
from aqka.runs.audit import Audit
from aqka.runs.history import fold
from aqka.runs.ledger import Entry, Ledger, ledger_path

FINGERPRINT_SHOWN = ("budget", "points", "seed", "allocator")
MAX_FACTS = 12  # of one entry; ours have fewer


@dataclass(frozen=True)
class LedgerLine:
    """One entry in short: texts that are safe to print, none longer than 40 characters."""

    number: int
    time: str
    kind: str
    round: int | None
    facts: dict[str, str]


def list_entries(path: str | Path) -> tuple[list[LedgerLine], Audit]:
    """Return the entries that can be read, and what an audit says of the whole."""
    lines: list[LedgerLine] = []

    def note_lines(entries: Iterator[Entry]) -> Iterator[Entry]:
        for entry in entries:
            lines.append(_ledger_line(entry))
            yield entry

    with Ledger(ledger_path(path)) as ledger:
        return lines, Audit.of(fold(note_lines(ledger.entries()), keep_rounds=False))


def print_lines(lines: list[LedgerLine], console: Console) -> None:
    """Print one row per entry; nothing in it is taken for markup."""
    table = Table()
    table.add_column("entry", justify="right", no_wrap=True)
    table.add_column("time (UTC)", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("round", justify="right", no_wrap=True)
    table.add_column("facts")
    for line in lines:
        facts = ", ".join(f"{name} {value}" for name, value in line.facts.items())
        round = "" if line.round is None else str(line.round)
        cells = (str(line.number), line.time, line.kind, round, facts)
        table.add_row(*(Text(cell) for cell in cells))
    console.print(table)


def _ledger_line(entry: Entry) -> LedgerLine:
    return LedgerLine(entry.number, _time(entry.at), inert(entry.kind), entry.round, _facts(entry))


def _facts(entry: Entry) -> dict[str, str]:
    facts = {name: value for name, value in entry.body.items() if name != "fingerprint"}
    fingerprint = entry.body.get("fingerprint")
    if isinstance(fingerprint, dict):
        facts |= {name: fingerprint[name] for name in FINGERPRINT_SHOWN if name in fingerprint}
    for name, array in entry.arrays.items():
        # Of counts the sum says most, of points how many there are.
        is_count = name in ("shots", "hits")
        facts[name] = exact_sum(array) if is_count else array.size
    if "rows" in facts and "cols" in facts:
        del facts["cols"]
        facts["pairs"] = facts.pop("rows")
    # Ours are texts and numbers; anything else may be nested too deep to be written out.
    shown = [(name, value) for name, value in facts.items() if isinstance(value, str | int | float)]
    return {inert(name): inert(value) for name, value in shown[:MAX_FACTS]}


def _time(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "unknown"
