"""From scores to one sentence: buy, change this first, or don't."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from aqka.insight.fold_scores import FoldScores, difference

MATERIAL = 0.05  # a budget that costs less of the score than this is enough


@dataclass(frozen=True)
class Recommendation:
    """What to do: a decision, the same with its reason, and settings to change first."""

    decision: Literal["buy", "change", "don't"]
    sentence: str
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a recommendation rests on; all scores are of the same folds."""

    metric: str  # the score that decides
    own: FoldScores  # the exact kernel with the user's settings
    winner: FoldScores  # and with the best ones of the scan
    own_scanned: FoldScores  # the user's settings at the budget
    nested: FoldScores  # and whatever looks best inside each fold
    plain: list[FoldScores]  # models that need no shots
    guessing: FoldScores  # what needs no data
    forecast: FoldScores | None  # the user's settings with simulated shots, if there is a budget
    changes: Mapping[str, Any]  # the winner's settings that are not the user's
    n_tried: int
    seconds: float | None = None  # that all features take here, where a map has many qubits

    @property
    def a_metric(self) -> str:
        """The score that decides, with its article."""
        return f"{'an' if self.metric.startswith('R') else 'a'} {self.metric}"

    @property
    def best_plain(self) -> FoldScores:
        """The plain model with the best mean."""
        return max(self.plain, key=lambda model: float(model.means[0]))


def recommend(found: Evidence) -> Recommendation:
    """Return what to do. The first rule that holds decides; "clearly" is by two standard errors.

    0. The features of a map of many qubits can be computed here, in seconds: don't.
    1. Neither the user's kernel nor the best settings (nested) are clearly better than guessing:
       don't.
    2. A plain model is clearly better than the exact kernel, both with the user's settings and
       with the best ones (whose score being the best of many flatters): don't.
    3. Other settings are clearly better at the budget (nested); or they are better there, though
       not clearly, and the user's own kernel is either not clearly better than guessing or clearly
       worse than a plain model: change to those settings first.
    4. The user's kernel is not clearly better than guessing, or clearly worse than a plain model:
       don't.
    5. With simulated shots the kernel is not clearly better than guessing, or clearly worse than
       exact by more than 0.05: change the budget first.
    6. Otherwise buy; the sentence says whether a plain model does as well.

    All differences are paired, fold by fold.
    """
    own, plain, guessing = found.own, found.best_plain, found.guessing
    learns, beaten = difference(own, guessing).clear, difference(plain, own).clear
    gain = difference(found.nested, found.own_scanned)
    if found.seconds is not None:
        return Recommendation("don't", _computable(found, found.seconds), found.changes)
    if not learns and not difference(found.nested, guessing).clear:
        return Recommendation("don't", _nothing_learns(found))
    if beaten and difference(plain, found.winner).clear:
        return Recommendation("don't", _plain_is_better(found), found.changes)
    if found.changes and (gain.clear or (gain.mean > 0 and (beaten or not learns))):
        return Recommendation("change", _other_settings(found), found.changes)
    if not learns:
        return Recommendation("don't", _nothing_learns(found))
    if beaten:
        return Recommendation("don't", _plain_is_better(found), found.changes)
    if found.forecast is not None:
        loss = difference(own, found.forecast)
        reaches = difference(found.forecast, guessing).clear
        if not reaches or (loss.clear and loss.mean > MATERIAL):
            sentence = (
                f"Change this first: raise the budget, or take fewer training points; exact, the "
                f"kernel has {found.a_metric} of {_text(own)}, with these shots "
                f"{_text(found.forecast)} (guessing: {guessing.means[0]:.2f})."
            )
            return Recommendation("change", sentence)
    return Recommendation("buy", _buy(found), found.changes)


def _computable(found: Evidence, seconds: float) -> str:
    plain, took = found.best_plain, "less than a second" if seconds < 1 else f"{seconds:.0f} s"
    gap = difference(found.own, plain)
    return (
        f"Don't buy: these features can be computed here in {took}: do not buy shots for them. "
        f"Computed, their kernel has {found.a_metric} of {_text(found.own)}, "
        f"{'' if gap.clear else 'not '}clearly better than {plain.name} ({_text(plain)}; {gap}); "
        f"guessing has {found.guessing.means[0]:.2f}."
    )


def _nothing_learns(found: Evidence) -> str:
    plain, remedy = found.best_plain, "no plain model is either, so look at the data first"
    if difference(plain, found.guessing).clear:
        remedy = f"{plain.name} has {_text(plain)} without a shot"
    return (
        f"Don't buy: neither this kernel ({found.metric} {_text(found.own)}) nor the best of "
        f"{found.n_tried} settings ({_text(found.nested)}) is clearly better than guessing "
        f"({found.guessing.means[0]:.2f}); {remedy}."
    )


def _plain_is_better(found: Evidence) -> str:
    plain, gap = found.best_plain, difference(found.best_plain, found.winner)
    others = f"no others of {found.n_tried} settings are better with these shots"
    if gap.clear:
        others = f"than the best of {found.n_tried} settings ({_text(found.winner)}; {gap})"
    return (
        f"Don't buy: {plain.name} has {found.a_metric} of {_text(plain)} without a shot, clearly "
        f"more than this kernel even if exact ({_text(found.own)}), and {others}."
    )


def _other_settings(found: Evidence) -> str:
    gain, plain = difference(found.nested, found.own_scanned), found.best_plain
    where = "" if found.forecast is None else "at this budget "
    return (
        f"Change this first: {settings_text(found.changes)}; {where}the {found.metric} is then "
        f"{_text(found.nested)} instead of {_text(found.own_scanned)} ({gain}, choosing among "
        f"{found.n_tried} settings accounted for), {plain.name} has {_text(plain)} without a shot."
    )


def _buy(found: Evidence) -> str:
    plain, gap = found.best_plain, difference(found.own, found.best_plain)
    reached = "" if found.forecast is None else f", with these shots {_text(found.forecast)}"
    if gap.clear:
        return (
            f"Buy: the kernel's {found.metric} of {_text(found.own)}{reached} is clearly better "
            f"than any plain model's ({plain.name}: {_text(plain)}; {gap})."
        )
    return (
        f"Buy only to study this kernel: it learns ({found.metric} {_text(found.own)}{reached}) "
        f"but is not clearly better than {plain.name}, which has {_text(plain)} without a shot "
        f"({gap})."
    )


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings as a study file has them.

    >>> settings_text({"map": "z", "range": [0.0, 1.5]})
    'map = "z", range = [0.0, 1.5]'
    """
    texts = (f'{k} = "{v}"' if isinstance(v, str) else f"{k} = {v}" for k, v in settings.items())
    return ", ".join(texts)


def _text(model: FoldScores) -> str:
    return f"{model.means[0]:.2f} ± {model.errors[0]:.2f}"
