"""Measure everything and write docs/benchmarks.md."""

import os
import platform
from datetime import date
from pathlib import Path

from benchmarks import agreement, speed

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def machine() -> str:
    """Return the machine in general terms."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores {platform.machine()}, {memory:.0f} GiB, {platform.system()}"


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Measure, print as it goes, and write the page."""
    checks = []
    for check in agreement.CHECKS:
        checks.append(check())
        print(checks[-1], flush=True)
    bars = speed.measure()
    for bar in bars:
        print(bar, flush=True)
    sections = [
        "# Benchmarks",
        f"Written by `make bench` on {date.today()} ({machine()}, Python "
        f"{platform.python_version()}). Times are the best of several, taken in turn; read the "
        "ratios, not the seconds.",
        "## Agreement with independent computations",
        table(
            ("what", "against", "largest relative error", "allowed"),
            [(c.what, c.against, f"{c.error:.1e}", f"{c.allowed:.1e}") for c in checks],
        ),
        "## Speed and memory of the core",
        table(
            ("what", "measured", "asked", "met"),
            [(b.what, b.measured, b.asked, "yes" if b.met else "**no**") for b in bars],
        ),
    ]
    PAGE.write_text("\n\n".join(sections) + "\n")
    print(f"wrote {PAGE.name}")


if __name__ == "__main__":
    main()
