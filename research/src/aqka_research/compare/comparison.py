"""Allocators and learners side by side on a half of the task suite, with the shots they save."""

from collections.abc import Sequence

from aqka._util.arrays import FloatArray, as_count
from aqka.allocators import DEFAULT_ALLOCATOR, make_allocator
from aqka.backends import MatrixBackend
from aqka.errors import InputError
from aqka.learners import DEFAULT_LEARNER
from aqka.sessions import acquire
from aqka_research.compare.findings import Comparison
from aqka_research.compare.tasks import TASKS
from aqka_research.results import Results, Row
from aqka_research.spending import EXACT, MAJORITY, decision_row, exact_decision
from aqka_research.suite import SUITE, half_of_suite
from aqka_research.sweep.cells import RunCells, run_cells
from aqka_research.sweep.store import Cell, Result, stable_name
from aqka_research.tasks import Task

SHOTS_PER_PAIR = (0.3, 1.0, 3.0, 10.0, 30.0)
BASELINE_SHOTS_PER_PAIR = (0.1, *SHOTS_PER_PAIR, 100.0, 300.0, 1000.0)
"""Baselines are run further, to see how many shots they need to catch up."""

FIXED, TUNED = "uniform + ridge", "uniform + ridge-loo"
"""What libraries do today, and the same with a ridge chosen by leave-one-out on a wide grid."""
OURS = f"{DEFAULT_ALLOCATOR} + {DEFAULT_LEARNER}"
METHODS = (
    FIXED,
    TUNED,
    "uniform + ridge-kfold",
    OURS,
    "aqka + ridge",
    *(f"{name} + {DEFAULT_LEARNER}" for name in ("aqka", "leverage", "bernoulli", "shofar")),
)
OPTION = f"{DEFAULT_ALLOCATOR} + balanced"
"""For rare classes: another border between the classes, the same correlation."""
SEEDS = 10
QUICK_TASKS = ["moons, ZZ 2 qubits", "iris, RY-CZ 2 qubits, 60 points, half width, 50% positive"]


def tasks_of(half: str) -> list[str]:
    """Return the names of the tasks in a half.

    The eight that earlier choices were made on are development tasks, whatever their hash.
    """
    names = half_of_suite(half)
    return [*TASKS, *names] if half == "development" else names


@stable_name("aqka.comparison:measure")
def measure(cell: Cell) -> Result:
    """Measure one seed of one task: every method at every budget."""
    task = draw(cell["task"], cell["seed"])
    exact = exact_decision(task, "ridge-kfold")  # what all shots could buy
    rows: list[Row] = [
        {"method": EXACT} | decision_row(task, exact, exact),
        {
            "method": MAJORITY,
            "accuracy": task.majority_accuracy,
            "balanced_accuracy": 0.5,
            "correlation": 0.0,
        },
    ]
    by_allocator: dict[str, list[str]] = {}
    for method in cell.get("methods", METHODS):
        allocator, learner = method.split(" + ")
        by_allocator.setdefault(allocator, []).append(learner)
    for allocator, learners in by_allocator.items():
        wanted = set(cell["budgets"])
        if allocator == "uniform":
            wanted |= set(cell["baseline_budgets"])
        for per_pair in sorted(wanted):
            rows += _method_rows(task, allocator, learners, per_pair, cell, exact)
    return {"rows": rows}


def draw(name: str, seed: int) -> Task:
    """Return a task of the suite or one of the first eight."""
    if name in SUITE:
        return SUITE[name].draw(seed)
    if name in TASKS:
        return TASKS[name](seed)
    raise InputError(f"task must be one of the suite's {len(SUITE)} names, got {name!r}.")


def _method_rows(
    task: Task,
    allocator: str,
    learners: Sequence[str],
    per_pair: float,
    cell: Cell,
    exact: FloatArray,
) -> list[Row]:
    """Spend one budget, and read it in several ways."""
    n_points = len(task.y)
    session = acquire(
        MatrixBackend(task.kernel, seed=cell["seed"]),
        task.y,
        max(1, round(per_pair * n_points * (n_points - 1) / 2)),
        make_allocator(allocator),
        ridge=task.ridge,
        seed=cell["seed"],
    )
    rows = []
    for learner in learners:
        method = f"{allocator} + {learner}"
        if per_pair in cell["budgets"] or method in (FIXED, TUNED):
            decision = session.fit(learner).decision_function(task.test_kernel)
            row = decision_row(task, decision, exact)
            rows.append(row | {"method": method, "budget": per_pair})
    return rows


def compare(
    seeds: int = SEEDS,
    *,
    tasks: Sequence[str],
    methods: Sequence[str] | None = None,
    budgets: Sequence[float] = SHOTS_PER_PAIR,
    baseline_budgets: Sequence[float] = BASELINE_SHOTS_PER_PAIR,
    cells_of: RunCells = run_cells,
) -> Comparison:
    """Run the methods on every task and budget; see :func:`~aqka_research.sweep.cells.run_cells`.

    ``methods`` are written ``"allocator + learner"``; None takes all of :data:`METHODS`.
    """
    settings: Cell = {"budgets": list(budgets), "baseline_budgets": list(baseline_budgets)}
    if methods is not None:
        settings["methods"] = list(methods)
    cells: list[Cell] = [
        {"task": task, "seed": seed, **settings}
        for seed in range(as_count(seeds, "seeds"))
        for task in tasks
    ]
    found = cells_of(measure, cells)
    rows = [
        row | {"task": cell["task"], "seed": cell["seed"]}
        for cell, result in zip(cells, found, strict=True)
        for row in result["rows"]
    ]
    return Comparison(Results(rows, "fair"), list(tasks), list(budgets), TUNED)
