"""The reproduction report: every claim with the paper's number, ours and the verdict."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aqka_research.reproduce.claims import Judgement
from aqka_research.reproduce.reproduction import Reproduction, count_verdicts
from aqka_research.results import Estimate

PROTOCOL_TEXT = {
    "paper": "the paper's: diagonal measured as any pair, unseen pairs read 0, fixed ridge",
    "fair": "fair: diagonal known, every method with the same cross-validated ridge, planted tasks "
    "with at most 70 % of the test points in one class",
}


def write_experiment_report(done: Reproduction, path: Path) -> None:
    """Write one experiment's report, with its figures and its table of means."""
    lines = [f"# {done.setup.experiment.title}", "", *_section(done)]
    for picture in (name for name in done.pictures if name.endswith(".png")):
        lines += [f"![{picture.removesuffix('.png')}]({picture})", ""]
    lines += ["## Means ± standard errors", "", *_summary(done.summary)]
    path.write_text("\n".join(lines) + "\n")


def overview(reproductions: Sequence[Reproduction]) -> str:
    """Return one report of several experiments."""
    counts = count_verdicts(reproductions)
    total = sum(counts.values())
    fairly = all(one.setup.protocol == "fair" for one in reproductions)
    lines = [
        "# Reproduction " + ("under the fair protocol" if fairly else "of the paper's numbers"),
        "",
        f"{total} claims: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items()) + ".",
        "",
        "Every number and verdict here is computed; ± is one standard error over seeds. "
        "*Direction only*: the sign is right by two standard errors, but the size is not the "
        "paper's. Where the paper gives its number of seeds but no standard error, the scatter of "
        "our seeds stands in for it.",
        "",
    ]
    for done in reproductions:
        lines += [f"## {done.setup.name}: {done.setup.experiment.title}", "", *_section(done)]
    return "\n".join(lines).rstrip() + "\n"


def _section(done: Reproduction) -> list[str]:
    setup = done.setup
    lines = [
        f"{setup.experiment.place}. Protocol: {PROTOCOL_TEXT[setup.protocol]}. "
        f"{setup.parameters['seeds']} seeds"
        + (". **A quick run**: too small for its verdicts to count." if _quick(done) else "."),
        "",
        "| claim | paper | ours ± SE | verdict |",
        "| --- | --- | --- | --- |",
    ]
    # The same explanation often stands behind several claims.
    texts = dict.fromkeys(j.explanation for j in done.judgements if j.explanation)
    numbers = {text: f" ({number})" for number, text in enumerate(texts, 1)}
    lines += [_claim_row(j, numbers.get(j.explanation, "")) for j in done.judgements]
    lines.append("")
    for text, number in numbers.items():
        lines += [f"{number.strip()} {text}", ""]
    return lines


def _quick(done: Reproduction) -> bool:
    quick, full = done.setup.experiment.quick, done.setup.experiment.full
    chosen = {**done.setup.parameters, "seeds": None}
    return chosen == {**quick, "seeds": None} != {**full, "seeds": None}


def _claim_row(judgement: Judgement, note: str) -> str:
    claim = judgement.claim
    unit = f" {claim.unit}" if claim.unit else ""
    ours = "" if judgement.ours is None else f"{judgement.ours}{unit}"
    remark = f": {judgement.remark}" if judgement.remark else ""
    cells = (
        f"{claim.place}: {claim.says}",
        f"{claim.rule.sign}{claim.paper}{unit}",
        ours,
        f"{judgement.verdict}{remark}{note}",
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [
        "| " + " | ".join(column.replace("_", " ") for column in columns) + " |",
        "| " + " | ".join("---" for _ in columns) + " |",
    ]
    return lines + [
        "| " + " | ".join(_cell(row.get(column)) for column in columns) + " |" for row in rows
    ]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (Estimate, str)):
        return str(value)
    return f"{value:,}"
