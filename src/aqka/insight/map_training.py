"""Train a feature map by kernel alignment: exactly in simulation, or on shots of a backend."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import FloatArray, IntArray, as_count, as_fraction, threads_for
from aqka._util.shown import Shown
from aqka.backends.circuits import as_data
from aqka.backends.factory import as_factory
from aqka.backends.trainable import DIGITS, MapBackend, as_trainable
from aqka.core.problem import Problem, as_labels
from aqka.designs import Design, KernelEstimate
from aqka.errors import InputError
from aqka.insight import fold_scores
from aqka.insight.fold_scores import FoldScores, KernelHead, has_classes, score_folds
from aqka.insight.map_kernels import MapKernel
from aqka.insight.scan import Spending, forecast
from aqka.learners import make_learner
from aqka.maths.alignment import pair_targets
from aqka.maths.metrics import Fold
from aqka.runs.driver import drive
from aqka.runs.spend import Spend
from aqka.sessions.map_training import MapTraining

SCALES = tuple(float(scale) for scale in 2.0 ** np.arange(-3, 1.5, 0.5))
"""Nine common scales of the features, which training has to beat."""
MAX_STEPS = 100
VALIDATION = 0.25
FEWEST_FIT, FEWEST_HELD = 6, 2


@dataclass(frozen=True, eq=False, repr=False)
class TrainedMap(Shown):
    """A feature map that was trained.

    Attributes
    ----------
    theta, bound
        θ, and the map with it put in: a Qiskit circuit, or a PennyLane function of x, for every
        estimator, backend, drop-in kernel and study.
    history
        The loss, minus the centred alignment, before the first step and after each, as measured.
    shots
        That training took; 0 in simulation.
    kept_initial
        Whether θ is still θ₀, because the validation part found nothing better.
    scale_grid
        Leave-one-out score of nine common scales of the features at θ₀: what to beat. Scales at
        which an angle has no value are left out; empty where the map cannot be simulated.
    validation
        What decided between θ₀ and the trained θ: R² of held-out targets, on shots their alignment.
    """

    theta: FloatArray
    bound: Any
    history: list[float]
    shots: int
    kept_initial: bool
    scale_grid: dict[float, float]
    validation: tuple[float, float]

    def facts(self) -> dict[str, Any]:
        """Return all but the map as plain values, for JSON."""
        return {
            "theta": self.theta.tolist(),
            "history": self.history,
            "shots": self.shots,
            "kept_initial": self.kept_initial,
            "scale_grid": [[scale, score] for scale, score in self.scale_grid.items()],
            "validation": list(self.validation),
        }

    def _figures(self) -> dict[str, object]:
        before, after = self.validation
        return {
            "parameters": len(self.theta),
            "loss": f"{self.history[0]:.3f} → {self.history[-1]:.3f}",
            "validation": f"{before:.3f} → {after:.3f}",
            "kept": "θ₀" if self.kept_initial else "trained θ",
            "shots": f"{self.shots:,}",
        }


def train_map(
    feature_map: Any,
    X: ArrayLike,
    y: ArrayLike,
    where: Any = "auto",
    budget: int | None = None,
    pairs_per_step: int = MapTraining.USUAL,
    validation: float = VALIDATION,
    seed: int = 0,
    *,
    trainable: Any = None,
    theta0: ArrayLike | None = None,
    design: str | Design = "auto",
    **spend: Any,
) -> TrainedMap:
    """Train a feature map by kernel alignment.

    The loss is minus the correlation of k_ij with what pair (i, j) should be: 1 where classes
    agree, the product of centred targets in regression. A part of the points is held out; θ₀ is
    kept unless θ is better on it.

    Parameters
    ----------
    feature_map : QuantumCircuit, callable or str
        A Qiskit circuit with parameters for the data and trainable ones; a PennyLane function
        ``f(x, theta)``; or a map without parameters of its own (a built-in name, a circuit or a
        function of x alone), of which the scale of each feature is trained.
    X : array of shape (points, features)
        Data as the map takes them.
    y : array of shape (points,)
        Labels of two or more classes, or real targets.
    where : "auto", "simulation" or a backend, default="auto"
        Simulation has exact gradients and costs no shots: of the fidelity up to 14 qubits, of a
        projected kernel at any width by light cones. A backend is named as for the estimators:
        ``"aer"``, a Qiskit device, a :class:`~aqka.BackendFactory`.
    budget : int, optional
        Shots of training; needed with a backend.
    pairs_per_step : int, default=400
        Pairs of a step on a backend, one shot each for both signs of SPSA.
    validation : float, default=0.25
        Share of the points that decides between θ₀ and θ.
    seed : int, default=0
        Seed of the split, of θ₀ and of every step.
    trainable : ParameterVector, parameters or names, optional
        Which parameters of a circuit are trained; by default all but those of the one parameter
        vector that is as long as ``X`` has columns.
    theta0 : array, optional
        Where to start; by default at random, scales at the best common one, on a backend at 1.
    design : str or Design, default="auto"
        Whose kernel is trained: the fidelity, measured on pairs; or that of
        ``Points(kernel="projected")``, a Gaussian of the points' mean distance, for which a step
        measures every point, about 30 shots each. ``"auto"`` trains the latter above 24 qubits.
    **spend
        On a backend, the fields of :class:`~aqka.runs.Spend`. With ``directory`` training survives
        a crash at any instant: the same call resumes where it stopped.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 3, (40, 2))
    >>> trained = train_map("zz", X, (X[:, 0] > 1.5).astype(int))
    >>> trained.theta.shape, trained.history[-1] < trained.history[0]
    ((2,), True)
    """
    unknown = spend.keys() - {each.name for each in fields(Spend)}
    if unknown:
        raise TypeError(f"train_map() got an unexpected keyword argument {min(unknown)!r}")
    points, labels, seed = as_data(X), as_labels(y), as_count(seed, "seed", minimum=0)
    as_count(pairs_per_step, "pairs_per_step", minimum=MapTraining.LEAST)
    if len(points) != len(labels):
        raise InputError(f"X has {len(points)} points, but y labels {len(labels)}.")
    made = as_trainable(feature_map, points.shape[1], trainable, theta0)
    kernel = MapKernel(made, design)
    parts = split_points(labels, validation, seed)
    factory = None if where in ("auto", "simulation") else as_factory(where)
    if factory is not None:
        if budget is None:
            raise InputError("budget must be given with a backend: the shots of training.")
        make = partial(
            factory, feature_map=made.circuit, columns=None, seed=seed, design=kernel.design.name
        )
        session = kernel.session(points, labels, parts[1], budget, seed, pairs_per_step)
        backend = MapBackend(made, points, make, session.theta0)
        kernel.design.check_backend(backend, 2 * len(points))
        backend.settle_on(kernel.design.name)
        device = backend.backend
        with device if isinstance(device, AbstractContextManager) else nullcontext():
            drive(session, backend, Spend(**spend))
        return trained_by(kernel, session, points)
    if where not in ("auto", "simulation"):
        raise InputError(
            "where must be 'auto', 'simulation', 'aer' or another backend's name, a Qiskit device "
            f"or a BackendFactory, got {where!r}."
        )
    if budget is not None or spend:
        given = ", ".join(["budget"] * (budget is not None) + list(spend))
        raise InputError(
            f"{given} is for training on shots; in simulation leave it out, or pass a backend as "
            "where."
        )
    return train_exactly(kernel, points, labels, parts, seed)


def split_points(y: NDArray[Any], validation: float, seed: int) -> tuple[IntArray, IntArray]:
    """Return the points that train and those held out; classes keep their shares."""
    share = as_fraction(validation, "validation")
    held = round(share * len(y))
    if held < FEWEST_HELD or len(y) - held < FEWEST_FIT:
        raise InputError(
            f"validation = {share:g} of {len(y)} points holds out {held} and leaves "
            f"{len(y) - held} to train on; at least {FEWEST_HELD} and {FEWEST_FIT} are needed."
        )
    classes, counts = np.unique(y, return_counts=True)
    if has_classes(y):
        if len(classes) < 2:
            raise InputError(f"y has one class only, {classes[0]}; give points of another one.")
        if counts.min() < 2:
            raise InputError(
                f"class {classes[counts.argmin()]} of y has one point only, so the validation part "
                "or the training part would miss it; give more points, or leave the class out."
            )
        if len(classes) > min(held, len(y) - held):
            raise InputError(
                f"y has {len(classes)} classes, and validation = {share:g} holds out {held} points "
                f"and leaves {len(y) - held}; each part needs as many points as there are classes: "
                "change validation, or give more points."
            )
    fit = fold_scores.subsample(y, len(y) - held, seed)
    rest = np.setdiff1d(np.arange(len(y)), fit)
    if has_classes(y):
        for name, part in (("validation", rest), ("training", fit)):
            if np.unique(y[part]).size < 2:
                raise InputError(
                    f"the {name} part of {len(part)} points has one class only, "
                    f"{y[part][0]}; raise validation, or give more points of the other classes."
                )
    return fit, rest


def trained_by(kernel: MapKernel, session: MapTraining, X: FloatArray) -> TrainedMap:
    """Return what a finished session found."""
    before, after, error = session.compare()
    better = after - before > error
    theta = session.trained if better else session.theta0
    grid = scale_grid(kernel, X, session.y, session.theta0) if kernel.simulates() else {}
    bound, spent = kernel.made.bind(theta), session.shots_spent
    return TrainedMap(theta, bound, session.history, spent, not better, grid, (before, after))


def train_exactly(
    kernel: MapKernel,
    X: FloatArray,
    y: NDArray[Any],
    parts: tuple[IntArray, IntArray],
    seed: int,
    show_scales: bool = True,
) -> TrainedMap:
    """Train in simulation; the grid of all points' scales may be left out."""
    made, fit = kernel.made, parts[0]
    with threads_for(len(X)):
        start = made.first_theta(seed)
        grid = scale_grid(kernel, X, y, start) if show_scales else {}
        if made.scales and made.theta0 is None:
            inside = scale_grid(kernel, X, y, start, fit)
            best = max(inside, key=lambda scale: inside[scale], default=1.0)
            start = (start * best).round(DIGITS)
        theta, history = align(kernel, X[fit], y[fit], start)
        scores = [held_out_score(kernel(X, each), y, parts) for each in (start, theta)]
    better = scores[1] > scores[0]
    theta = theta if better else start
    return TrainedMap(theta, made.bind(theta), history, 0, not better, grid, (scores[0], scores[1]))


