"""The page that says what of the paper holds under which reading."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from aqka_research.paper_reading import LEVELS, LITERAL, PaperReading
from aqka_research.reproduce.claims import STANDARD_ERRORS, Judgement
from aqka_research.reproduce.few_seeds import LINEAR_DRAWS, OTHER_DRAWS
from aqka_research.reproduce.headlines import (
    BEST_READING,
    FAIR_PROTOCOL,
    LITERAL_READING,
    Headline,
    headline_fates,
    three_ways,
)
from aqka_research.reproduce.reading_design import EXPERIMENTS, PROJECTED
from aqka_research.reproduce.reading_study import ReadingStudy
from aqka_research.reproduce.reading_verdicts import ClaimUnderReadings
from aqka_research.reproduce.readings_method import how_it_was_run, markdown_table

PICTURE = "readings.png"
RULES = "../explanation/verdict-rules.md"


def readings_text(study: ReadingStudy, picture: bool) -> str:
    """Return the page; ``picture`` says whether one was drawn beside it."""
    lines = [
        "# What of the paper holds under which reading",
        "",
        *(["**A quick run**: too small for its verdicts to count.", ""] if study.quick else []),
        *_unfinished(study),
        *_paragraph(study),
        *_headlines(study),
        *([f"![The headline claims, three ways]({PICTURE})", ""] if picture else []),
        *_summary(study),
        *_by_experiment(study),
        *_switches(study),
        *_gains(study),
        *_best(study),
        *_few_seeds(study),
        *_fails(study),
        *_all_claims(study),
        *how_it_was_run(study),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _paragraph(study: ReadingStudy) -> list[str]:
    """Say in plain words what of the paper holds."""
    fates = headline_fates(study)
    ways = [three_ways(study, fate) for fate in fates.values()]
    literal, best, fair = (
        sum(_holds(way[name]) for way in ways)
        for name in (LITERAL_READING, BEST_READING, FAIR_PROTOCOL)
    )
    total = len(study.fates)
    held = sum(_holds(fate.literal) for fate in study.fates)
    held_fairly = sum(_holds(study.under("fair", fate)) for fate in study.fates)
    text = (
        f"Taken literally, {held} of the paper's {total} numbers and {literal} of its {len(ways)} "
        f"headline claims hold; with the fair protocol, {held_fairly} and {fair}. Under the "
        f"reading that favours the paper most, {_counted(best, 'headline claim')} {_hold(best)}."
    )
    theory = [_holds(fate.literal) for fate in study.fates if fate.experiment == "theory"]
    if theory:
        errata = (
            "" if all(theory) else "; [the errata](../explanation/errata.md) list the errors found"
        )
        text += (
            f" Of the {_counted(len(theory), 'number')} of its theory, {sum(theory)} "
            f"{_hold(sum(theory))}{errata}."
        )
    return ["## In plain words", "", _gains_in_words(fates, ways) + text, ""]


def _gains_in_words(
    fates: Mapping[Headline, ClaimUnderReadings], ways: Sequence[Mapping[str, Judgement]]
) -> str:
    """Say whether choosing pairs by their sensitivity beats even shots; nothing without gains."""
    gains = [
        way
        for way, (headline, fate) in zip(ways, fates.items(), strict=True)
        if fate.claim.unit == "pts" and not headline.words.startswith("the gain grows")
    ]
    if not gains:
        return ""
    above, fair_above, fair_below = (
        sum(_beyond_error(way[name], sign) for way in gains)
        for name, sign in ((LITERAL_READING, 1), (FAIR_PROTOCOL, 1), (FAIR_PROTOCOL, -1))
    )
    usually, fair_usually = 2 * above > len(gains), 2 * fair_above > len(gains)
    beats = "usually beats" if usually else "does not usually beat"
    then = {
        (True, True): "it still does",
        (True, False): "it no longer does",
        (False, True): "it does",
        (False, False): "nor does it",
    }[usually, fair_usually]
    return (
        f"In the paper's own setting, choosing pairs by their sensitivity {beats} even shots; "
        f"{then} once every method gets a known diagonal, a tuned ridge and balanced tasks. "
        f"Of {_counted(len(gains), 'headline gain')}, {above} {'is' if above == 1 else 'are'} "
        f"above zero by more than two standard errors in the paper's setting; with the fair "
        f"protocol the counts are {fair_above} above and {fair_below} below. "
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _hold(count: int) -> str:
    return "holds" if count == 1 else "hold"


def _beyond_error(judgement: Judgement, sign: int) -> bool:
    """Whether our number is above zero, or for a sign of -1 below, by two standard errors."""
    ours = judgement.ours
    return ours is not None and sign * ours.value > STANDARD_ERRORS * np.nan_to_num(ours.error)


def _unfinished(study: ReadingStudy) -> list[str]:
    """Say it where a run has not all the seeds of its designs."""
    few = [name for name, seeds in study.seeds.items() if seeds < EXPERIMENTS[name].seeds]
    if study.quick or not few:
        return []
    return [
        f"**Not finished**: {len(few)} of {len(study.seeds)} experiments have fewer seeds under "
        "the readings than their designs want (the last table), and some none under the fair "
        "protocol. The same command goes on.",
        "",
    ]


def _holds(judgement: Judgement) -> bool:
    return judgement.verdict == "reproduced"


def _tested(judgements: Iterable[Judgement]) -> int:
    return sum(judgement.ours is not None for judgement in judgements)


def _never(study: ReadingStudy) -> list[ClaimUnderReadings]:
    """Return the claims that hold under no reading that was run."""
    return [
        fate
        for fate in study.fates
        if fate.tested
        and not fate.holds_under
        and not _holds(study.under_best[fate.experiment, fate.number])
    ]


def _summary(study: ReadingStudy) -> list[str]:
    total = len(study.fates)
    literal = sum(_holds(fate.literal) for fate in study.fates)
    fair = [study.under("fair", fate) for fate in study.fates]
    best = list(study.under_best.values())
    swept = sum(bool(fate.tested) for fate in study.fates)
    some = sum(bool(fate.holds_under) for fate in study.fates)
    same_seeds = sum(_holds(fate.judgements[LITERAL]) for fate in study.fates)
    redrawn = sum(
        _holds(fate.literal) != _holds(fate.judgements[LITERAL])
        for fate in study.fates
        if fate.tested
    )
    return [
        "## In numbers",
        "",
        f"The paper's {total} claims under different readings of what it leaves open, judged by "
        f"[rules]({RULES}) written down before the first run.",
        "",
        f"- **{literal}** hold under the literal reading ([the reproduction](reproduction.md)).",
        f"- Of the {swept} tested on the seeds of the readings, **{some}** hold under at "
        f"least one reading; **{len(_never(study))}** hold under none.",
        f"- **{sum(map(_holds, best))}** of {_tested(best)} hold under the reading that makes "
        f"most claims hold: {_settings(study.best)}. On the same seeds and shots, {same_seeds} "
        "hold under the literal reading.",
        f"- **{sum(map(_holds, fair))}** of {_tested(fair)} hold under a practitioner's "
        "settings: known diagonal, tuned ridge, balanced "
        "tasks ([the fair protocol](reproduction-fair.md)).",
        "- Repeating the literal reading with the shots and seeds of the readings changes whether "
        f"{_counted(redrawn, 'claim')} {_hold(redrawn)}.",
        "",
    ]


def _settings(reading: PaperReading) -> str:
    """Write a reading's changes for a table."""
    return ", ".join(f"`{s}={level}`" for s, level in reading.changes.items()) or "literal"


