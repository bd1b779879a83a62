"""Feature maps with trainable parameters: which are data, states at any θ, and θ put in."""

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, as_array
from aqka._util.optional import require
from aqka.backends._bulk.adjoint import DifferentiableMap, DifferentiableReductions
from aqka.backends._qml import traced_circuit
from aqka.backends.base import Backend, JobState, wrapped
from aqka.backends.feature_maps import built_in_map, check_feature_map
from aqka.core.plans import Plan
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

DIGITS = 6  # digits of θ behind the point: more are noise, and processors differ in the last ones


class TrainableMap:
    """A feature map U(x; θ): a circuit, its parameters in the order of the data and of θ, and θ₀.

    ``scales`` says that θ are scales of the features, because the map has no parameters of its own;
    ``function`` is the PennyLane function of x and θ that the circuit was traced from.
    """

    def __init__(
        self,
        circuit: "QuantumCircuit",
        data: list[Any],
        trainable: list[Any],
        theta0: ArrayLike | None,
        *,
        scales: bool = False,
        function: Callable[..., Any] | None = None,
    ) -> None:
        self.circuit, self.trainable, self.scales = circuit, trainable, scales
        self._data, self._function = data, function
        self.theta0 = None if theta0 is None else as_theta(theta0, len(trainable))

    def first_theta(self, seed: int) -> FloatArray:
        """Return the given θ₀; else scales of 1, or angles at random."""
        if self.theta0 is not None:
            return self.theta0
        if self.scales:
            return np.ones(len(self.trainable))
        angles = np.random.default_rng([seed]).uniform(-np.pi, np.pi, len(self.trainable))
        return angles.round(DIGITS)

    def unit(self, X: FloatArray) -> FloatArray:
        """Return how far each θ goes for an angle of the data to turn by about a radian."""
        if not self.scales:
            return np.ones(len(self.trainable))
        size = np.sqrt(np.mean(X**2, axis=0))
        return np.asarray(1 / np.where(size > 1e-6, size, 1.0))

    @cached_property
    def simulated(self) -> DifferentiableMap:
        """Its states and their slopes."""
        return DifferentiableMap(self.circuit, self._data, self.trainable)

    def reduced(self, edges: IntArray) -> DifferentiableReductions:
        """Return its reduced states, those of some pairs of qubits too, and their slopes."""
        return DifferentiableReductions(self.circuit, self._data, self.trainable, edges)

    def bind(self, theta: FloatArray) -> Any:
        """Return the map with θ put in, as backends, estimators and studies take it."""
        if self._function is not None:
            return partial(_at_theta, self._function, theta)
        return self.circuit.assign_parameters(dict(zip(self.trainable, theta, strict=True)))

    def rows(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        """Return points (x, θ) in the order of the circuit's parameters, one for each of ``X``."""
        both = np.concatenate([X, np.tile(theta, (len(X), 1))], axis=1)
        place = {p: k for k, p in enumerate([*self._data, *self.trainable])}
        return both[:, [place[p] for p in self.circuit.parameters]]


def _at_theta(function: Callable[..., Any], theta: FloatArray, x: Any) -> None:
    function(x, theta)


def _scaled(function: Callable[..., Any], x: Any, theta: Any) -> None:
    function(x * theta)


def as_theta(theta0: ArrayLike, length: int) -> FloatArray:
    """Return θ₀ as so many finite floats."""
    theta = as_array(theta0, "theta0")
    if theta.shape != (length,) or theta.dtype.kind not in "iuf" or not np.isfinite(theta).all():
        raise InputError(
            f"theta0 must be {length} finite numbers, one for each trainable parameter, got "
            f"shape {theta.shape} of {theta.dtype}."
        )
    return theta.astype(np.float64)


def as_trainable(
    feature_map: Any, n_features: int, trainable: Any = None, theta0: ArrayLike | None = None
) -> TrainableMap:
    """Return what :func:`aqka.train_map` was given as a trainable map."""
    circuits = require("qiskit.circuit", "qiskit")
    if feature_map is None or isinstance(feature_map, str):
        feature_map = built_in_map(feature_map or "zz", n_features)
    if callable(feature_map) and trainable is None:
        return _of_function(feature_map, n_features, theta0)
    if not isinstance(feature_map, circuits.QuantumCircuit):
        raise InputError(
            "feature_map must be a Qiskit circuit, a PennyLane function of x and theta (without "
            f"trainable=), or the name of a built-in map, got {type(feature_map).__name__}."
        )
    check_feature_map(feature_map)
    parameters = list(feature_map.parameters)
    if trainable is None and len(parameters) == n_features:
        scales = list(circuits.ParameterVector("aqka_scale", n_features))
        scaled = {p: p * scale for p, scale in zip(parameters, scales, strict=True)}
        circuit = feature_map.assign_parameters(scaled)
        return TrainableMap(circuit, parameters, scales, theta0, scales=True)
    chosen = chosen_parameters(parameters, n_features, trainable)
    left = len(parameters) - len(chosen)
    if not chosen or left != n_features:
        both = " A parameter is either data or trainable, not both." if left < n_features else ""
        raise InputError(
            f"feature_map has {len(parameters)} parameters, and trainable names {len(chosen)} of "
            f"them, which leaves {left} for the data; X has {n_features} columns, and at least one "
            f"parameter must be trained.{both}"
        )
    data = [p for p in parameters if p not in set(chosen)]
    return TrainableMap(feature_map, data, chosen, theta0)


def _of_function(
    function: Callable[..., Any], n_features: int, theta0: ArrayLike | None
) -> TrainableMap:
    """Return the map of a PennyLane function of x and θ, or of x alone and scales of it."""
    arguments = signature(function).parameters.values()
    required = [each for each in arguments if each.default is each.empty]
    # A second argument with a default is θ only where θ₀ is given: it may be the wires.
    scales = len(arguments if theta0 is not None else required) == 1
    if theta0 is None and not scales:
        raise InputError(
            "theta0 must be given with a PennyLane function f(x, theta): its length is the number "
            "of trainable parameters."
        )
    joint = partial(_scaled, function) if scales else function
    vector = require("qiskit.circuit", "qiskit").ParameterVector
    n_theta = n_features if theta0 is None else np.size(theta0)
    x, w = list(vector("x", n_features)), list(vector("w", n_theta))
    circuit = traced_circuit(joint, x, w)
    if circuit is None:
        raise InputError(
            "feature_map cannot be traced: a PennyLane function must apply gates, with x and theta "
            "as they come or in arithmetic, not as Python floats; or pass a Qiskit circuit."
        )
    return TrainableMap(circuit, x, w, theta0, scales=scales, function=joint)


def chosen_parameters(parameters: list[Any], n_features: int, trainable: Any) -> list[Any]:
    """Return the parameters that a user lists: vectors, parameters or names of either.

    By default all outside the one vector that is as long as the data have columns.
    """
    vectors = {p: str(getattr(getattr(p, "vector", p), "name", p)) for p in parameters}
    names = list(dict.fromkeys(vectors.values()))
    if trainable is None:
        fitting = [v for v in names if list(vectors.values()).count(v) == n_features]
        if len(fitting) != 1:
            raise InputError(
                f"feature_map has {len(parameters)} parameters, {', '.join(names)}, and X has "
                f"{n_features} columns: which parameters are trained? Pass trainable=, a parameter "
                "vector, parameters or their names."
            )
        return [p for p in parameters if vectors[p] != fitting[0]]
    given = [trainable] if isinstance(trainable, str) or hasattr(trainable, "name") else trainable
    if not isinstance(given, Iterable):
        raise InputError(f"trainable must list parameters, got {type(trainable).__name__}.")
    chosen: dict[Any, None] = {}
    for each in given:
        name = getattr(each, "name", each)
        found = [p for p in parameters if name in (p.name, vectors[p])]
        if not found:
            raise InputError(
                f"trainable names {name!r}, which is not a parameter of feature_map; it has "
                f"{', '.join(names)}."
            )
        chosen.update(dict.fromkeys(found))
    return list(chosen)


class MapBackend(Backend):
    """Runs plans that name θ: each round's points are the data at the two θ of its plan.

    The circuit takes data and θ alike as values, so that it is transpiled once, at any ``theta``,
    before the first plan. ``make`` makes the backend of rows (x, θ), in the order of the circuit's
    parameters.
    """

    def __init__(
        self,
        made: TrainableMap,
        X: FloatArray,
        make: Callable[[FloatArray], Backend],
        theta: FloatArray,
    ) -> None:
        self._made, self._X, self._make = made, X, make
        self._first = self._make(self._points(np.stack([theta, theta])))
        self.backend = self._first  # that of the round at work
        self._tag: str | None = None
        self._seconds: float | None = None

    shape = wrapped("shape")
    replayable = wrapped("replayable")
    measures_pairs = wrapped("measures_pairs")
    n_qubits = wrapped("n_qubits")
    joint_pairs = wrapped("joint_pairs")
    is_paid = wrapped("is_paid")
    name = wrapped("name")
    calibrated_at = wrapped("calibrated_at")
    usage = wrapped("usage")
    remarks = wrapped("remarks")
    workload = wrapped("workload")
    settle_on = wrapped("settle_on")
    open = wrapped("open")
    close = wrapped("close")

    def _points(self, theta: FloatArray) -> FloatArray:
        return np.concatenate([self._made.rows(self._X, each) for each in theta])

    def _at(self, plan: Plan, tag: str) -> Backend:
        """Return the backend of a plan's points, the same one whenever a round is tried again.

        It knows which of the round's jobs were accepted. A device's circuit is transpiled once.
        """
        theta = getattr(plan, "theta", None)
        if theta is None or theta.shape != (2, len(self._made.trainable)):
            raise InputError(f"plan must name two θ of {len(self._made.trainable)} values each.")
        if tag != self._tag:
            points = self._points(theta)
            self.backend, self._tag = self._first.with_points(points) or self._make(points), tag
        return self.backend

    def fingerprint(self) -> str:
        """Return what tells this backend from one of other data, another map or device."""
        return f"MapBackend({self._first.fingerprint()})"

    def limit_seconds(self, seconds: float | None) -> None:
        """Limit the QPU seconds of later submissions, whichever points they have."""
        self._seconds = seconds

    def submit(self, plan: Plan, tag: str) -> str:
        """Submit a plan for the points at its θ."""
        backend = self._at(plan, tag)
        backend.limit_seconds(self._seconds)
        return backend.submit(plan, tag)

    def recover(self, plan: Plan, tag: str) -> str | None:
        """Return the ticket of a plan that a process submitted before it died, if there is."""
        return self._at(plan, tag).recover(plan, tag)

    def collect(self, ticket: str) -> Any:
        """Wait for a plan's hits; a ticket of another process needs no points to be read."""
        return self.backend.collect(ticket)

    def cancel(self, plan: Plan, tag: str, ticket: str | None) -> list[JobState]:
        """Cancel the jobs of a submission that wait in a queue."""
        return self._at(plan, tag).cancel(plan, tag, ticket)
