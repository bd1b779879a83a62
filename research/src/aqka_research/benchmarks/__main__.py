"""Measure everything and write docs/measured/benchmarks.md."""

import os
import platform
from datetime import date

from aqka_research.benchmarks import agreement, kernels, load, noisy, points, prediction, speed
from aqka_research.benchmarks.bars import bar_table
from aqka_research.benchmarks.tables import MEASURED, table

SECTIONS = {
    "Speed and memory of the core": speed,
    "CPU time of a study, one thread": load,
    "Exact kernels, one thread": kernels,
    "Noisy kernels, one thread": noisy,
    "Points": points,
    "Shots for prediction": prediction,
}
PAGE = MEASURED / "benchmarks.md"


def machine() -> str:
    """Return the machine in general terms."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores {platform.machine()}, {memory:.0f} GiB, {platform.system()}"


def main() -> None:
    """Measure and write the page."""
    checks = []
    for check in agreement.CHECKS:
        checks.append(check())
        print(checks[-1], flush=True)
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
    ]
    for title, module in SECTIONS.items():
        bars = module.measure()
        for bar in bars:
            print(bar, flush=True)
        sections += [f"## {title}", bar_table(bars)]
    PAGE.write_text("\n\n".join(sections) + "\n")
    print(f"wrote {PAGE.name}")


if __name__ == "__main__":
    main()