def _number(judgement: Judgement) -> str:
    if judgement.ours is None:
        return "not tested"
    word = {"reproduced": "holds", "direction only": "direction only"}.get(
        judgement.verdict, "fails"
    )
    return f"{judgement.ours}: **{word}**" if word == "holds" else f"{judgement.ours}: {word}"


def _stated(fate: ClaimUnderReadings) -> str:
    unit = f" {fate.claim.unit}" if fate.claim.unit else ""
    return f"{fate.claim.rule.sign}{fate.claim.paper}{unit}"


def _headlines(study: ReadingStudy) -> list[str]:
    rows = [
        [
            f"{headline.words} (paper: {_stated(fate)})",
            *map(_number, three_ways(study, fate).values()),
        ]
        for headline, fate in headline_fates(study).items()
    ]
    head = ["headline claim", LITERAL_READING, BEST_READING, FAIR_PROTOCOL]
    return [
        *markdown_table(head, rows),
        f"*Holds*: our number satisfies the claim's [rule]({RULES}), and a gain is at least half "
        "the paper's. A size may differ by two standard errors of the difference, or by the rule's "
        "tolerance if that is larger; a direction must be clear by two standard errors of ours. "
        "Where the paper gives its number of seeds but no "
        "error, the scatter of our own seeds stands in for it. *Direction only*: only the sign is "
        "right, by more than two standard errors.",
        "",
    ]


