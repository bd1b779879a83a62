"""Before a single paid shot: is this quantum kernel worth any?"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import FloatArray
from aqka._util.shown import Shown
from aqka.backends.circuits import as_data
from aqka.backends.feature_maps import BUILT_IN_MAPS, DEFAULT_REPS
from aqka.backends.statevector import fidelities
from aqka.core.defaults import DEFAULT_C
from aqka.errors import InputError
from aqka.insight.baselines import baselines, guessing
from aqka.insight.exact_kernels import (
    Concentration,
    FeatureMap,
    GeometricDifference,
    concentration,
    nearest_plain_kernel,
    projected_kernels,
)
from aqka.insight.fold_scores import (
    FoldScores,
    KernelHead,
    folds_a_repetition,
    metric_names,
    repeated_folds,
    score_folds,
    subsample,
)
from aqka.insight.recommendation import Evidence, Recommendation, recommend
from aqka.insight.scan import RANGES, REPS, Candidate, Scan, Spending, forecast, scan
from aqka.maths.metrics import FOLDS, Fold

MAX_POINTS = 200
MIN_POINTS = 10
FIXED_STEPS = 7  # two kernels, three plain models, guessing, the winner

Step = Callable[[str], None]


@dataclass(frozen=True, eq=False, repr=False)
class Preflight(Shown):
    """All that a check found.

    Attributes
    ----------
    n_points, n_given
        Points that were used, and that were given: of many, a sample is taken.
    n_train, n_train_given
        Points that a model learns from in a fold, and that the budget is for: of a sample, fewer.
    metrics
        Names of the scores; the first decides.
    fidelity, projected
        The exact kernel with its own settings, and the projected one of the same states.
    plain
        Models without shots.
    guessing
        What needs no data.
    winner
        The exact kernel with the best settings of the scan.
    forecast
        The user's kernel with simulated shots; None without a budget.
    concentration
        Of the user's kernel.
    geometric
        Difference to the plain kernel that comes nearest.
    scan
        All settings that were tried; those of the user first.
    recommendation
        What to do.
    """

    n_points: int
    n_given: int
    n_train: int
    n_train_given: int
    metrics: tuple[str, ...]
    fidelity: FoldScores
    projected: FoldScores
    plain: list[FoldScores]
    guessing: FoldScores
    winner: FoldScores
    forecast: FoldScores | None
    concentration: Concentration
    geometric: GeometricDifference
    scan: Scan
    recommendation: Recommendation

    def _figures(self) -> dict[str, object]:
        scores = {
            model.name: f"{model.means[0]:.3f} ± {model.errors[0]:.3f}" for model in self.models
        }
        return {"decision": self.recommendation.decision, "points": self.n_points, **scores}

    def __repr__(self) -> str:
        """Return the sentence that it ends in."""
        return f"<Preflight: {self.recommendation.sentence}>"

    @property
    def models(self) -> list[FoldScores]:
        """All models that were scored, the user's kernel first."""
        return [
            self.fidelity,
            *([] if self.forecast is None else [self.forecast]),
            self.projected,
            *([self.winner, self.scan.nested] if self.scan.best else []),
            *self.plain,
            self.guessing,
        ]

    def facts(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON."""
        shown = self.scan.order[:10]
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
            "scan": {
                "tried": len(self.scan.candidates),
                "best": [
                    {"settings": dict(self.scan.candidates[k].settings)}
                    | self._scores(self.scan.scores[k])
                    for k in shown
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
    feature_map: FeatureMap = "zz",
    *,
    spending: Spending | None = None,
    columns: ArrayLike | None = None,
    candidates: list[Candidate] | None = None,
    head: str = "ridge",
    C: float = DEFAULT_C,
    seed: int = 0,
    on_step: Step | None = None,
) -> Preflight:
    """Say whether a quantum kernel is worth any shots, from exact simulation alone.

    Every model is scored on the same repeated folds (5 folds, twice, classes keeping their
    shares), so that differences are paired. Of more than 200 points a sample is taken: models then
    learn from 160 at most, with as many shots a pair as the budget gives.

    Parameters
    ----------
    X
        Angles, one row per point, as the circuit takes them.
    y
        Classes, or real targets (floats of more than two values).
    feature_map
        ``"zz"``, ``"zz-full"``, ``"z"``, a circuit of up to 14 qubits, or a PennyLane function.
    spending
        The budget and how it would be spent; None leaves shots out.
    columns
        The data that plain models see; ``X`` if None.
    candidates
        Settings to try; the first is the user's own, of ``X`` and ``feature_map``. If None, some
        ranges of angles and, of a built-in map, the others and some repetitions.
    head
        ``"ridge"``, tuned by leave-one-out, or ``"svm"``.
    C
        Of the SVM.
    seed
        Of the folds and of the sample.
    on_step
        Called with a word after each of ``count_steps`` steps.

    Notes
    -----
    Scores are balanced accuracy and accuracy, or R². Noise of a device is not simulated.
    :func:`~aqka.insight.recommendation.recommend` states the rules.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (40, 2))
    >>> found = preflight(X, rng.integers(0, 2, 40))  # labels that mean nothing
    >>> found.recommendation.decision
    "don't"
    """
    angles = as_data(X)
    plain_X = angles if columns is None else as_data(columns, "columns")
    labels = np.asarray(y)
    _check(angles, plain_X, labels, head)
    if candidates is None:
        candidates = default_candidates(angles, feature_map)
    chosen = subsample(labels, MAX_POINTS, seed)
    candidates = [replace(c, angles=c.angles[chosen]) for c in candidates]
    return _Check(
        plain_X[chosen], labels[chosen], candidates, spending, head, C, seed, on_step
    ).run(len(labels))


def count_steps(n_candidates: int) -> int:
    """Return how often a check with a budget calls ``on_step``, at most."""
    return n_candidates + FOLDS + FIXED_STEPS


def default_candidates(angles: FloatArray, feature_map: FeatureMap) -> list[Candidate]:
    """Return the given encoding, then every range of a scan with every map it can have."""
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
    for name, reps, (ends, points) in product(BUILT_IN_MAPS, REPS, scaled.items()):
        settings = {"map": name, "range": list(ends), "reps": reps}
        candidates.append(Candidate(settings, points, name, reps))
    return candidates


def _check(angles: FloatArray, plain_X: FloatArray, y: NDArray[Any], head: str) -> None:
    if y.shape != (len(angles),) or len(plain_X) != len(angles):
        raise InputError(
            f"X, y and columns must have as many points, got {len(angles)}, shape {y.shape} and "
            f"{len(plain_X)}."
        )
    if len(y) < MIN_POINTS:
        raise InputError(f"a check needs at least {MIN_POINTS} points, got {len(y)}.")
    if head not in ("ridge", "svm"):
        raise InputError(f"head must be 'ridge' or 'svm', got {head!r}.")


@dataclass(frozen=True, eq=False)
class _Check:
    """The points of a check and how they are scored."""

    X: FloatArray
    y: NDArray[Any]
    candidates: list[Candidate]
    spending: Spending | None
    head: str
    C: float
    seed: int
    on_step: Step | None

    def run(self, n_given: int) -> Preflight:
        n_train = None if self.spending is None else self.spending.n_train
        folds = repeated_folds(self.y, n_train, seed=self.seed)
        head = KernelHead(self.y, self.head == "svm", self.C)
        states = self.candidates[0].states()
        kernel, projections = fidelities(states), projected_kernels(states)
        own = self._score("exact kernel", lambda f: head.predict(kernel, f), folds)
        projected = self._score("projected kernel", lambda f: head.choose(projections, f), folds)
        models = baselines(self.X, self.y)
        plain = [self._score(name, predict, folds) for name, predict in models.items()]
        guess = self._score(*guessing(self.y), folds)
        step = self._step_of("settings")
        tried = scan(self.candidates, self.y, folds, head, self.spending, step)
        best = self.candidates[tried.best]
        best_kernel = kernel if tried.best == 0 else best.kernel()
        winner = self._score("best settings, exact", lambda f: head.predict(best_kernel, f), folds)
        bought = self._forecast("at this budget", kernel, folds)
        changes = best.changes(self.candidates[0])
        evidence = Evidence(
            metric_names(self.y)[0],
            own,
            winner,
            tried.scores[0],
            tried.nested,
            plain,
            guess,
            bought,
            changes,
            len(self.candidates),
        )
        per_pair = None if self.spending is None else self.spending.shots_per_pair
        return Preflight(
            len(self.y),
            n_given,
            len(folds[0].kept),
            n_train or len(folds[0].kept),
            metric_names(self.y),
            own,
            projected,
            plain,
            guess,
            winner,
            bought,
            concentration(kernel, per_pair),
            nearest_plain_kernel(self.X, kernel),
            tried,
            recommend(evidence),
        )

    def _score(
        self, name: str, predict: Callable[[Fold], NDArray[Any]], folds: list[Fold]
    ) -> FoldScores:
        found = score_folds(name, predict, self.y, folds)
        self._step_of(name)()
        return found

    def _forecast(self, name: str, kernel: FloatArray, folds: list[Fold]) -> FoldScores | None:
        if self.spending is None:
            return None
        once = folds[: folds_a_repetition(folds, len(self.y))]
        return forecast(name, kernel, self.y, once, self.spending, self._step_of(name))

    def _step_of(self, name: str) -> Callable[[], None]:
        return lambda: None if self.on_step is None else self.on_step(name)
