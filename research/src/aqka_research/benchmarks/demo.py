"""The page of the demo: Iris from the usual way to ours, one step at a time."""

import numpy as np

from aqka.demo.iris import RATE, SEED, STEPS, draw_iris, run_iris
from aqka.planning.budget import duration
from aqka_research.benchmarks.iris import controls
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error, table

SEEDS = 5


def page(run: PageRun) -> list[str]:
    """Run the demo, and write what ``aqka demo`` prints."""
    seeds = run.pick(SEEDS, 1, 1)
    run.seeds.update(range(SEED, SEED + seeds))
    demo = run_iris(seeds, on_run=lambda _: None)
    picture = run.path.with_name("demo.png")
    draw_iris(demo, picture)
    rows: list[tuple[str, ...]] = []
    before = np.inf
    for step in STEPS:
        bill = demo.bill(step.name)
        cells = (f"{bill.shots:,}", f"{bill.executions:,}", str(bill.jobs), duration(bill.seconds))
        rows.append(
            (
                step.name,
                f"{demo.mean(step.name)[0]:.1%}",
                *cells,
                f"${bill.cost:,.0f}",
                "" if np.isinf(before) else f"{before / bill.seconds:.1f} ×",
            )
        )
        before = bill.seconds
    free = ("0", "0", "0", "0 s", "$0", "")
    rows.append(("exact kernel", f"{np.mean(demo.exact):.1%}", *[""] * 6))
    # The splits of the demo, and of Iris with the same seeds, are the same.
    svm = {"SVM with default settings": demo.plain_svm}
    for name, found in (svm | controls(run, range(SEED, SEED + seeds), svm)).items():
        rows.append((name, f"{np.mean(found):.1%}", *free))
    heading = ("step", "accuracy", "shots", "executions", "jobs", "QPU time", "price", "speed-up")
    error = max(demo.mean(step.name)[1] for step in STEPS)
    return [
        "# The demo",
        f"What `aqka demo` finds on {seeds} splits of Iris: 100 training and 50 new points, three "
        "classes, four qubits. Each step differs from the one before it in one thing. Shots are "
        "simulated without noise; their number was fixed in advance. QPU time is by IBM's "
        f"formula, 2 s a job and about 350 µs an execution; ${RATE:g} a minute was IBM's "
        "pay-as-you-go list price in May 2026. The best classical model is chosen in hindsight."
        + (f" Accuracies have standard errors of at most {error:.1%}." if seeds > 1 else ""),
        table(heading, rows),
        "Accuracy of the SVM minus that of the exact kernel, split by split: "
        f"{mean_and_error(np.subtract(demo.plain_svm, demo.exact), '+.1%')}. The SVM needs no "
        "shots.",
        f"![QPU time of each step]({picture.name})",
    ]