def _by_experiment(study: ReadingStudy) -> list[str]:
    rows = []
    for name in study.seeds:
        mine = [fate for fate in study.fates if fate.experiment == name]
        ways = [list(three_ways(study, fate).values()) for fate in mine]
        counts = [str(sum(map(_holds, column))) for column in zip(*ways, strict=True)]
        some = sum(bool(fate.holds_under) for fate in mine)
        rows.append([name, str(len(mine)), *counts, str(some)])
    head = ["experiment", "claims", "literal", "best reading", "fair", "under some reading"]
    return ["## Claims that hold, by experiment", "", *markdown_table(head, rows)]


def _switches(study: ReadingStudy) -> list[str]:
    """Say what each switch alone does to the verdicts."""
    rows = []
    for switch, levels in LEVELS.items():
        for level in levels[1:]:
            reading = LITERAL.changed(**{switch: level})
            counts = _gained_and_lost(study, reading)
            if counts:
                rows.append([f"`{switch}={level}`", *map(str, counts)])
    both = LITERAL.changed(variance="projected", unseen="filled")
    counts = _gained_and_lost(study, both)
    if counts:
        rows.insert(1, ["`variance=projected`, `unseen=filled`", *map(str, counts)])
    head = ["changed alone", "claims of these experiments", "begin to hold", "no longer hold"]
    return ["## What each switch does", "", *markdown_table(head, rows)]


def _gained_and_lost(study: ReadingStudy, reading: PaperReading) -> tuple[int, int, int] | None:
    """Return the claims in reach of a change, and those it turns to either side."""
    reached = [fate for fate in study.fates if reading in fate.judgements]
    if not reached:
        return None
    now = [(_holds(fate.judgements[LITERAL]), _holds(fate.judgements[reading])) for fate in reached]
    return len(reached), sum(b and not a for a, b in now), sum(a and not b for a, b in now)


def _gains(study: ReadingStudy) -> list[str]:
    """Say how far the two strongest switches move what the paper is about."""
    measured = study.results.get("synthetic", {})
    rows = []
    for width in LEVELS["width"]:
        for variance in ({}, PROJECTED):
            reading = LITERAL.changed(width=width, **variance)
            if reading in measured:
                budgets = measured[reading].unique("budget")
                end = measured[reading].mean("accuracy", method="uniform", budget=budgets[-1])
                gains = [measured[reading].gain("aqka", "uniform", budget=b) for b in budgets]
                rows.append([f"`{width}`", reading.variance, *map(str, gains), str(end)])
    if not rows:
        return []
    head = ["width", "variance term", *(f"B = {b:,}" for b in budgets), "uniform at the end"]
    return [
        "## How far readings move the gain",
        "",
        "AQKA's gain over uniform on the synthetic task (N = 225, m = 10), in points, under the "
        "width of the kernel and the matrix that the variance term is taken from:",
        "",
        *markdown_table(head, rows),
    ]