def scale_grid(
    kernel: MapKernel,
    X: FloatArray,
    y: NDArray[Any],
    theta: FloatArray,
    points: IntArray | None = None,
) -> dict[float, float]:
    """Return the leave-one-out score of each common scale at θ, among some of the points."""
    head, some = KernelHead(y), np.arange(len(y)) if points is None else points
    return {scale: head.judge(K, some) for scale, K in _scaled_kernels(kernel, X, theta)}


def _scaled_kernels(
    kernel: MapKernel, X: FloatArray, theta: FloatArray
) -> Iterator[tuple[float, FloatArray]]:
    """Give the kernel of each common scale at which every angle has a value."""
    for scale in SCALES:
        with suppress(InputError):  # such as arcsin(x) beyond 1
            yield scale, kernel(scale * X, theta)


def align(
    kernel: MapKernel, X: FloatArray, y: NDArray[Any], start: FloatArray, max_steps: int = MAX_STEPS
) -> tuple[FloatArray, list[float]]:
    """Return the θ of best alignment that L-BFGS finds from a start, and the losses on the way."""
    from scipy.optimize import minimize

    targets = pair_targets(y, classes=has_classes(y))

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = kernel.alignment(X, theta, targets)
        return -value, -gradient

    def note(intermediate_result: Any) -> None:
        losses.append(float(intermediate_result.fun))

    losses, options = [loss(start)[0]], {"maxiter": max_steps}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options, callback=note)
    return found.x.round(DIGITS), losses


