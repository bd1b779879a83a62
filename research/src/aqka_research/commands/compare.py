"""The command ``aqka compare``: parse, call, print."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from aqka._util.progress_bar import progress_bar
from aqka.cli.options import AsJson, say
from aqka_research.commands.stopping import keeping_finished_cells

if TYPE_CHECKING:
    from aqka_research.compare.findings import Comparison

QUICK_TASKS = ("moons, ZZ 2 qubits", "iris, RY-CZ 2 qubits, 60 points, half width, 50% positive")


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
    report: Annotated[
        Path | None, typer.Option(help="Where the page goes; default: in the directory.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes to use; default: all cores.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare allocators and learners on a half of the task suite, at five budgets.

    A comparison that was stopped goes on where it was when the same command is given again. Give
    another --out after a change of the code: what is in there is not computed again.
    """
    from aqka_research.commands.comparison_table import print_comparison
    from aqka_research.compare.comparison import (
        BASELINE_SHOTS_PER_PAIR,
        METHODS,
        OPTION,
        OURS,
        SHOTS_PER_PAIR,
        tasks_of,
    )
    from aqka_research.compare.comparison import compare as run
    from aqka_research.compare.page import write_comparison
    from aqka_research.compare.run_count import count_run, runs_so_far

    if quick and half is Half.confirmation:
        raise typer.BadParameter("--quick is for development tasks; leave one of the two out.")
    if paper:
        compare_paper(seeds, out, as_json)
        return
    if total and prior:
        raise typer.BadParameter("--total and --prior are two comparisons; leave one out.")
    if total or prior:
        run_it = compare_total if total else compare_prior
        run_it(half, seeds, device, quick, out, report, workers, as_json)
        return
    if device is not None:
        raise typer.BadParameter("--device goes with --total or --prior; leave it out, or add one.")
    tasks = list(QUICK_TASKS) if quick else tasks_of(half)
    directory = out.with_name(f"{out.name}-{'quick' if quick else half}")
    directory.mkdir(parents=True, exist_ok=True)
    store = directory / "results.jsonl"
    page = report or directory / "comparison.md"
    if half is Half.confirmation and not store.exists():
        count_run(page, OURS, seeds, len(tasks))
    with keeping_finished_cells(), progress_bar("comparing", len(tasks) * seeds) as bar:
        found = run(
            seeds,
            tasks=tasks,
            methods=METHODS if half is Half.confirmation else (*METHODS, OPTION),
            budgets=(1.0, 10.0) if quick else SHOTS_PER_PAIR,
            baseline_budgets=(1.0, 10.0, 100.0) if quick else BASELINE_SHOTS_PER_PAIR,
            store=store,
            workers=workers,
            on_cell=bar.advance,
        )
    write_comparison(found, page, half, len(runs_so_far(page)))
    if as_json:
        typer.echo(json.dumps(_comparison_facts(found), indent=2))
    else:
        print_comparison(found, page, Console())


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


def compare_total(
    half: Half,
    seeds: int,
    device: str | None,
    quick: bool,
    out: Path,
    report: Path | None,
    workers: int | None,
    as_json: bool,
) -> None:
    """Run points against pairs, write the page, and print what was asked and found."""
    from dataclasses import asdict

    from aqka.backends.runtime import fake_device
    from aqka_research.compare.run_count import count_run, runs_so_far
    from aqka_research.compare.total import (
        LEVELS,
        POINT_LEVELS,
        compare_totals,
        total_tasks,
    )
    from aqka_research.compare.total_page import asked_lines, means, write_totals

    if device is not None:
        fake_device(device)  # or say that there is none, before anything is written
    tasks = [QUICK_TASKS[1]] if quick else total_tasks(half, device)
    parts = (out.name, "total", device, "quick" if quick else half)
    directory = out.with_name("-".join(part for part in parts if part is not None))
    directory.mkdir(parents=True, exist_ok=True)
    store, page = directory / "results.jsonl", report or directory / "total.md"
    if half is Half.confirmation and not store.exists():
        count_run(page, "points, the same shots each", seeds, len(tasks))
    with keeping_finished_cells(), progress_bar("comparing", len(tasks) * seeds) as bar:
        found = compare_totals(
            seeds,
            tasks=tasks,
            levels=LEVELS[::4] if quick else LEVELS,
            point_levels=POINT_LEVELS[::4] if quick else POINT_LEVELS,
            device=device,
            store=store,
            workers=workers,
            on_cell=bar.advance,
        )
    write_totals(found, page, half, len(runs_so_far(page)), device)
    if as_json:
        typer.echo(json.dumps([asdict(mean) for mean in means(found)], indent=2))
    else:
        console = Console()
        for line in asked_lines(found, device):
            console.print(f"- {line}", markup=False)
        console.print(f"The page: {page}", markup=False, soft_wrap=True)


def compare_prior(
    half: Half,
    seeds: int,
    device: str | None,
    quick: bool,
    out: Path,
    report: Path | None,
    workers: int | None,
    as_json: bool,
) -> None:
    """Run predictions with and without the prior, write the page, and print what holds."""
    from aqka.backends.runtime import fake_device
    from aqka_research.compare.prior import LEVELS, compare_priors, prior_tasks
    from aqka_research.compare.prior_page import verdicts, write_prior
    from aqka_research.compare.run_count import count_run, runs_so_far

    if device is not None:
        fake_device(device)  # or say that there is none, before anything is written
    groups = prior_tasks(half, device)
    if quick:
        groups = {group: names[-1:] for group, names in groups.items()}
    count = sum(map(len, groups.values()))
    parts = (out.name, "prior", device, "quick" if quick else half)
    directory = out.with_name("-".join(part for part in parts if part is not None))
    directory.mkdir(parents=True, exist_ok=True)
    store, page = directory / "results.jsonl", report or directory / "prior.md"
    if half is Half.confirmation and not store.exists():
        count_run(page, "prior on gate angles, training states as prior", seeds, count)
    with keeping_finished_cells(), progress_bar("comparing", count * seeds) as bar:
        found = compare_priors(
            groups,
            seeds,
            levels=LEVELS[:2] if quick else LEVELS,
            device=device,
            store=store,
            workers=workers,
            on_cell=bar.advance,
        )
    write_prior(found, page, half, len(runs_so_far(page)), device)
    facts = [{"what": text, "met": met} for text, met in verdicts(found)]
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    console = Console()
    for fact in facts:
        console.print(f"- {fact['what']}: {'met' if fact['met'] else 'not met'}.", markup=False)
    console.print(f"The page: {page}", markup=False, soft_wrap=True)


def _comparison_facts(found: "Comparison") -> dict[str, object]:
    from aqka_research.compare.page import HEADINGS, aims, overall_rows

    return {
        "means": [dict(zip(HEADINGS, row, strict=True)) for row in overall_rows(found)],
        "aims": [
            {"what": aim.what, "found": aim.found, "asked": aim.asked, "met": aim.met}
            for aim in aims(found)
        ],
        "rows": found.results.rows,
    }
