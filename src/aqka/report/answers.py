"""A run in words: what was spent, how good it is, was adaptivity worth it, what to do next."""

from typing import NamedTuple

from aqka.insight.hindsight import Steering
from aqka.planning.budget import duration
from aqka.report.advice import advice
from aqka.report.number_text import count_text, number_text, p_text, range_text
from aqka.report.point_results import PointResults
from aqka.report.rivals import LEVEL, Rival
from aqka.report.run_report import RunReport
from aqka.report.value_results import value_words
from aqka.report.verdict import best_plain, rival_of


class Answer(NamedTuple):
    """One question about a run and its answer."""

    question: str
    words: str


def answer_questions(report: RunReport) -> list[Answer]:
    """Return the answers, each computed from the counts; what cannot be told is left out."""
    answers = [
        Answer("What was spent?", _spending(report)),
        Answer("How well is the kernel known?", _kernel_error(report)),
        Answer("How accurate is it?", _accuracy(report)),
        Answer("Was adaptive allocation worth it?", _steering(report)),
        Answer("What to do next?", " ".join(advice(report))),
    ]
    return [answer for answer in answers if answer.words]


def _spending(report: RunReport) -> str:
    table = report.table
    lost = sum(r.failed for r in report.rounds)
    text = _on_points(report) if report.measures_points else _on_pairs(report)
    if lost:
        text += f" {count_text(lost, 'round')} failed."
    calibration = report.calibration_shots
    if calibration:
        text += f" {calibration:,} more calibrated the readout."
    tested = report.point_results or report.values
    if tested is not None:
        used = int(tested.shots.sum())
        text += (
            f" {used:,} more went to {len(tested.truth)} test points: "
            f"{table.total + calibration + used:,} in all."
        )
    return text + _qpu_time(report) + _cost(report)


def _on_points(report: RunReport) -> str:
    table = report.table
    return (
        f"{table.total:,} of {report.budget:,} shots on {table.n_points} training points, "
        f"{table.total / table.n_points:.0f} each, in {count_text(len(report.rounds), 'round')}."
    )


def _kernel_error(report: RunReport) -> str:
    """Return how well the kernel of points is known; pairs show theirs one by one."""
    found = report.measured
    if found is None:
        return ""
    words = [*found.sentences]
    if found.median_error is not None:
        worth = found.equivalent_shots
        same = "" if worth is None else f", as if every pair had {worth:,.0f} shots"
        words.append(f"An entry has a median standard error of {found.median_error:.2g}{same}.")
    return " ".join(words)


def _on_pairs(report: RunReport) -> str:
    table = report.pairs
    seen = int((~table.unseen).sum())
    return (
        f"{table.total:,} of {report.budget:,} shots on {table.n_pairs:,} pairs of "
        f"{table.n_points} training points, {table.total / table.n_pairs:.1f} a pair, in "
        f"{count_text(len(report.rounds), 'round')}; {seen / table.n_pairs:.0%} of the pairs were "
        "measured."
    )


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


def _cost(report: RunReport) -> str:
    """Return the money for training and predictions together, where there is a price."""
    row = next((row for row in report.bill if row.figure.startswith("cost")), None)
    if row is None or row.total is None:
        return ""
    return f" {row.figure.capitalize()}: {number_text(float(row.total))} with predictions."


def _accuracy(report: RunReport) -> str:
    if report.values is not None:
        return value_words(report.values)
    found = report.point_results
    if found is None:
        return _accuracy_so_far(report)
    return " ".join(
        [
            f"{found.accuracy:.3f} on {len(found.truth)} test points (95 % interval "
            f"{range_text(*found.interval)}); always answering the majority class gives "
            f"{found.majority_accuracy:.3f}.",
            _against_majority(found),
            *_beside_rivals(report),
            _certainty(found),
        ]
    )


def _accuracy_so_far(report: RunReport) -> str:
    last = next((r.accuracy for r in reversed(report.rounds) if r.accuracy is not None), None)
    if last is None:
        return ""
    missing = "No test points are predicted"
    if report.state != "finished":
        missing = "The test points are not predicted yet"
    return f"{missing}; cross-validation on the training points gives {last:.3f}."


def _against_majority(found: PointResults) -> str:
    against = found.over_guessing
    how = (
        f"{against.difference:+.3f}, right alone on {against.only_first} points against "
        f"{against.only_second}; {p_text(against.p_value)}"
    )
    if against.p_value >= LEVEL:
        return f"That is not shown to be better than the majority class ({how})."
    if against.difference > 0:
        return f"That is better than the majority class ({how})."
    return f"That is worse than the majority class ({how})."


def _beside_rivals(report: RunReport) -> list[str]:
    """Return the exact kernel and the best plain model, each in a sentence."""
    exact, plain = rival_of(report, "exact"), best_plain(report)
    words = []
    if exact is not None:
        words.append(f"With the exact kernel it would be {exact.score:.3f} {_compared(exact)}.")
    if plain is not None:
        words.append(f"{plain.name} has {plain.score:.3f} without a shot {_compared(plain)}.")
    return words


def _compared(rival: Rival) -> str:
    if rival.better:
        return f"(better, {p_text(rival.p_value)})"
    return f"({'worse' if rival.worse else 'not shown to differ'}, {p_text(rival.p_value)})"


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
