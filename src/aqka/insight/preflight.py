"""Before a single paid shot: is this quantum kernel worth any?"""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray
from aqka.backends.circuits import as_data
from aqka.backends.feature_maps import BUILT_IN_MAPS, DEFAULT_REPS
from aqka.core.problem import DEFAULT_C
from aqka.errors import InputError
from aqka.insight import exact_kernels, fold_scores
from aqka.insight.baselines import baselines, guessing
from aqka.insight.fold_scores import FoldScores, Predict
from aqka.insight.map_kernels import MapKernel
from aqka.insight.map_training import nested_scores
from aqka.insight.recommendation import Preflight
from aqka.insight.scan import RANGES, REPS, Candidate, Spending, forecast, scan
from aqka.maths.metrics import FOLDS

MAX_POINTS = 200
MIN_POINTS = 10
FIXED_STEPS = 7  # two kernels, three plain models, guessing, the winner

Step = Callable[[str], None]


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
    feature_map : str, QuantumCircuit or callable, default="zz"
        ``"zz"``, ``"zz-full"``, ``"z"``, a circuit, or a PennyLane function. Above 14 qubits the
        kernel is the projected one, by light cones, which a circuit of few layers needs.
    spending : Spending, optional
        The budget and how it would be spent; None leaves shots out.
    columns : array, optional
        The data that plain models see; ``X`` by default.
    candidates : list of Candidate, optional
        Settings to try; the first is the user's own, with ``X`` and ``feature_map``. By default
        some ranges of angles and, for a built-in map, the other maps and some repetitions.
    head : {"ridge", "svm"}, default="ridge"
        Ridge regression tuned by leave-one-out, or an SVM.
    C : float, default=5.0
        Regularisation of the SVM.
    seed : int, default=0
        Seed of the folds and of the sample.
    on_step : callable, optional
        Called with a word after each of ``count_steps`` steps.
    trainable : MapKernel, optional
        The map to train and its kernel, for points ``X``; scored along with a common scale.
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
    n_train = None if spending is None else spending.n_train
    folds = fold_scores.repeated_folds(targets, n_train, seed=seed)
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
    own = projected = score("projected kernel", lambda fold: model.choose(projections, fold))
    if wide:
        mixed = np.random.default_rng(seed).permutation(len(targets))
        shuffled = [each[np.ix_(mixed, mixed)] for each in projections]
        null = score("features of permuted points", lambda fold: model.choose(shuffled, fold))
    else:
        own = score("exact kernel", lambda fold: model.predict(kernel, fold))
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
    training: tuple[FoldScores, ...] = ()
    if trainable is not None:  # shots of a projected kernel are none on pairs
        bought_by = spending if trainable.is_fidelity else None
        training = nested_scores(trainable, mine.angles, targets, folds, model, seed, bought_by)
    per_pair = None if spending is None or wide else spending.shots_per_pair
    return Preflight(
        n_points=len(targets),
        n_given=len(labels),
        n_train=len(folds[0].kept),
        n_train_given=n_train or len(folds[0].kept),
        metrics=fold_scores.metric_names(targets),
        own=own,
        winner=winner,
        projected=projected,
        plain=plain,
        guessing=guess,
        concentration=exact_kernels.concentration(kernel, per_pair),
        geometric=exact_kernels.nearest_plain_kernel(table, kernel),
        scan=tried,
        forecast=bought,
        null=null,
        linear_share=exact_kernels.linear_share(table, mine.features) if wide else None,
        seconds=seconds if wide else None,
        training=training,
    )


def count_steps(n_candidates: int) -> int:
    """Return how often a check with a budget calls ``on_step``, at most."""
    return n_candidates + FOLDS + FIXED_STEPS


def default_candidates(
    angles: FloatArray, feature_map: exact_kernels.FeatureMap
) -> list[Candidate]:
    """Return the given encoding, then every range of a scan with every map it can have.

    A map of many qubits stays: each of its kernels takes a second.
    """
    named, low, width = isinstance(feature_map, str), angles.min(axis=0), np.ptp(angles, axis=0)
    unit = (angles - low) / np.where(width > 0, width, 1.0)

    def candidate(form: Any, reps: int, ends: Any, points: FloatArray) -> Candidate:
        settings = {"map": form if named else "as given", "range": ends}
        return Candidate(settings | ({"reps": reps} if named else {}), points, form, reps)

    forms: list[Any] = list(product(BUILT_IN_MAPS, REPS))
    if not named or exact_kernels.is_wide(angles, feature_map):
        forms = [(feature_map, DEFAULT_REPS)]
    scaled = [([low, high], low + (high - low) * unit) for low, high in RANGES]
    own = candidate(feature_map, DEFAULT_REPS, "as given", angles)
    return [own, *(candidate(*form, *to) for form, to in product(forms, scaled))]
