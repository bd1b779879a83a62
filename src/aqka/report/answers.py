"""A run in words: was it worth it, what was spent, how good is it, what to do next."""

from typing import Literal, NamedTuple

from aqka._util.text import counted, number_text, percent
from aqka.insight.hindsight import FewerShots
from aqka.planning.budget import duration
from aqka.report.run_report import RunReport
from aqka.report.tested import Rival, Tested
from aqka.report.words import capital, p_text

SURE = 2.0  # standard errors beyond which a difference is believed
SMALL_GAIN = 0.03  # of accuracy, that is not worth twice the shots
MANY_OPEN = 0.1  # share of test points that are not settled, above which it is worth saying
TRY_OTHERS = "aqka check tries other maps, ranges and numbers of components without a shot"


def answer_questions(report: RunReport) -> dict[str, str]:
    """Return questions with their answers from the counts, without what cannot be answered."""
    answers = {
        "What was spent?": _spending(report),
        "How well is the kernel known?": _kernel_error(report),
        "How accurate is it?": _accuracy(report),
        "Was adaptive allocation worth it?": _steering(report),
        "What to do next?": " ".join(advice(report)),
    }
    return {question: words for question, words in answers.items() if words}


def _spending(report: RunReport) -> str:
    measured, total, calibration = report.measured, report.table.total, report.calibration_shots
    n_points, n_units = report.table.n_points, measured.shots.size
    pairs = "" if n_units == n_points else f"{n_units:,} {measured.unit}s of "
    text = [
        f"{total:,} of {report.budget:,} shots on {pairs}{n_points} training points, "
        f"{measured.a_unit}, in {counted(len(report.rounds), 'round')}."
    ]
    if measured.seen < 1:
        text.append(f"{percent(measured.seen)} of the {measured.unit}s were measured.")
    lost = sum(r.failed for r in report.rounds)
    if lost:
        text.append(f"{counted(lost, 'round')} failed.")
    if calibration:
        text.append(f"{calibration:,} more calibrated the readout.")
    if report.tested is not None:
        used = int(report.tested.shots.sum())
        text.append(
            f"{used:,} more went to {len(report.tested.ids)} test points: "
            f"{total + calibration + used:,} in all."
        )
    if report.usage and not report.timed:
        text.append("The backend reported no QPU time.")
    elif report.usage:
        seconds = next(row for row in report.usage if row["figure"] == "QPU seconds")
        text.append(
            f"The backend reported {duration(seconds['actual'])} of QPU time for the training "
            f"kernel; the quote was {duration(seconds['quoted'])}."
        )
    cost = next((row for row in report.bill if row.figure.startswith("cost")), None)
    if cost is not None and cost.total is not None:
        text.append(f"{capital(cost.figure)}: {number_text(float(cost.total))} in all.")
    return " ".join(text)


def _kernel_error(report: RunReport) -> str:
    """Return how well the kernel of points is known; pairs show theirs one by one."""
    found, error = report.measured, report.measured.median_error
    if error is None:
        return " ".join(found.sentences)
    worth = found.equivalent_shots
    same = "" if worth is None else f", as good as {worth:,.0f} shots on every pair"
    return " ".join([*found.sentences, f"The median standard error is {error:.2g}{same}."])


def _accuracy(report: RunReport) -> str:
    tested = report.tested
    if tested is None:
        known = [r.accuracy for r in report.rounds if r.accuracy is not None]
        missing = "No test points have been predicted"
        if report.state != "finished":
            missing = "The test points have not been predicted yet"
        said = f"{missing}; cross-validation on the training points gives"
        return f"{said} {known[-1]:.3f}." if known else ""
    words = tested.accuracy_words(report.guess)
    for rival, name, how in (
        (report.exact_rival, "the exact kernel", ""),
        (report.best_plain, "", " without a shot"),
    ):
        if rival is not None:
            score = f"{name or rival.name} scores {tested.shown(rival.score)}{how}"
            words.append(capital(f"{score} ({rival.compared})."))
    return " ".join([*words, tested.certainty_words()])


def _steering(report: RunReport) -> str:
    found = report.steering
    if found is None:
        return ""
    if report.settings.get("method.allocator") == "uniform":
        return (
            "This run spread its shots evenly. By its own counts the best possible allocation "
            f"would have given {found.best:.2f} times the variance; no allocator can do better."
        )
    error = "" if found.error is None else f" ± {found.error:.2f}"
    worth = "No: spreading the shots evenly would have been better for the predictions."
    if found.error is None:
        worth = "The uncertainty of this comparison was not computed."
    elif not found.sure:
        worth = "No difference that matters or stands out from the noise."
    elif found.ratio < 1:
        worth = f"Yes: evenly spread, {1 / found.ratio:.2f} times as many shots would be needed."
    return (
        f"{worth} The predictions have {found.ratio:.2f}{error} times the variance that "
        "evenly spread shots would give; the best possible allocation would reach "
        f"{found.best:.2f}. This is the noise in the decision values, to first order and from the "
        "run's own counts; it is not accuracy."
    )


def advice(report: RunReport) -> list[str]:
    """Return what to do next; shots are never advised for a kernel that cannot learn."""
    if report.state == "finished":
        return _cannot_learn(report) or _take_the_plain_model(report) or _more_shots(report)
    left = report.budget - report.table.total
    what = f"{left:,} shots are left" if left else "the test points have not been predicted yet"
    how = "aqka resume continues it."
    if not report.study_text:
        how = "It was started from Python: call acquire() again with the same arguments."
    unfinished = f"The run is not finished ({report.state}): {what}. {how}"
    return [unfinished, *_cannot_learn(report)]


