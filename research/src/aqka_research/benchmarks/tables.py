"""Markdown tables, and where the measured pages are."""

from collections.abc import Sequence
from pathlib import Path

MEASURED = Path(__file__).parents[4] / "docs" / "measured"


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
