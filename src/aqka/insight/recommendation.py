"""What a check found, and in one sentence: buy, change this first, or don't."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from aqka._util.shown import Shown
from aqka.insight.exact_kernels import Concentration, GeometricDifference
from aqka.insight.fold_scores import FoldScores, difference
from aqka.insight.scan import Scan

MATERIAL = 0.05  # a budget that costs less of the score than this is enough


@dataclass(frozen=True)
class Recommendation:
    """What to do: a decision, the same with its reason, and settings to change first."""

    decision: Literal["buy", "change", "don't"]
    sentence: str
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Preflight(Shown):
    """All that a check found; all scores are of the same folds.

    Attributes
    ----------
    n_points, n_given, n_train, n_train_given
        Points that were used and given (many are sampled); points that a model learns from in a
        fold, and that the budget is for.
    metrics
        Names of the scores; the first decides.
    own, winner
        Scores of the exact kernel, with the user's settings and with the best ones of the scan.
    projected
        Score of the projected kernel of the same states.
    plain, guessing
        Scores of models that need no shots, and of what needs no data.
    concentration, geometric
        How much the entries differ, and the difference to the plain kernel that comes nearest.
    scan
        All settings that were tried, the user's first.
    forecast
        Score of the user's settings with simulated shots, where there is a budget.
    null, linear_share, seconds
        With many qubits: the score with features of permuted points, the share of the features
        that a linear model of the data explains, and how long all features take here.
    training
        For a trainable map, the best common scale and the trained map, at the budget too where
        there is one; they are found afresh in every fold.
    """

    n_points: int
    n_given: int
    n_train: int
    n_train_given: int
    metrics: tuple[str, ...]
    own: FoldScores
    winner: FoldScores
    projected: FoldScores
    plain: list[FoldScores]
    guessing: FoldScores
    concentration: Concentration
    geometric: GeometricDifference
    scan: Scan
    forecast: FoldScores | None = None
    null: FoldScores | None = None
    linear_share: float | None = None
    seconds: float | None = None
    training: tuple[FoldScores, ...] = ()

    @property
    def recommendation(self) -> "Recommendation":
        """What to do."""
        found = recommend(self)
        if not self.training:
            return found
        trained, metric = self.training[-1], self.metrics[0]
        words = f"This is about the map before training; trained, its {metric} is {trained}"
        how = trained.name.removeprefix("trained map, ")
        return replace(found, sentence=f"{found.sentence} {words} {how}.")

    def _figures(self) -> dict[str, object]:
        scores = {m.name: f"{m.means[0]:.3f} ± {m.errors[0]:.3f}" for m in self.models}
        return {"decision": self.recommendation.decision, "points": self.n_points, **scores}

    def __repr__(self) -> str:
        return f"<Preflight: {self.recommendation.sentence}>"

    @property
    def models(self) -> list[FoldScores]:
        """All models that were scored, the user's kernel first."""
        return [
            self.own,
            *([] if self.forecast is None else [self.forecast]),
            self.projected if self.null is None else self.null,
            *([self.winner] if self.scan.best else []),
            self.scan.nested,
            *self.training,
            *self.plain,
            self.guessing,
        ]

    @property
    def best_plain(self) -> FoldScores:
        """The plain model with the best mean."""
        return max(self.plain, key=lambda model: float(model.means[0]))

    @property
    def a_metric(self) -> str:
        """The score that decides, with its article."""
        return f"{'an' if self.metrics[0].startswith('R') else 'a'} {self.metrics[0]}"

    def facts(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON."""
        return {
            "decision": self.recommendation.decision,
            "sentence": self.recommendation.sentence,
            "changes": dict(self.recommendation.changes),
            "points": self.n_points,
            "points_given": self.n_given,
            "training_points": self.n_train,
            "training_points_given": self.n_train_given,
            "scores": [self._scores(model) for model in self.models],
            "concentration": asdict(self.concentration) | {"words": self.concentration.words},
            "geometric_difference": asdict(self.geometric),
            "linear_share": self.linear_share,
            "seconds_to_compute": self.seconds,
            "scan": {
                "tried": len(self.scan.candidates),
                "best": [
                    {"settings": dict(self.scan.candidates[k].settings)}
                    | self._scores(self.scan.scores[k])
                    for k in self.scan.order[:10]
                ],
                "nested": self._scores(self.scan.nested),
                "flattery": self.scan.flattery,
            },
        }

    def _scores(self, model: FoldScores) -> dict[str, Any]:
        found: dict[str, Any] = {"name": model.name}
        for name, mean, error in zip(self.metrics, model.means, model.errors, strict=True):
            found[name] = {"mean": float(mean), "standard_error": float(error)}
        return found


def recommend(found: Preflight) -> Recommendation:
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
    gain = difference(found.scan.nested, found.scan.scores[0])
    if found.seconds is not None:
        return Recommendation("don't", _computable(found, found.seconds), found.scan.changes)
    if not learns and not difference(found.scan.nested, guessing).clear:
        return Recommendation("don't", _nothing_learns(found))
    if beaten and difference(plain, found.winner).clear:
        return Recommendation("don't", _plain_is_better(found), found.scan.changes)
    if found.scan.changes and (gain.clear or (gain.mean > 0 and (beaten or not learns))):
        return Recommendation("change", _other_settings(found), found.scan.changes)
    if not learns:
        return Recommendation("don't", _nothing_learns(found))
    if beaten:
        return Recommendation("don't", _plain_is_better(found), found.scan.changes)
    if found.forecast is not None:
        loss = difference(own, found.forecast)
        reaches = difference(found.forecast, guessing).clear
        if not reaches or (loss.clear and loss.mean > MATERIAL):
            sentence = (
                f"Change this first: raise the budget, or take fewer training points; exact, the "
                f"kernel has {found.a_metric} of {own}, with these shots "
                f"{found.forecast} (guessing: {guessing.means[0]:.2f})."
            )
            return Recommendation("change", sentence)
    return Recommendation("buy", _buy(found), found.scan.changes)


def _computable(found: Preflight, seconds: float) -> str:
    plain, took = found.best_plain, "less than a second" if seconds < 1 else f"{seconds:.0f} s"
    gap = difference(found.own, plain)
    return (
        f"Don't buy: these features can be computed here in {took} without any shots. "
        f"Computed, their kernel has {found.a_metric} of {found.own}, "
        f"{'' if gap.clear else 'not '}clearly better than {plain.name} ({plain}; {gap}); "
        f"guessing has {found.guessing.means[0]:.2f}."
    )


def _nothing_learns(found: Preflight) -> str:
    plain, remedy = found.best_plain, "no plain model is either, so look at the data first"
    if difference(plain, found.guessing).clear:
        remedy = f"{plain.name} has {plain} without a shot"
    return (
        f"Don't buy: neither this kernel ({found.metrics[0]} {found.own}) nor the best of "
        f"{len(found.scan.candidates)} settings ({found.scan.nested}) is clearly better than "
        f"guessing ({found.guessing.means[0]:.2f}); {remedy}."
    )


def _plain_is_better(found: Preflight) -> str:
    plain, gap = found.best_plain, difference(found.best_plain, found.winner)
    others = f"no others of {len(found.scan.candidates)} settings are better with these shots"
    if gap.clear:
        others = f"than the best of {len(found.scan.candidates)} settings ({found.winner}; {gap})"
    return (
        f"Don't buy: {plain.name} has {found.a_metric} of {plain} without a shot, clearly "
        f"more than this kernel even if exact ({found.own}), and {others}."
    )


def _other_settings(found: Preflight) -> str:
    scan, plain = found.scan, found.best_plain
    where = "" if found.forecast is None else "at this budget "
    return (
        f"Change this first: {settings_text(scan.changes)}; {where}the {found.metrics[0]} is then "
        f"{scan.nested} instead of {scan.scores[0]} ({difference(scan.nested, scan.scores[0])}, "
        f"choosing among {len(scan.candidates)} settings accounted for), {plain.name} has {plain} "
        "without a shot."
    )


def _buy(found: Preflight) -> str:
    plain, metric = found.best_plain, found.metrics[0]
    gap = difference(found.own, plain)
    reached = "" if found.forecast is None else f", with these shots {found.forecast}"
    if gap.clear:
        return (
            f"Buy: the kernel's {metric} of {found.own}{reached} is clearly better than any plain "
            f"model's ({plain.name}: {plain}; {gap})."
        )
    return (
        f"Buy only to study this kernel: it learns ({metric} {found.own}{reached}) but is not "
        f"clearly better than {plain.name}, which has {plain} without a shot ({gap})."
    )


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings as a study file has them: ``map = "z", range = [0.0, 1.5]``."""
    texts = (f'{k} = "{v}"' if isinstance(v, str) else f"{k} = {v}" for k, v in settings.items())
    return ", ".join(texts)
