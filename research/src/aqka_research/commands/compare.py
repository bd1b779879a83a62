"""The command ``aqka compare``: parse, call, print."""

import json
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from aqka._util.progress_bar import progress_bar
from aqka.cli.options import AsJson, say
from aqka_research.commands.stopping import keeping_finished_cells

if TYPE_CHECKING:
    from aqka_research.compare.findings import Comparison
    from aqka_research.sweep.cells import RunCells
    from aqka_research.sweep.store import Result

CONTROL_SEEDS = 2  # data sets of each task on which classical models are scored


class Half(StrEnum):
    """The halves of the task suite."""

    development = "development"
    confirmation = "confirmation"


app = typer.Typer(add_completion=False)


@app.command(epilog="Example: aqka compare --quick")
def compare(
    half: Annotated[
        Half,
        typer.Option(
            help="Half of the task suite. Choices are made on development; a run of confirmation "
            "is counted."
        ),
    ] = Half.development,
    seeds: Annotated[int, typer.Option(min=2, help="Repetitions, each with other data.")] = 10,
    total: Annotated[
        bool,
        typer.Option(
            "--total", help="Points against pairs in total shots, training and prediction together."
        ),
    ] = False,
    prior: Annotated[
        bool,
        typer.Option("--prior", help="Predictions without shots: points with and without a prior."),
    ] = False,
    device: Annotated[
        str | None,
        typer.Option(
            help="With --total or --prior: a fake device whose noise counts have, as fake_fez."
        ),
    ] = None,
    paper: Annotated[
        bool,
        typer.Option("--paper", help="The paper's allocators side by side on two tasks, drawn."),
    ] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Two development tasks and budgets: does everything work?"),
    ] = False,
    out: Annotated[Path, typer.Option(help="Directory for results.")] = Path("comparison"),
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes to use; default: all cores.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare allocators and learners on a half of the task suite, at five budgets.

    A comparison that was stopped goes on where it was when the same command is given again. Give
    another --out after a change of the code: what is in there is not computed again.
    """
    from aqka._util.files import write_atomically
    from aqka.backends.runtime import fake_device
    from aqka_research.circuit_tasks import circuit_tasks, quick_tasks
    from aqka_research.compare.comparison import QUICK_TASKS, tasks_of
    from aqka_research.compare.prior import prior_tasks
    from aqka_research.figures.run_record import count_run
    from aqka_research.sweep.cells import run_cells

    if quick and half is Half.confirmation:
        raise typer.BadParameter("--quick is for development tasks; leave one of the two out.")
    if paper:
        compare_paper(seeds, out, as_json)
        return
    if total and prior:
        raise typer.BadParameter("--total and --prior are two comparisons; leave one out.")
    if device is not None:
        if not total and not prior:
            raise typer.BadParameter(
                "--device goes with --total or --prior; leave it out, or add one."
            )
        fake_device(device)  # or say that there is none, before anything is written
    kind = "total" if total else "prior" if prior else "comparison"
    parts = (out.name, None if kind == "comparison" else kind, device, "quick" if quick else half)
    directory = out.with_name("-".join(part for part in parts if part is not None))
    directory.mkdir(parents=True, exist_ok=True)
    store = directory / "results.jsonl"
    if total:
        tasks = quick_tasks()[:1] if quick else circuit_tasks(half, device)
    elif prior:
        groups = prior_tasks(half, device)
        tasks = [name for names in groups.values() for name in names[-1 if quick else 0 :]]
    else:
        tasks = QUICK_TASKS if quick else tasks_of(half)
    if half is Half.confirmation and not store.exists():
        count_run(directory, kind, half, seeds=seeds)
    page = directory / f"{kind}.md"
    with keeping_finished_cells(), progress_bar("comparing", len(tasks) * seeds) as bar:
        cells = partial(run_cells, store=store, workers=workers, on_cell=bar.advance)
        ways = {"total": partial(_totals, device=device), "prior": partial(_priors, device=device)}
        run = ways.get(kind, _comparison)
        blocks, facts, show = run(seeds, tasks, quick, half, page, cells)
    write_atomically(page, ("\n\n".join(blocks) + "\n").encode())
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    else:
        console = Console()
        show(console)
        console.print(f"Full tables: {page}", markup=False, highlight=False, soft_wrap=True)


def compare_paper(seeds: int, out: Path, as_json: bool) -> None:
    """Run the paper's allocators on two tasks, draw what they reach, and print a table of each."""
    from threadpoolctl import threadpool_limits

    from aqka_research.commands.comparison_table import paper_table
    from aqka_research.compare import paper

    out.mkdir(parents=True, exist_ok=True)
    # Matrices of a few hundred rows are faster on one BLAS thread than on several.
    with threadpool_limits(1), progress_bar("spending shots", paper.count_runs(seeds)) as bar:
        found = paper.run_demo(seeds, on_run=bar.advance)
    picture = out / "paper.png"
    paper.draw_demo(found, picture)
    if as_json:
        typer.echo(json.dumps(paper.demo_facts(found) | {"picture": str(picture)}, indent=2))
        return
    for task in found.majority:
        Console().print(paper_table(found, task))
        say(f"  The exact kernel has {found.true_diagnostics[task].advice}")
        say(f"  After these shots: {found.diagnostics[task].advice}\n")
    say(paper.ABOUT)
    say(f"Picture: {picture}")


