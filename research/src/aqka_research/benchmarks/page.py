"""The page of benchmarks: agreement, speed and memory, each beside a target or another library."""

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

from aqka_research.benchmarks import agreement, kernels, load, noisy, points, speed
from aqka_research.benchmarks.bars import Bar, bar_table
from aqka_research.figures.page import PageRun
from aqka_research.markdown import table

SECTIONS: dict[str, Callable[[PageRun], list[Bar]]] = {
    "Speed and memory of the core": speed.measure,
    "CPU time of a study, one thread": load.measure,
    "Exact kernels, one thread": kernels.measure,
    "Noisy kernels, one thread": noisy.measure,
    "Points": points.measure,
}
SEEDS = range(4)
"""What the sections draw their points and shots with."""
PEERS = ("qiskit", "qiskit-aer", "qiskit-machine-learning", "pennylane", "squlearn", "qulacs")


def page(run: PageRun) -> list[str]:
    """Measure, and write the page."""
    run.seeds.update(SEEDS)
    checks = [check() for check in agreement.CHECKS[: run.pick(None, 3, 1)]]
    blocks = [
        "# Benchmarks",
        "Times beside another library are the best of several turns; exact kernels of ours, which "
        f"take milliseconds, are the mean of {kernels.IN_A_ROW} in each turn. Whole commands and "
        "large runs are timed once. Compare the ratios, not the seconds. Elsewhere: [Gaussian "
        "processes, ridges and projected kernels beside sQUlearn](models.md), [alignment beside "
        f"Qiskit's trainer](alignment.md). Versions: {_versions()}.",
        "## Agreement with independent computations",
        table(
            ("what", "against", "largest relative error", "allowed"),
            [(c.what, c.against, f"{c.error:.1e}", f"{c.allowed:.1e}") for c in checks],
        ),
    ]
    for title, measure in SECTIONS.items():
        blocks += [f"## {title}", bar_table(measure(run))]
    return blocks


def _versions() -> str:
    found = []
    for name in PEERS:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} (not installed)")
    return ", ".join(found)
