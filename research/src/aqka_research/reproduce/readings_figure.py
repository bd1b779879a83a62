"""The ten headline claims as a picture: the paper's number and ours, three ways."""

from typing import TYPE_CHECKING, Any

from aqka._util import colours
from aqka_research import style
from aqka_research.reproduce.headlines import (
    BEST_READING,
    FAIR_PROTOCOL,
    LITERAL_READING,
    Headline,
    headline_fates,
    three_ways,
)
from aqka_research.reproduce.reading_study import ReadingStudy
from aqka_research.reproduce.reading_verdicts import ClaimUnderReadings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS: dict[str, dict[str, Any]] = {
    LITERAL_READING: {"color": colours.BLUE, "marker": "o"},
    BEST_READING: {"color": colours.VERMILION, "marker": "D"},
    FAIR_PROTOCOL: {"color": colours.GREEN, "marker": "^"},
}


def headline_figure(study: ReadingStudy) -> "Figure":
    """Draw every headline's numbers: those in points above, others below."""
    from matplotlib.figure import Figure

    fates = headline_fates(study)
    kinds = {
        "points of accuracy": {h: f for h, f in fates.items() if f.claim.unit == "pts"},
        "accuracy, and correlation": {h: f for h, f in fates.items() if f.claim.unit != "pts"},
    }
    panels = {unit: found for unit, found in kinds.items() if found}
    heights = [len(found) + 1 for found in panels.values()]
    figure = Figure(figsize=(9.5, 1.2 + 0.45 * sum(heights)), layout="constrained")
    places = figure.subplots(len(panels), 1, height_ratios=heights, squeeze=False)[:, 0]
    for axes, (unit, found) in zip(places, panels.items(), strict=True):
        _panel(axes, study, found, unit)
    for name, look in LOOKS.items():
        places[0].plot([], [], ls="", label=name, **look)
    style.legend_below(figure, places[0], columns=5)
    return figure


def _panel(
    axes: "Axes", study: ReadingStudy, fates: dict[Headline, ClaimUnderReadings], unit: str
) -> None:
    for row, fate in enumerate(fates.values()):
        first = row == 0
        numbers = [j.ours.value for j in fate.judgements.values() if j.ours is not None]
        if numbers:
            axes.plot(
                [min(numbers), max(numbers)],
                [row, row],
                color=colours.GREY,
                lw=7,
                alpha=0.35,
                solid_capstyle="butt",
                label="all readings" if first else None,
            )
        _paper_mark(axes, fate, row, first)
        for place, (name, judgement) in enumerate(three_ways(study, fate).items()):
            if judgement.ours is not None:
                axes.errorbar(
                    judgement.ours.value,
                    row + 0.2 * (place - 1),
                    xerr=judgement.ours.error,
                    ls="",
                    **LOOKS[name],
                )
    axes.axvline(0, color=colours.GREY, lw=0.8)
    axes.set_yticks(range(len(fates)), [headline.words for headline in fates])
    axes.set_ylim(len(fates) - 0.5, -0.5)
    axes.set_xlabel(unit)


def _paper_mark(axes: "Axes", fate: ClaimUnderReadings, row: int, first: bool) -> None:
    """Mark the paper's number: a bound by an arrow, else by a line."""
    marker = {"≥ ": ">", "> ": ">", "≤ ": "<", "< ": "<"}.get(fate.claim.rule.sign, "|")
    size = 16 if marker == "|" else 9
    label = "the paper's; an arrow is a bound" if first else None
    look: dict[str, Any] = {
        "color": colours.BLACK,
        "ls": "",
        "marker": marker,
        "ms": size,
        "mew": 2,
    }
    axes.plot([fate.claim.paper.value], [row], zorder=1, label=label, **look)
