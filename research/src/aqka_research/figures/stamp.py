"""What a page says about its own making: a comment for programs and a line for readers."""

import json
import os
import platform
import re
from pathlib import Path
from typing import Any

MARK = re.compile(r"\n*<!-- figures: (\{.*\}) -->\n*$")
LINE = re.compile(r"\n\n\*Computed with version [^\n]*\*(?=\n)")
CORES = {1: "one", 2: "two", 4: "four", 8: "eight"}


def machine() -> str:
    """Return the machine in general terms, such as "two x86-64 cores"."""
    count = os.cpu_count() or 1
    kind = platform.machine().lower().replace("_", "-") or "unknown"
    return f"{CORES.get(count, count)} {kind} core{'s' if count > 1 else ''}"


def read_stamp(path: Path) -> dict[str, Any] | None:
    """Return what a page says about its making; None where there is no page or no stamp."""
    found = MARK.search(path.read_text(encoding="utf-8")) if path.exists() else None
    return None if found is None else json.loads(found[1])


def body_of(text: str) -> str:
    """Return a page without its stamp."""
    return LINE.sub("", MARK.sub("\n", text), count=1)


def stamped(body: str, stamp: dict[str, Any]) -> str:
    """Return a page with its stamp: a line under the title, and a comment at the end."""
    title, _, rest = body.strip().partition("\n")
    mark = json.dumps(stamp, ensure_ascii=False)
    return f"{title}\n\n*{_sentence(stamp)}*\n{rest}\n\n<!-- figures: {mark} -->\n"


def _sentence(stamp: dict[str, Any]) -> str:
    parts = [f"Computed with version {stamp['version']} on {stamp['machine']}"]
    if stamp["seeds"]:
        parts.append(f"{len_text(stamp['seeds'])}")
    parts.append(f"{_minutes(stamp['minutes'])} of processor time")
    runs = stamp["confirmation_runs"]
    if runs:
        times = {1: "once", 2: "twice"}.get(runs, f"{runs} times")
        parts.append(f"confirmation tasks run {times}")
    if stamp["size"] != "full":
        parts.append(f"a {stamp['size']} run, not to be quoted")
    return "; ".join(parts) + "."


def len_text(seeds: str) -> str:
    """Return seeds in words."""
    return f"seed{'s' if not seeds.isdigit() else ''} {seeds}"


def seeds_text(seeds: set[int]) -> str:
    """Return seeds as ranges.

    Examples
    --------
    >>> seeds_text({0, 1, 2, 7})
    '0–2, 7'
    """
    ranges: list[list[int]] = []
    for seed in sorted(seeds):
        if ranges and seed == ranges[-1][1] + 1:
            ranges[-1][1] = seed
        else:
            ranges.append([seed, seed])
    return ", ".join(f"{a}–{b}" if a < b else f"{a}" for a, b in ranges)


def _minutes(minutes: float) -> str:
    return "under a minute" if minutes < 1 else f"{minutes:.0f} minute{'s' * (minutes >= 1.5)}"
