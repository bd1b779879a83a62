"""The kernel of a trainable map: exactly, with its gradient, and the session that measures it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends.circuits import lattice_of
from aqka.backends.statevector import fidelities
from aqka.backends.trainable import TrainableMap
from aqka.designs import Design, Pairs
from aqka.designs.resolve import resolve
from aqka.errors import InputError
from aqka.estimates.projected import linear_projected_kernel, squared_distances
from aqka.estimates.reduced_states import Operators, given_states
from aqka.insight.exact_kernels import MAX_QUBITS
from aqka.insight.fold_scores import has_classes
from aqka.maths.alignment import alignment_slope, distance_slope, kernel_of_distances
from aqka.sessions.map_training import MapTraining, PointTraining


class MapKernel:
    """The kernel of a trainable map by a design: the fidelity, of pairs, or a projected one."""

    def __init__(self, made: TrainableMap, design: "str | Design" = "auto") -> None:
        self.made, self.n_qubits = made, int(made.circuit.num_qubits)
        # Either design has the fidelity up to many qubits: neither points nor shots decide.
        chosen = resolve(design, n_points=2, n_qubits=self.n_qubits, budget=1).design
        wanted = chosen.on(lattice_of(made.circuit), self.n_qubits)
        self._projected: Any = wanted.reduced_kernel(self.n_qubits)
        if self._projected is not None and self._projected.operators(self.n_qubits).larger:
            raise InputError("kernel of design must have locality 1 or 2 to be trained.")
        self.is_fidelity = self._projected is None
        self.design: Any = Pairs() if self.is_fidelity else wanted
        self._found: tuple[Any, Operators] | None = None  # reduced states, once needed

    def _reduced(self) -> tuple[Any, Operators] | None:
        """Return reduced states and what they are, None of a fidelity; refuse what is too large."""
        if not self.is_fidelity and self._found is None:
            operators = self._projected.operators(self.n_qubits)
            self._found = self.made.reduced(operators.edges), operators
        if self.is_fidelity and self.n_qubits > MAX_QUBITS:
            raise InputError(
                f"feature_map has {self.n_qubits} qubits, and training in simulation takes at most "
                f"{MAX_QUBITS}; call train_map with a backend as where and a budget, or train a "
                "projected kernel: design=Points('projected')."
            )
        return self._found

    def simulates(self) -> bool:
        """Return whether it can be trained in simulation."""
        try:
            self._reduced()
        except InputError:
            return False
        return True

    def __call__(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        """Return the exact kernel of some points at θ."""
        reduced = self._reduced()
        if reduced is None:
            return fidelities(self.made.simulated.states(X, theta))
        states = given_states(reduced[0].expectations(X, theta), reduced[1])
        if self._projected.form == "linear":
            return linear_projected_kernel(states) / states.n_states
        return kernel_of_distances(squared_distances(states))

    def alignment(
        self, X: FloatArray, theta: FloatArray, targets: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return the alignment with some targets at θ, and its gradient."""
        reduced = self._reduced()
        if reduced is None:
            states = self.made.simulated.states(X, theta)
            overlaps = states.conj() @ states.T
            value, slope = alignment_slope(np.abs(overlaps) ** 2, targets)
            cotangents = (slope * overlaps.conj()) @ states
            return value, self.made.simulated.gradient(X, theta, states, cotangents)
        found = given_states(reduced[0].expectations(X, theta), reduced[1])
        a, w = found.expectations, found.weights
        if self._projected.form == "linear":
            value, slope = alignment_slope(linear_projected_kernel(found), targets)
            slopes = w * (slope @ a)
        else:  # D_ij = Σ w (a_i - a_j)²
            value, slope = distance_slope(squared_distances(found), targets)
            slopes = 2 * w * (slope.sum(axis=1)[:, None] * a - slope @ a)
        return value, reduced[0].gradient(X, theta, slopes)

    def session(
        self,
        X: FloatArray,
        y: NDArray[Any],
        held: IntArray,
        budget: int,
        seed: int,
        size: int | None = None,
    ) -> MapTraining:
        """Return the session that trains it on shots; ``size`` are the pairs of a step."""
        given = (y, held, self.made.first_theta(seed), budget)
        how: dict[str, Any] = {"unit": self.made.unit(X), "classes": has_classes(y), "seed": seed}
        if self.is_fidelity:
            return MapTraining(*given, size, **how)
        return PointTraining(*given, design=self.design, n_qubits=self.n_qubits, **how)
