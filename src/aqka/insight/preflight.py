"""Before a single paid shot: is this quantum kernel worth any?"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray
from aqka._util.shown import Shown
from aqka.backends.circuits import as_data
from aqka.backends.feature_maps import BUILT_IN_MAPS, DEFAULT_REPS
from aqka.core.problem import DEFAULT_C
from aqka.errors import InputError
from aqka.insight import exact_kernels, fold_scores
from aqka.insight.baselines import baselines, guessing
from aqka.insight.fold_scores import FoldScores, Predict
from aqka.insight.map_kernels import MapKernel
from aqka.insight.map_training import nested_scores
from aqka.insight.recommendation import Evidence, Recommendation, recommend
from aqka.insight.scan import RANGES, REPS, Candidate, Scan, Spending, forecast, scan
from aqka.maths.metrics import FOLDS

MAX_POINTS = 200
MIN_POINTS = 10
FIXED_STEPS = 7  # two kernels, three plain models, guessing, the winner

Step = Callable[[str], None]


@dataclass(frozen=True, eq=False, repr=False)
class Preflight(Shown):
    """All that a check found.

    Attributes
    ----------
    n_points, n_given, n_train, n_train_given
        Points that were used and given (many are sampled); points that a model learns from in a
        fold, and that the budget is for.
    metrics
        Names of the scores; the first decides.
    evidence, projected
        Scores of the exact kernel, of plain models and of the kernel with simulated shots; score
        of the projected kernel of the same states.
    concentration, geometric
        How much the entries differ, and the difference to the plain kernel that comes nearest.
    scan
        All settings that were tried, the user's first.
    null, linear_share
        With many qubits: the score with features of permuted points, and the share of the features
        that a linear model of the data explains.
    training
        Of a trainable map, the best common scale and the trained map, at the budget too where there
        is one; they are found anew in every fold.
    """

    n_points: int
    n_given: int
    n_train: int
    n_train_given: int
    metrics: tuple[str, ...]
    evidence: Evidence
    projected: FoldScores
    concentration: exact_kernels.Concentration
    geometric: exact_kernels.GeometricDifference
    scan: Scan
    null: FoldScores | None = None
    linear_share: float | None = None
    training: tuple[FoldScores, ...] = ()

    @property
    def recommendation(self) -> Recommendation:
        """What to do."""
        found = recommend(self.evidence)
        if not self.training:
            return found
        trained, metric = self.training[-1], self.metrics[0]
        how = trained.name.removeprefix("trained map, ")
        words = (
            f"{found.sentence} This is about the map before training; trained, its {metric} is "
            f"{trained.means[0]:.2f} ± {trained.errors[0]:.2f} {how}."
        )
        return replace(found, sentence=words)

    def _figures(self) -> dict[str, object]:
        scores = {m.name: f"{m.means[0]:.3f} ± {m.errors[0]:.3f}" for m in self.models}
        return {"decision": self.recommendation.decision, "points": self.n_points, **scores}

    def __repr__(self) -> str:
        return f"<Preflight: {self.recommendation.sentence}>"

    @property
    def models(self) -> list[FoldScores]:
        """All models that were scored, the user's kernel first."""
        found = self.evidence
        return [
            found.own,
            *([] if found.forecast is None else [found.forecast]),
            *([self.projected] if self.null is None else [self.null]),
            *([found.winner] if self.scan.best else []),
            found.nested,
            *self.training,
            *found.plain,
            found.guessing,
        ]

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
            "seconds_to_compute": self.evidence.seconds,
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


