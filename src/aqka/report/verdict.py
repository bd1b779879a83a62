"""Was it worth it? One function decides; the terminal and the page print what it says."""

from typing import TYPE_CHECKING, Literal, NamedTuple

from aqka.insight.fold_scores import difference
from aqka.report.exact_kernel import ExactKernel
from aqka.report.number_text import p_text
from aqka.report.rivals import Kind, Rival

if TYPE_CHECKING:
    from aqka.report.point_results import PointResults
    from aqka.report.run_report import RunReport

Outcome = Literal["learnt", "guessing", "plain", "open"]


class Verdict(NamedTuple):
    """What became of a run.

    Attributes
    ----------
    outcome
        ``learnt``; ``guessing``: not shown to be better than that; ``plain``: a model without
        shots is better; ``open``: not known yet.
    headline, reason
        The verdict in a few words, and what it rests on.
    """

    outcome: Outcome
    headline: str
    reason: str

    @property
    def words(self) -> str:
        """Both as one line."""
        return f"{self.headline}: {self.reason}"


def decide(report: "RunReport") -> Verdict:
    """Return what became of a run; the first rule that holds decides.

    1. The test points are not predicted: open.
    2. The run is not better than the majority class by the exact McNemar test (p < 0.05): not
       shown to be better than guessing.
    3. A plain model is better by the same test, its p-value times the number of plain models: a
       plain model is better.
    4. Otherwise: learnt.
    """
    if report.values is not None:
        from aqka.report.value_results import decide_values  # which makes a Verdict itself

        return decide_values(report.values)
    found = report.point_results
    if found is None:
        return Verdict("open", "Not known yet", _what_is_missing(report))
    score = f"{found.accuracy:.3f} on {len(found.truth)} test points"
    guess = rival_of(report, "guessing")
    if guess is None:
        return Verdict("open", "Not compared", f"accuracy {score}.")
    if not guess.worse:
        return _not_better(report, found, guess, score)
    plain = best_plain(report)
    if plain is not None and plain.better:
        return Verdict(
            "plain",
            "A plain model is better",
            f"{plain.name} has {plain.score:.3f} without a shot, this run {score} "
            f"({p_text(plain.p_value)}).",
        )
    return Verdict("learnt", "Learnt", f"{_over_guessing(score, guess)}{_beside_plain(plain)}")


def can_learn(report: "RunReport") -> bool | None:
    """Return whether the kernel could learn if it were known exactly; None: not simulated.

    Either the cross-validation among the training points or the test points must show it.
    """
    exact = report.exact
    if not isinstance(exact, ExactKernel):
        return None
    rival = rival_of(report, "exact")
    if exact.learns is None and rival is None:
        return None
    return bool(exact.learns or (rival is not None and rival.learnt))


def exact_text(exact: ExactKernel) -> str:
    """Return how the exact kernel does among the training points, beside guessing."""
    if exact.scores is None or exact.guessing is None:
        return "the training points are too few of a class to judge it"
    gap = difference(exact.scores, exact.guessing)
    return (
        f"{exact.metric} {exact.scores.means[0]:.2f} ± {exact.scores.errors[0]:.2f} by "
        f"cross-validation on {exact.n_judged} training points, guessing "
        f"{exact.guessing.means[0]:.2f}; {gap}"
    )


def rival_of(report: "RunReport", kind: Kind) -> Rival | None:
    """Return the first rival of a kind."""
    return next((one for one in report.rivals if one.kind == kind), None)


def best_plain(report: "RunReport") -> Rival | None:
    """Return the plain model that did best on the test points."""
    plain = [one for one in report.rivals if one.kind == "plain"]
    return max(plain, key=lambda one: one.score, default=None)


def _what_is_missing(report: "RunReport") -> str:
    if report.state == "finished":
        text = "the run has only trained, and predicted no test points"
    else:
        text = f"the run is {report.state} and its test points are not predicted"
    exact = report.exact
    if isinstance(exact, ExactKernel) and can_learn(report) is False:
        return (
            f"{text}; the exact kernel is not clearly better than guessing ({exact_text(exact)})."
        )
    return f"{text}."


def _not_better(report: "RunReport", found: "PointResults", guess: Rival, score: str) -> Verdict:
    headline = "Worse than guessing" if guess.better else "Not shown to be better than guessing"
    reason = _over_guessing(score, guess)
    plain = best_plain(report)
    if plain is not None and plain.score > found.accuracy:
        reason += f" {plain.name} has {plain.score:.3f} without a shot."
    return Verdict("guessing", headline, reason)


def _over_guessing(score: str, guess: Rival) -> str:
    return f"{score}, {guess.name} {guess.score:.3f} ({p_text(guess.p_value)})."


def _beside_plain(plain: Rival | None) -> str:
    if plain is None:
        return ""
    text = f" {plain.name} has {plain.score:.3f} without a shot"
    return f"{text}, which is worse." if plain.worse else f"{text}: not shown to differ."
