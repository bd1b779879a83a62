"""A run in words: what was spent, how good it is, was adaptivity worth it, what to do next."""

from typing import NamedTuple

from aqka.insight.hindsight import FewerShots, Steering
from aqka.planning.budget import duration
from aqka.report.number_text import count_text
from aqka.report.point_results import PointResults
from aqka.report.run_report import RunReport

SURE = 2.0  # standard errors beyond which a difference is believed
SMALL_GAIN = 0.03  # of accuracy, that is not worth twice the shots
MANY_OPEN = 0.1  # share of test points that are not settled, above which it is worth telling


class Answer(NamedTuple):
    """One question about a run and its answer."""

    question: str
    words: str


def answer_questions(report: RunReport) -> list[Answer]:
    """Return the answers, each computed from the counts; what cannot be told is left out."""
    answers = [
        Answer("What was spent?", _spending(report)),
        Answer("How accurate is it?", _accuracy(report)),
        Answer("Was adaptive allocation worth it?", _steering(report)),
        Answer("What to do next?", " ".join(_advice(report))),
    ]
    return [answer for answer in answers if answer.words]


def _spending(report: RunReport) -> str:
    table = report.table
    seen = int((~table.unseen).sum())
    lost = sum(r.failed for r in report.rounds)
    text = (
        f"{table.total:,} of {report.budget:,} shots on {table.n_pairs:,} pairs of "
        f"{table.n_points} training points, {table.total / table.n_pairs:.1f} a pair, in "
        f"{count_text(len(report.rounds), 'round')}; {seen / table.n_pairs:.0%} of the pairs were "
        "measured."
    )
    if lost:
        text += f" {count_text(lost, 'round')} failed."
    if report.point_results is not None:
        used = int(report.point_results.shots.sum())
        text += f" {used:,} more went to {len(report.point_results.truth)} test points."
    return text + _qpu_time(report)


def _qpu_time(report: RunReport) -> str:
    seconds = next((row for row in report.usage if row["figure"] == "QPU seconds"), None)
    if seconds is None:
        return ""
    if seconds["actual"] is None:
        return " The backend reported no QPU time."
    return (
        f" The backend reported {duration(seconds['actual'])} of QPU time for the training "
        f"kernel; the quote was {duration(seconds['quoted'])}."
    )


def _accuracy(report: RunReport) -> str:
    found = report.point_results
    if found is None:
        return _accuracy_so_far(report)
    low, high = found.interval
    return (
        f"{found.accuracy:.3f} ± {found.standard_error:.3f} on {len(found.truth)} test points "
        f"(95 % interval {low:.2f} to {high:.2f}); always answering the majority class gives "
        f"{found.majority_accuracy:.3f}. {_against_majority(found)} {_certainty(found)}"
    )


def _accuracy_so_far(report: RunReport) -> str:
    last = next((r.accuracy for r in reversed(report.rounds) if r.accuracy is not None), None)
    if last is None:
        return ""
    return (
        "The test points are not predicted yet. By cross-validation on the training points: "
        f"{last:.3f}."
    )


def _against_majority(found: PointResults) -> str:
    difference = f"{found.gain:+.3f} ± {found.gain_error:.3f}"
    if found.gain > SURE * found.gain_error:
        return f"That is better than the majority class, by {difference}."
    if found.gain < -SURE * found.gain_error:
        return f"That is worse than the majority class ({difference})."
    return f"That is not shown to be better than the majority class ({difference})."


def _certainty(found: PointResults) -> str:
    settled = int(found.settled.sum())
    text = f"{settled} of {len(found.truth)} classes are settled for this trained head"
    if found.could_flip is None:
        return f"{text}."
    flips = int(found.could_flip.sum())
    return f"{text}; {flips} could be another if the kernel were known exactly."


def _steering(report: RunReport) -> str:
    found = report.steering
    if found is None:
        return ""
    saving = f"The best possible allocation would have {found.best:.2f} of an even one's variance"
    if report.settings.get("method.allocator") == "uniform":
        return (
            f"This run did not steer. {saving}, by what was measured: so much perfect knowledge "
            "could have saved, and no more."
        )
    error = "" if found.error is None else f" ± {found.error:.2f}"
    return (
        f"With these shots the predictions have {found.ratio:.2f}{error} times the variance that "
        f"as many shots spread evenly would give{_worth(found)} {saving}. This is about the noise "
        "in the decision values, to first order, from the run's own counts; it is not accuracy."
    )


def _worth(found: Steering) -> str:
    if found.error is None:
        return " (how sure that is was not worked out)."
    if not found.sure:
        return ": no difference that matters and can be told from noise."
    if found.ratio < 1:
        more = f"{1 / found.ratio:.2f}"
        return f": yes, even shots would have needed {more} times as many for the same."
    return ": no, spreading them evenly would have been better for the predictions."


def _advice(report: RunReport) -> list[str]:
    if report.state != "finished":
        left = report.budget - report.table.total
        what = f"{left:,} shots are left" if left else "the test points are to be predicted"
        return [f"The run is not finished ({report.state}): {what}. aqka resume goes on with it."]
    advice = []
    half = next((part for part in report.fewer if part.fraction == 0.5), None)
    if half is not None:
        advice.append(_advice_on_more_shots(half, report.table.n_points))
    found = report.point_results
    still_open = 0 if found is None else int((~found.settled).sum())
    if found is not None and still_open > MANY_OPEN * len(found.truth):
        advice.append(
            f"{still_open} test points are not settled: a larger budget.test_shots would settle "
            "more of them."
        )
    steered = report.steering
    if steered is not None and steered.sure and steered.ratio > 1:
        advice.append("For the same budget, try the allocator uniform.")
    return advice


def _advice_on_more_shots(half: FewerShots, n_points: int) -> str:
    change = f"{half.gain:+.3f} ± {half.gain_error:.3f}"
    if half.gain > SURE * half.gain_error:
        return (
            f"More shots: by cross-validation the second half of the shots still brought {change} "
            "of accuracy, so another doubling is likely to bring some."
        )
    if half.gain + SURE * half.gain_error < SMALL_GAIN:
        return (
            f"Not more shots: the second half of them changed accuracy by {change} "
            "(cross-validated). Another feature map, more training points or another readout are "
            "the likelier ways to gain."
        )
    return (
        f"Whether more shots would help cannot be told from {n_points} points: the second half of "
        f"them changed accuracy by {change} (cross-validated)."
    )