def _comparison(
    seeds: int, tasks: list[str], quick: bool, half: str, page: Path, cells: "RunCells"
) -> tuple[list[str], object, partial[None]]:
    """Return the page, what --json prints, and what prints the rest."""
    from aqka_research.commands.comparison_table import print_comparison
    from aqka_research.compare import comparison
    from aqka_research.compare.page import comparison_blocks
    from aqka_research.suite import SUITE

    ours = comparison.METHODS
    found = comparison.compare(
        seeds,
        tasks=tasks,
        methods=ours if half == "confirmation" else (*ours, comparison.OPTION),
        budgets=(1.0, 10.0) if quick else comparison.SHOTS_PER_PAIR,
        baseline_budgets=(1.0, 10.0, 100.0) if quick else comparison.BASELINE_SHOTS_PER_PAIR,
        cells_of=cells,
    )
    control = _without_shots(page, [name for name in tasks if name in SUITE])
    return (
        comparison_blocks(found, half, control),
        _comparison_facts(found),
        partial(print_comparison, found),
    )


def _without_shots(page: Path, tasks: list[str]) -> dict[str, "Result"]:
    """Return what the best classical model and the majority class reach on each task."""
    from aqka_research.benchmarks.classical import controls
    from aqka_research.figures.page import PageRun

    return controls(PageRun(page, page.parent), tasks, CONTROL_SEEDS)


def _totals(
    seeds: int,
    tasks: list[str],
    quick: bool,
    half: str,
    page: Path,
    cells: "RunCells",
    device: str | None,
) -> tuple[list[str], object, partial[None]]:
    """Return the same of points against pairs."""
    from dataclasses import asdict

    from aqka_research.compare.total import LEVELS, POINT_LEVELS, compare_totals
    from aqka_research.compare.total_page import means, target_lines, total_blocks

    found = compare_totals(
        seeds,
        tasks=tasks,
        levels=LEVELS[::4] if quick else LEVELS,
        point_levels=POINT_LEVELS[::4] if quick else POINT_LEVELS,
        device=device,
        cells_of=cells,
    )
    control = _without_shots(page, tasks)

    def show(console: Console) -> None:
        for line in target_lines(found, device):
            console.print(f"- {line}", markup=False)

    blocks = total_blocks(found, page, half, device, control)
    return blocks, [asdict(mean) for mean in means(found)], partial(show)


def _priors(
    seeds: int,
    tasks: list[str],
    quick: bool,
    half: str,
    page: Path,
    cells: "RunCells",
    device: str | None,
) -> tuple[list[str], object, partial[None]]:
    """Return the same of predictions with and without the prior."""
    from aqka_research.circuit_tasks import by_kind
    from aqka_research.compare.prior import LEVELS, compare_priors
    from aqka_research.compare.prior_page import prior_blocks, verdicts

    levels = LEVELS[:2] if quick else LEVELS
    found = compare_priors(by_kind(tasks), seeds, levels=levels, device=device, cells_of=cells)
    facts = [{"what": text, "reached": reached} for text, reached in verdicts(found)]

    def show(console: Console) -> None:
        for fact in facts:
            word = "reached" if fact["reached"] else "not reached"
            console.print(f"- {fact['what']}: {word}.", markup=False)

    return prior_blocks(found, half, device), facts, partial(show)


def _comparison_facts(found: "Comparison") -> dict[str, object]:
    from aqka_research.compare.page import HEADINGS, aims, overall_rows

    return {
        "means": [dict(zip(HEADINGS, row, strict=True)) for row in overall_rows(found)],
        "aims": [
            {"what": aim.what, "found": aim.found, "target": aim.target, "reached": aim.reached}
            for aim in aims(found)
        ],
        "rows": found.results.rows,
    }