def preflight(
    X: ArrayLike,
    y: ArrayLike,
    feature_map: exact_kernels.FeatureMap = "zz",
    *,
    spending: Spending | None = None,
    columns: ArrayLike | None = None,
    candidates: list[Candidate] | None = None,
    head: str = "ridge",
    C: float = DEFAULT_C,
    seed: int = 0,
    on_step: Step | None = None,
    trainable: MapKernel | None = None,
) -> Preflight:
    """Say whether a quantum kernel is worth any shots, from exact simulation alone.

    Every model is scored on the same repeated folds (5 folds, twice, classes keeping their
    shares), so that differences are paired. More than 200 points are sampled: models then
    learn from 160 at most, with as many shots a pair as the budget gives.

    Scores are balanced accuracy and accuracy, or R²; noise of a device is not simulated.
    :func:`~aqka.insight.recommendation.recommend` states the rules.

    Parameters
    ----------
    X : array of shape (points, features)
        Angles, as the circuit takes them.
    y : array
        Classes, or real targets (floats of more than two values).
    feature_map : str, QuantumCircuit or callable
        ``"zz"``, ``"zz-full"``, ``"z"``, a circuit, or a PennyLane function. Above 14 qubits the
        kernel is the projected one, by light cones, which a circuit of few layers needs.
    spending : Spending, optional
        The budget and how it would be spent; None leaves shots out.
    columns : array, optional
        The data that plain models see; ``X`` by default.
    candidates : list of Candidate, optional
        Settings to try; the first is the user's own, with ``X`` and ``feature_map``. By default
        some ranges of angles and, for a built-in map, the other maps and some repetitions.
    head : {"ridge", "svm"}
        Ridge regression tuned by leave-one-out, or an SVM.
    C : float
        Regularisation of the SVM.
    seed : int, default=0
        Seed of the folds and of the sample.
    on_step : callable, optional
        Called with a word after each of ``count_steps`` steps.
    trainable : MapKernel, optional
        The map to train and its kernel, for points ``X``; scored beside a common scale.
    """
    angles = as_data(X)
    plain_X = angles if columns is None else as_data(columns, "columns")
    labels = np.asarray(y)
    if labels.shape != (len(angles),) or len(plain_X) != len(angles):
        raise InputError(
            f"X, y and columns must have as many points, got {len(angles)}, shape {labels.shape} "
            f"and {len(plain_X)}."
        )
    if len(labels) < MIN_POINTS:
        raise InputError(f"a check needs at least {MIN_POINTS} points, got {len(labels)}.")
    if head not in ("ridge", "svm"):
        raise InputError(f"head must be 'ridge' or 'svm', got {head!r}.")
    if candidates is None:
        candidates = default_candidates(angles, feature_map)
    chosen = fold_scores.subsample(labels, MAX_POINTS, seed)
    candidates = [replace(c, angles=c.angles[chosen]) for c in candidates]
    targets, table = labels[chosen], plain_X[chosen]
    folds = fold_scores.repeated_folds(
        targets, None if spending is None else spending.n_train, seed=seed
    )

    step = on_step or (lambda _: None)

    def score(name: str, predict: Predict) -> FoldScores:
        found = fold_scores.score_folds(name, predict, targets, folds)
        step(name)
        return found

    model = fold_scores.KernelHead(targets, head == "svm", C)
    mine, started = candidates[0], time.perf_counter()
    projections, wide = exact_kernels.projected_kernels(mine.features), mine.is_wide
    seconds = (time.perf_counter() - started) * len(labels) / len(targets)
    kernel, null = mine.kernel(), None
    if wide:
        own = score("projected kernel", lambda fold: model.choose(projections, fold))
        mixed = np.random.default_rng(seed).permutation(len(targets))
        shuffled = [each[np.ix_(mixed, mixed)] for each in projections]
        null = score("features of permuted points", lambda fold: model.choose(shuffled, fold))
    else:
        own = score("exact kernel", lambda fold: model.predict(kernel, fold))
    projected = (
        own if wide else score("projected kernel", lambda fold: model.choose(projections, fold))
    )
    plain = [score(name, predict) for name, predict in baselines(table, targets).items()]
    guess = score(*guessing(targets))
    tried = scan(candidates, targets, folds, model, spending, lambda: step("settings"))
    best_kernel = kernel if tried.best == 0 else candidates[tried.best].kernel()
    winner = score("best settings, exact", lambda fold: model.predict(best_kernel, fold))
    bought = None
    if spending is not None:
        name, once = "at this budget", folds[: fold_scores.folds_a_repetition(folds, len(targets))]
        if wide:
            seen, rows = mine.measured(spending, np.random.default_rng(seed))
            bought = fold_scores.score_folds(
                name, lambda fold: model.predict(seen, fold, rows), targets, once
            )
        else:
            bought = forecast(name, lambda _: kernel, targets, once, spending, lambda: step(name))
    evidence = Evidence(
        metric=fold_scores.metric_names(targets)[0],
        own=own,
        winner=winner,
        own_scanned=tried.scores[0],
        nested=tried.nested,
        plain=plain,
        guessing=guess,
        forecast=bought,
        changes=candidates[tried.best].changes(candidates[0]),
        n_tried=len(candidates),
        seconds=seconds if wide else None,
    )
    training: tuple[FoldScores, ...] = ()
    if trainable is not None:  # shots of a projected kernel are none on pairs
        bought_by = spending if trainable.design.counts_entries else None
        training = nested_scores(trainable, mine.angles, targets, folds, model, seed, bought_by)
    per_pair = None if spending is None or wide else spending.shots_per_pair
    return Preflight(
        n_points=len(targets),
        n_given=len(labels),
        n_train=len(folds[0].kept),
        n_train_given=len(folds[0].kept) if spending is None else spending.n_train,
        metrics=fold_scores.metric_names(targets),
        evidence=evidence,
        projected=projected,
        concentration=exact_kernels.concentration(kernel, per_pair),
        geometric=exact_kernels.nearest_plain_kernel(table, kernel),
        scan=tried,
        null=null,
        linear_share=exact_kernels.linear_share(table, mine.features) if wide else None,
        training=training,
    )


def count_steps(n_candidates: int) -> int:
    """Return how often a check with a budget calls ``on_step``, at most."""
    return n_candidates + FOLDS + FIXED_STEPS


def default_candidates(
    angles: FloatArray, feature_map: exact_kernels.FeatureMap
) -> list[Candidate]:
    """Return the given encoding, then every range of a scan with every map it can have.

    Of many qubits the map stays: each of its kernels takes a second.
    """
    low, width = angles.min(axis=0), np.ptp(angles, axis=0)
    unit = (angles - low) / np.where(width > 0, width, 1.0)
    scaled = {(start, end): start + (end - start) * unit for start, end in RANGES}
    if not isinstance(feature_map, str):
        own = Candidate({"map": "as given", "range": "as given"}, angles, feature_map)
        return [own] + [
            Candidate({"map": "as given", "range": list(ends)}, points, feature_map)
            for ends, points in scaled.items()
        ]
    settings = {"map": feature_map, "range": "as given", "reps": DEFAULT_REPS}
    candidates = [Candidate(settings, angles, feature_map)]
    wide = exact_kernels.is_wide(angles, feature_map)
    forms = product([feature_map], [DEFAULT_REPS]) if wide else product(BUILT_IN_MAPS, REPS)
    for (name, reps), (ends, points) in product(forms, scaled.items()):
        settings = {"map": name, "range": list(ends), "reps": reps}
        candidates.append(Candidate(settings, points, name, reps))
    return candidates