def _cannot_learn(report: RunReport) -> list[str]:
    """Return why no shots are advised for a kernel that is not known to learn."""
    learns = can_learn(report)
    if learns is False:
        return [
            "No more shots: even if known exactly, this kernel is not clearly better than guessing "
            f"({report.exact.words}). Change the feature map or its range first: {TRY_OTHERS}."
        ]
    if learns is None and decide(report).outcome == "guessing":
        return [
            "No more shots yet: the run is not shown to be better than guessing, and whether its "
            f"kernel can learn is not known here ({report.exact.unknown}). Try it on fewer qubits "
            f"first: {TRY_OTHERS}."
        ]
    return []


def _take_the_plain_model(report: RunReport) -> list[str]:
    """Return what to take instead, where a plain model beats even the exact kernel."""
    tested, plain, exact = report.tested, report.best_plain, report.exact_rival
    if tested is None or plain is None or exact is None or decide(report).outcome != "plain":
        return []
    if tested.sign * (exact.score - plain.score) >= 0:
        return []
    return [
        f"Take {plain.name} for these data: it scores {tested.shown(plain.score)}, while this "
        f"kernel scores {tested.shown(exact.score)} even if known exactly. To stay with a quantum "
        f"kernel, change the feature map first: {TRY_OTHERS}."
    ]


def _more_shots(report: RunReport) -> list[str]:
    tested, exact, sentences = report.tested, report.exact_rival, []
    half = next((part for part in report.fewer if part.fraction == 0.5), None)
    if half is not None:
        sentences.append(_on_more_shots(half, report.table.n_points))
    if tested is not None and exact is not None:
        score = tested.shown(exact.score)
        if tested.sign * (tested.score - exact.score) >= 0:
            sentences.append(f"The run already scores as well as the exact kernel ({score}).")
        else:
            sentences.append(f"More shots could bring it to about the exact kernel's {score}.")
    if tested is not None and tested.n_open > MANY_OPEN * len(tested.ids):
        sentences.append(
            f"{tested.n_open} test points are not settled: a larger budget.test_shots would settle "
            "more of them."
        )
    if report.steering is not None and report.steering.sure and report.steering.ratio > 1:
        sentences.append("For the same budget, try the allocator uniform.")
    return sentences


def _on_more_shots(half: FewerShots, n_points: int) -> str:
    change = f"{half.gain:+.3f} ± {half.gain_error:.3f}"
    if half.gain > SURE * half.gain_error:
        return (
            f"More shots: the second half of them still raised the cross-validated accuracy "
            f"({change}), so doubling them again is likely to help."
        )
    if half.gain + SURE * half.gain_error < SMALL_GAIN:
        return (
            f"Not more shots: the second half of them hardly changed the cross-validated accuracy "
            f"({change}). Another feature map, more training points or another learner are more "
            "likely to help."
        )
    return (
        f"{n_points} training points are too few to tell whether more shots would help: the "
        f"second half of the shots changed the cross-validated accuracy by {change}."
    )


Outcome = Literal["learnt", "guessing", "plain", "open"]
"""``guessing``: not shown to be better; ``plain``: a model without shots is; ``open``: unknown."""


class Verdict(NamedTuple):
    """What became of a run: the verdict in a few words, and what it rests on."""

    outcome: Outcome
    headline: str
    reason: str

    @property
    def words(self) -> str:
        """Both as one line."""
        return f"{self.headline}: {self.reason}"


def decide(report: RunReport) -> Verdict:
    """Return what became of a run; the first rule that holds decides.

    1. The test points have not been predicted: open.
    2. The run is not better than guessing (the majority class, or the mean of a regression) by
       the paired test (p < 0.05): not shown to be better than guessing.
    3. A plain model is better by the same test, its p-value times the number of plain models: a
       plain model is better.
    4. Otherwise: learnt.
    """
    tested, plain = report.tested, report.best_plain
    if tested is None:
        missing = f"the run is {report.state} and its test points have not been predicted"
        if report.state == "finished":
            missing = "the run has only trained and has predicted no test points"
        if can_learn(report) is False:
            missing += "; the exact kernel is not clearly better than guessing"
            missing += f" ({report.exact.words})"
        return Verdict("open", "Not known yet", f"{missing}.")
    score, guess = tested.score_words, report.guess
    over_guessing = f"{score}; {_scores(tested, guess)} ({p_text(guess.p_value)})."
    if not guess.worse:
        headline = "Worse than guessing" if guess.better else "Not shown to be better than guessing"
        if plain is not None and tested.sign * (plain.score - tested.score) > 0:
            over_guessing += f" {capital(_scores(tested, plain))} without a shot."
        return Verdict("guessing", headline, over_guessing)
    if plain is None:
        return Verdict("learnt", "Learnt", over_guessing)
    without = capital(f"{_scores(tested, plain)} without a shot")
    if plain.better:
        reason = f"{without}, this run {score} ({p_text(plain.p_value)})."
        return Verdict("plain", "A plain model is better", reason)
    how = ", which is worse" if plain.worse else "; the difference is not significant"
    return Verdict("learnt", "Learnt", f"{over_guessing} {without}{how}.")


def can_learn(report: RunReport) -> bool | None:
    """Return whether the kernel could learn if it were known exactly; None: not simulated.

    Either the cross-validation among the training points or the test points must show it.
    """
    learns, rival = report.exact.learns, report.exact_rival
    if report.exact.unknown or (learns is None and rival is None):
        return None
    return bool(learns or (rival is not None and rival.learnt))


def _scores(tested: Tested, rival: Rival) -> str:
    name = f"the {tested.guess}" if rival.kind == "guessing" else rival.name
    return f"{name} scores {tested.shown(rival.score)}"
