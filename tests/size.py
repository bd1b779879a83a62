"""How large the installed package is, and how often it asks which design it has; `make check`.

A design is asked, not tested for: code outside ``aqka.designs`` that switches on pairs or points
is counted, so that a new capability finds its place in the one mechanism.
"""

import re
import statistics
import sys
from pathlib import Path

MOST_LINES, MOST_FILES, MOST_SWITCHES = 36_000, 203, 14  # each may only fall
SOURCE = Path(__file__).parents[1] / "src" / "aqka"
DESIGN_TYPES = (
    "Pairs|Points|PairEstimate|PointEstimate|StateEstimate|ReducedEstimate|PairTable|PointTable|"
    "BlockTable|ShotPlan|OutcomePlan|PointPlan|CalibrationPlan"
)
SWITCH = re.compile(
    rf"isinstance\([^()]*\b({DESIGN_TYPES})\b|design(\.name)? *(==|!=)|\.pauli is (not )?None"
    r"|\bcounts_entries\b|\bin \(\"pairs\", \"points\"\)"
)


def count() -> tuple[dict[str, int], list[str]]:
    """Return lines, files, the median file and design switches, and where the switches are."""
    files = {path: path.read_text().splitlines() for path in SOURCE.rglob("*.py")}
    lengths = [len(lines) for lines in files.values()]
    switches = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path, lines in sorted(files.items())
        if "designs" not in path.parts
        for number, line in enumerate(lines, 1)
        if SWITCH.search(line)
    ]
    figures = {
        "lines": sum(lengths),
        "files": len(lengths),
        "median lines of a file": int(statistics.median(lengths)),
        "design switches outside designs": len(switches),
    }
    return figures, switches


def main() -> int:
    """Print the figures; fail where one is above its limit."""
    figures, switches = count()
    print("Installed package:", ", ".join(f"{value:,} {name}" for name, value in figures.items()))
    lines, files, _, switching = figures.values()
    if switching > MOST_SWITCHES:
        print("\n".join(switches))
    return int(lines > MOST_LINES or files > MOST_FILES or switching > MOST_SWITCHES)


if __name__ == "__main__":
    sys.exit(main())
