"""A quote as a table: each figure and how it came about."""

from rich.console import Console
from rich.table import Table

from aqka.planning.budget import duration
from aqka.planning.device import DeviceModel
from aqka.planning.quotes import Quote


def print_quote(quote: Quote, device: DeviceModel, rate: float | None, console: Console) -> None:
    """Print the figures with their notes, then warnings and advice."""
    table = Table(title=f"{quote.n_points} points, {quote.shots:,} shots")
    table.add_column("figure", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("how")
    for row in quote_rows(quote, device, rate):
        table.add_row(*row)
    console.print(table)
    if quote.parts:
        console.print(_whole_bill(quote))
    for title, sentences in (("Warning", quote.warnings), ("Advice", quote.advice)):
        for sentence in sentences:
            console.print(f"{title}: {sentence}", highlight=False, markup=False, soft_wrap=True)
    if quote.split:
        console.print(f"Split: {quote.split}", highlight=False, markup=False, soft_wrap=True)
    of = "everything above" if quote.parts else "the training kernel alone; predictions are extra"
    console.print(
        f"An estimate of {of}. Constants and their sources: --json.",
        highlight=False,
        soft_wrap=True,
    )


def _whole_bill(quote: Quote) -> Table:
    """Return training, predictions and all the rest, and what they come to."""
    table = Table(title="the whole bill, at most")
    for heading in ("part", "shots", "jobs", "QPU time", "cost"):
        table.add_column(heading, justify="left" if heading == "part" else "right", no_wrap=True)
    per_second = None if quote.cost is None else quote.cost / quote.qpu_seconds
    parts = [("training", quote.shots, quote.jobs, quote.qpu_seconds)]
    parts += [(part.name, part.shots, part.jobs, part.qpu_seconds) for part in quote.parts]
    parts.append(("in all", quote.total_shots, quote.total_jobs, quote.total_qpu_seconds))
    for name, shots, jobs, seconds in parts:
        cost = "–" if per_second is None else f"{per_second * seconds:,.2f} {quote.currency}"
        table.add_row(name, f"{shots:,}", f"{jobs:,}", duration(seconds), cost.strip())
    return table


def quote_rows(quote: Quote, device: DeviceModel, rate: float | None) -> list[tuple[str, str, str]]:
    """Return name, value and derivation of each figure."""
    unit, n_units, how = quote.units
    rows = [
        (f"{unit}s", f"{n_units:,}", how),
        ("shots", f"{quote.shots:,}", "of all rounds"),
        ("executions", f"{quote.executions:,}", _per_execution(quote.tiles)),
        (f"shots per {unit}", f"{quote.shots / n_units:.3g}", "mean"),
        ("submissions", f"{quote.submissions}", "warm-up and rounds, without empty ones"),
        ("shots per round", _span(quote.shots_per_round), "smallest to largest"),
        ("jobs", f"{quote.jobs}", f"{_span(quote.jobs_per_round)} per round"),
        (
            "one execution",
            duration(quote.execution_seconds),
            f"rep_delay {duration(device.rep_delay)} + {duration(device.execution_overhead)} + "
            f"depth {quote.depth} × {duration(device.layer_time)}",
        ),
        (
            "QPU time",
            duration(quote.qpu_seconds),
            f"jobs × {duration(device.job_overhead)} + executions × one execution",
        ),
        (
            "queue time",
            duration(quote.queue_seconds),
            f"submissions × waiting jobs × {duration(device.queued_job_seconds)}",
        ),
        ("classical time", duration(quote.classical_seconds), "between two submissions, ∝ N³"),
        (
            "wall time",
            duration(quote.wall_seconds),
            f"transpile once ({duration(quote.transpile_seconds)}) + queue + QPU + classical",
        ),
        ("session time", duration(quote.session_seconds), "QPU + classical: billed in a session"),
    ]
    if quote.cost is not None:
        price = f"{quote.cost:,.2f} {quote.currency}".strip()
        rows.append(("cost", price, f"QPU time at {rate:g} per minute, outside a session"))
    if quote.tiles > 1:
        rows.append(("without tiles", duration(quote.untiled_seconds), _without_tiles(quote)))
    return rows


def _per_execution(tiles: int) -> str:
    return "one shot each" if tiles == 1 else f"{tiles} shots each, one on every tile"


def _without_tiles(quote: Quote) -> str:
    """Return how much more the same shots cost one at a time."""
    saved = (
        f"QPU time of {quote.shots:,} executions, {quote.shots / quote.executions:.1f} × as many"
    )
    if quote.untiled_cost is None:
        return saved
    return f"{saved}; {quote.untiled_cost:,.2f} {quote.currency}".strip()


def _span(counts: tuple[int, ...]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"