def held_out_score(kernel: FloatArray, y: NDArray[Any], parts: tuple[IntArray, IntArray]) -> float:
    """Return R² of a ridge head's outputs at the held-out points; it is finer than an accuracy."""
    fit, held = parts
    outputs = Problem(y).outputs
    centre = outputs[fit].mean(axis=0)
    inside, error = KernelEstimate(kernel[np.ix_(fit, fit)]), 0.0
    for column in (outputs - centre).T:
        head = make_learner("ridge-loo").fit(inside, Problem(column[fit]))
        found = head.decision_function(kernel[np.ix_(held, fit)])
        error += float(np.sum((found - column[held]) ** 2))
    return 1.0 - error / float(np.sum((outputs[held] - centre) ** 2))


def nested_scores(
    kernel: MapKernel,
    X: FloatArray,
    y: NDArray[Any],
    folds: list[Fold],
    head: KernelHead,
    seed: int = 0,
    spending: Spending | None = None,
) -> tuple[FoldScores, ...]:
    """Score the best common scale and the trained map, both found afresh in every fold.

    With ``spending``, the last score is that of the trained map with simulated shots.
    """
    start = kernel.made.first_theta(seed)
    once = folds[: fold_scores.folds_a_repetition(folds, len(y))]
    kernels = [K for _, K in _scaled_kernels(kernel, X, start)]

    def trained(fold: Fold) -> FloatArray:
        theta, some, labels = start, X[fold.kept], y[fold.kept]
        with suppress(InputError):  # a class may have too few points in a fold: θ₀ stays
            parts = split_points(labels, VALIDATION, seed)
            theta = train_exactly(kernel, some, labels, parts, seed, show_scales=False).theta
        return kernel(X, theta)

    found = {id(fold): trained(fold) for fold in once}
    scores = (
        score_folds("best of nine scales", lambda fold: head.choose(kernels, fold), y, once),
        score_folds("trained map, exact", lambda f: head.predict(found[id(f)], f), y, once),
    )
    if spending is None:
        return scores
    name = "trained map, at this budget"
    return *scores, forecast(name, lambda fold: found[id(fold)], y, once, spending)
