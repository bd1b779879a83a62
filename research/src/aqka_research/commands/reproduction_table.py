"""The paper's experiments, and what became of their claims, as tables."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from aqka_research.reproduce.experiments import Experiment
from aqka_research.reproduce.reproduction import Reproduction, count_verdicts


def print_experiments(known: Mapping[str, Experiment], console: Console) -> None:
    """Print what each experiment shows, and how many claims it has."""
    table = Table()
    table.add_column("name", no_wrap=True)
    table.add_column("what it shows")
    table.add_column("in the paper")
    table.add_column("claims", justify="right")
    for name, one in known.items():
        table.add_row(name, one.title, one.place, str(len(one.claims)))
    console.print(table)


def print_reproductions(done: Sequence[Reproduction], overview: Path, console: Console) -> None:
    """Print every claim with the paper's number, ours and the verdict; then the counts."""
    for one in done:
        console.print(_claims_table(one))
    counts = Counter(count_verdicts(done))
    console.print(
        ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common()) + ".",
        highlight=False,
    )
    console.print(f"Report with explanations: {overview}", highlight=False, soft_wrap=True)


def _claims_table(done: Reproduction) -> Table:
    table = Table(title=f"{done.setup.name}: {done.setup.experiment.title}")
    table.add_column("claim")
    table.add_column("paper", justify="right", no_wrap=True)
    table.add_column("ours ± SE", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for judgement in done.judgements:
        claim = judgement.claim
        ours = "" if judgement.ours is None else f"{judgement.ours} {claim.unit}"
        paper = f"{claim.rule.sign}{claim.paper} {claim.unit}"
        table.add_row(claim.says, paper, ours, judgement.verdict)
    return table
