"""A run in words: what was spent, how good it is, was adaptivity worth it, what to do next."""

from typing import NamedTuple

from aqka.planning.budget import duration
from aqka.report.run_report import RunReport

SURE = 2.0  # standard errors beyond which a difference is believed
SMALL_GAIN = 0.03  # of accuracy, that is not worth twice the shots
MANY_OPEN = 0.1  # share of test points that are not settled, above which it is worth telling


class Verdict(NamedTuple):
    """One question about a run and its answer."""

    question: str
    answer: str


def verdict(report: RunReport) -> list[Verdict]:
    """Return the answers, each computed from the counts."""
    answers = [
        Verdict("What was spent?", _spent(report)),
        Verdict("How accurate is it?", _accuracy(report)),
        Verdict("Was adaptive allocation worth it?", _steering(report)),
        Verdict("What to do next?", " ".join(_next(report))),
    ]
    return [answer for answer in answers if answer.answer]


def _spent(report: RunReport) -> str:
    table = report.table
    seen = int((~table.unseen).sum())
    lost = sum(r.failed for r in report.rounds)
    text = (
        f"{table.total:,} of {report.budget:,} shots on {table.n_pairs:,} pairs of "
        f"{table.n_points} training points, {table.total / table.n_pairs:.1f} a pair, in "
        f"{_count(len(report.rounds), 'round')}; {seen / table.n_pairs:.0%} of the pairs were "
        "measured."
    )
    if lost:
        text += f" {_count(lost, 'round')} failed."
    if report.point_results is not None:
        used = int(report.point_results.shots.sum())
        text += f" {used:,} more went to {len(report.point_results.truth)} test points."
    quoted = {row["figure"]: row for row in report.usage}
    seconds = quoted.get("QPU seconds")
    if seconds is not None and seconds["actual"] is not None:
        text += (
            f" The backend reported {duration(seconds['actual'])} of QPU time for the training "
            f"kernel; the quote was {duration(seconds['quoted'])}."
        )
    elif seconds is not None:
        text += " The backend reported no QPU time."
    return text


def _accuracy(report: RunReport) -> str:
    found = report.point_results
    if found is None:
        last = next((r for r in reversed(report.rounds) if r.accuracy is not None), None)
        if last is None or last.accuracy is None:
            return ""
        return (
            f"The test points are not predicted yet. By cross-validation on the training points: "
            f"{last.accuracy:.3f}."
        )
    low, high = found.interval
    number = len(found.truth)
    text = (
        f"{found.accuracy:.3f} ± {found.standard_error:.3f} on {number} test points (95 % "
        f"interval {low:.2f} to {high:.2f}); always answering the majority class gives "
        f"{found.majority_accuracy:.3f}. "
    )
    difference = f"{found.gain:+.3f} ± {found.gain_error:.3f}"
    if found.gain > SURE * found.gain_error:
        text += f"That is better than the majority class, by {difference}."
    elif found.gain < -SURE * found.gain_error:
        text += f"That is worse than the majority class ({difference})."
    else:
        text += f"That is not shown to be better than the majority class ({difference})."
    settled = int(found.settled.sum())
    text += f" {settled} of {number} classes are settled for this trained head"
    if found.could_flip is None:
        return text + "."
    return text + (
        f"; {int(found.could_flip.sum())} could be another if the kernel were known exactly."
    )


def _steering(report: RunReport) -> str:
    found = report.steering
    if found is None:
        return ""
    saving = f"The best possible allocation would have {found.best:.2f} of an even one's variance"
    allocator = report.settings.get("method.allocator", "")
    error = "" if found.error is None else f" ± {found.error:.2f}"
    if allocator == "uniform":
        return (
            f"This run did not steer. {saving}, by what was measured: so much perfect knowledge "
            "could have saved, and no more."
        )
    text = (
        f"With these shots the predictions have {found.ratio:.2f}{error} times the variance that "
        "as many shots spread evenly would give"
    )
    if found.error is None:
        text += " (how sure that is was not worked out)."
    elif not found.sure:
        text += ": no difference that matters and can be told from noise."
    elif found.ratio < 1:
        text += (
            f": yes, even shots would have needed {1 / found.ratio:.2f} times as many for the same."
        )
    else:
        text += ": no, spreading them evenly would have been better for the predictions."
    return (
        f"{text} {saving}. This is about the noise in the decision values, to first order, from "
        "the run's own counts; it is not accuracy."
    )


def _next(report: RunReport) -> list[str]:
    if report.state != "finished":
        left = report.budget - report.table.total
        what = f"{left:,} shots are left" if left else "the test points are to be predicted"
        return [f"The run is not finished ({report.state}): {what}. aqka resume goes on with it."]
    advice = []
    half = next((part for part in report.fewer if part.fraction == 0.5), None)
    if half is not None:
        change = f"{half.gain:+.3f} ± {half.gain_error:.3f}"
        if half.gain > SURE * half.gain_error:
            advice.append(
                f"More shots: by cross-validation the second half of the shots still brought "
                f"{change} of accuracy, so another doubling is likely to bring some."
            )
        elif half.gain + SURE * half.gain_error < SMALL_GAIN:
            advice.append(
                f"Not more shots: the second half of them changed accuracy by {change} "
                "(cross-validated). Another feature map, more training points or another readout "
                "are the likelier ways to gain."
            )
        else:
            advice.append(
                f"Whether more shots would help cannot be told from {report.table.n_points} "
                f"points: the second half of them changed accuracy by {change} (cross-validated)."
            )
    found = report.point_results
    if found is not None:
        still_open = int((~found.settled).sum())
        if still_open > MANY_OPEN * len(found.truth):
            advice.append(
                f"{still_open} test points are not settled: a larger budget.test_shots would "
                "settle more of them."
            )
    steered = report.steering
    if steered is not None and steered.sure and steered.ratio > 1:
        advice.append("For the same budget, try the allocator uniform or auto.")
    return advice


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