def _best(study: ReadingStudy) -> list[str]:
    changed = [
        f"- {fate.experiment}, {fate.claim.says}: {_number(fate.literal)} literally, "
        f"{_number(study.under_best[fate.experiment, fate.number])}."
        for fate in study.fates
        if _holds(fate.literal) != _holds(study.under_best[fate.experiment, fate.number])
    ]
    rows = [[f"`{switch}`", f"`{getattr(study.best, switch)}`"] for switch in LEVELS]
    return [
        "## The reading that makes most claims hold",
        "",
        "Chosen on the experiments with the full design, then run on all; it was chosen to agree, "
        "so its count flatters it.",
        "",
        *markdown_table(["switch", "level"], rows),
        f"Claims that hold under this reading or the literal one but not both, {len(changed)} in "
        "all:",
        "",
        *changed,
        "",
    ]


def _few_seeds(study: ReadingStudy) -> list[str]:
    counts = Counter(fate.label for fate in study.fates)
    order = (
        "holds",
        "consistent with few seeds",
        "consistent under another reading",
        "not explained",
        "no seeds stated",
    )
    unexplained = [
        f"- {fate.experiment}, {fate.claim.place}: {fate.claim.says}; the paper has "
        f"{_stated(fate)} from {fate.claim.paper.count} seeds; our literal reading gives "
        f"{fate.literal.ours}."
        for fate in study.fates
        if fate.label == "not explained"
    ]
    return [
        "## Could the paper's few seeds have shown it?",
        "",
        f"Estimated from {LINEAR_DRAWS:,} draws of seeds, or {OTHER_DRAWS} where a claim's number "
        "is not a mean over seeds.",
        "",
        *markdown_table(["label", "claims"], [[label, str(counts[label])] for label in order]),
        "Not explained:" if unexplained else "No claim with stated seeds is left unexplained.",
        "",
        *unexplained,
        "",
    ]


def _fails(study: ReadingStudy) -> list[str]:
    lines = [
        f"- {fate.experiment}, {fate.claim.place}: {fate.claim.says}; the paper has "
        f"{_stated(fate)}, the literal reading {fate.literal.ours}; {fate.label}."
        for fate in _never(study)
    ]
    return ["## Claims that fail under all readings", "", *lines, ""]


def _all_claims(study: ReadingStudy) -> list[str]:
    head = [
        "claim",
        "paper",
        "literal",
        "best",
        "fair",
        "share",
        "holds under",
        "chance, literal and largest",
        "label",
    ]
    lines = ["## Every claim", ""]
    for name in dict.fromkeys(fate.experiment for fate in study.fates):
        rows = [_claim_row(study, fate) for fate in study.fates if fate.experiment == name]
        lines += [f"### {name}", "", *markdown_table(head, rows)]
    return lines


def _claim_row(study: ReadingStudy, fate: ClaimUnderReadings) -> list[str]:
    return [
        f"{fate.claim.place}: {fate.claim.says}",
        _stated(fate),
        *map(_number, three_ways(study, fate).values()),
        f"{len(fate.holds_under)} of {fate.tested}",
        _reading_list(fate),
        _chances(fate),
        fate.label,
    ]


def _reading_list(fate: ClaimUnderReadings) -> str:
    """Name the readings a claim holds under, those with fewest changes first."""
    under = sorted(fate.holds_under, key=lambda reading: len(reading.changes))
    if not under:
        return "none"
    if len(under) == fate.tested:
        return "all"
    shown = "; ".join(map(_settings, under[:3]))
    return shown + (f"; {len(under) - 3} more" if len(under) > 3 else "")


def _chances(fate: ClaimUnderReadings) -> str:
    if not fate.chances:
        return ""
    literal, largest = fate.chances.get(LITERAL, 0.0), max(fate.chances.values())
    return f"{100 * literal:.1f} % and {100 * largest:.1f} %"
