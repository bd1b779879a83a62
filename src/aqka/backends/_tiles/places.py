"""Where on a chip a circuit may stand, how well it would do there, and which places to use."""

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka._util.optional import require
from aqka.backends._noisy.models import used_qubits
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

DEAD = 1.0  # IBM's error of a coupler that is not calibrated
Use = tuple[str, tuple[int, ...]]  # A gate and the qubits it acts on


@dataclass(frozen=True)
class Calibration:
    """The couplers of a device, and the error of every gate where it was measured."""

    name: str
    n_qubits: int
    couplers: tuple[tuple[int, int], ...]  # each once and with the lower number first
    # Errors of a gate, or of ``measure``, on qubits in the gate's direction; without what is dead.
    errors: dict[Use, float]

    def graph(self) -> Any:
        """Return the coupling map, to which dead couplers belong."""
        graph = require("rustworkx", "qiskit").PyGraph()
        graph.add_nodes_from(range(self.n_qubits))
        graph.add_edges_from_no_data(list(self.couplers))
        return graph

    def neighbours(self) -> list[set[int]]:
        """Return the neighbours of each qubit."""
        graph = self.graph()
        return [set(graph.neighbors(qubit)) for qubit in range(self.n_qubits)]


def read_calibration(device: Any) -> Calibration:
    """Return a device's couplers and errors; refuse one that does not tell them."""
    name = str(getattr(device, "name", type(device).__name__))
    target: Any = getattr(device, "target", None)
    coupling_map = None if target is None else target.build_coupling_map()
    if coupling_map is None or not coupling_map.get_edges():
        raise InputError(
            f"tiles need a device with a coupling map, and {name} has none: every circuit would "
            "stand beside every other. Pass tiles=1."
        )
    errors = gate_errors(target)
    measured = {len(qubits) for gate, qubits in errors if gate != "reset"}
    if 2 not in measured or not any(gate == "measure" for gate, _ in errors):
        raise InputError(
            f"tiles are chosen by calibration data, and {name} has no errors of its two-qubit "
            "gates or of its readout. Pass tiles=1, or a device that was calibrated."
        )
    return Calibration(
        name,
        int(target.num_qubits),
        tuple(sorted({(min(edge), max(edge)) for edge in coupling_map.get_edges()})),
        {where: error for where, error in errors.items() if 0 <= error < DEAD},
    )


def gate_errors(target: Any) -> dict[Use, float]:
    """Return the errors that a target tells of its gates, ``measure`` among them."""
    return {
        (gate, qubits): float(properties.error)
        for gate in target.operation_names
        for qubits, properties in (target[gate] or {}).items()
        if qubits is not None and getattr(properties, "error", None) is not None
    }


@dataclass(frozen=True)
class Shape:
    """A transpiled circuit without its place: qubits 0 to m - 1 and what is done on them."""

    circuit: "QuantumCircuit"
    uses: dict[Use, int]  # how often each gate acts on which qubits, measurements included

    @property
    def n_qubits(self) -> int:
        """Qubits in use, those of routing included."""
        return int(self.circuit.num_qubits)

    @property
    def couplings(self) -> set[tuple[int, int]]:
        """The interaction graph: pairs of qubits with a gate on both, in the gate's direction."""
        return {(qubits[0], qubits[1]) for _, qubits in self.uses if len(qubits) == 2}


def shape_of(isa: "QuantumCircuit", used: list[int] | None = None) -> Shape:
    """Return the shape of a circuit that was transpiled for a device.

    Routing is part of it: a circuit that needs a qubit in between has it in its shape. ``used`` are
    its qubits in the order of the shape's; None for those that it uses.
    """
    qiskit = require("qiskit", "qiskit")
    used = used_qubits(isa) if used is None else used
    place = {isa.qubits[qubit]: k for k, qubit in enumerate(used)}
    small: QuantumCircuit = qiskit.QuantumCircuit(len(used), isa.num_clbits)
    uses: Counter[Use] = Counter()
    for step in isa.data:
        qubits = tuple(place[qubit] for qubit in step.qubits if qubit in place)
        if step.name == "barrier":
            small.barrier(qubits, label=step.operation.label)
            continue
        if len(qubits) > 2:
            raise InputError(
                f"feature_map holds the gate {step.name!r} on {len(qubits)} qubits after "
                "transpiling; tiles need gates on one or two. Pass tiles=1."
            )
        small.append(step.operation, qubits, [isa.find_bit(bit).index for bit in step.clbits])
        if step.name != "delay":
            uses[step.name, qubits] += 1
    return Shape(small, dict(uses))


MAX_MAPPINGS = 50_000  # where every qubit is everyone's neighbour there is no end to them


@dataclass(frozen=True)
class Place:
    """Qubits of a chip that a circuit can stand on.

    Attributes
    ----------
    qubits
        The chip's qubit of each of the circuit's.
    success
        Estimated probability that no gate and no readout of one execution errs.
    """

    qubits: tuple[int, ...]
    success: float

    @property
    def name(self) -> str:
        """What its classical register is called: q12_13_14_15."""
        return "q" + "_".join(map(str, self.qubits))


def find_places(shape: Shape, calibration: Calibration) -> list[Place]:
    """Return every set of qubits that the circuit fits on, the best first.

    The best of all ways to stand on the same qubits is kept. Dead couplers and gates without a
    calibration are left out.
    """
    best: dict[frozenset[int], Place] = {}
    rustworkx = require("rustworkx", "qiskit")
    chip = _directed({qubits for _, qubits in calibration.errors}, calibration.n_qubits)
    pattern = _directed(shape.couplings, shape.n_qubits)
    # The ways to lay the interaction graph on the couplers that work.
    mappings = rustworkx.vf2_mapping(chip, pattern, subgraph=True, induced=False)
    for mapping in itertools.islice(mappings, MAX_MAPPINGS):  # from the chip's qubits
        qubits = tuple(sorted(mapping, key=mapping.__getitem__))
        success = estimate_success(shape, qubits, calibration)
        known = best.get(frozenset(qubits))
        if success > 0 and (known is None or success > known.success):
            best[frozenset(qubits)] = Place(qubits, success)
    if not best:
        pieces = map(len, rustworkx.connected_components(calibration.graph()))
        sizes = ", ".join(map(str, sorted(pieces, reverse=True)))
        apart = f" The coupling map is not connected: its pieces have {sizes} qubits."
        raise InputError(
            f"{calibration.name} has no place for the circuit, which after transpiling uses "
            f"{shape.n_qubits} qubits, on couplers that work.{apart if ',' in sizes else ''} Use "
            "fewer qubits or another device."
        )
    return sorted(best.values(), key=lambda place: (-place.success, place.qubits))


def estimate_success(shape: Shape, qubits: tuple[int, ...], calibration: Calibration) -> float:
    """Return Π (1 - error)^uses over the circuit's gates and readouts; 0 where one is missing."""
    exponent = 0.0
    for (gate, where), times in shape.uses.items():
        error = calibration.errors.get((gate, tuple(qubits[k] for k in where)))
        if error is None:
            return 0.0
        exponent += times * math.log1p(-error)
    return math.exp(exponent)


def _directed(edges: Any, n_nodes: int) -> Any:
    graph = require("rustworkx", "qiskit").PyDiGraph()
    graph.add_nodes_from(range(n_nodes))
    graph.add_edges_from_no_data(sorted(edge for edge in edges if len(edge) == 2))
    return graph


MAX_CANDIDATES = 3000  # the best ones; their conflicts are a matrix
ROUNDS = 100  # of the local search, or four for each place where there are few


def choose_places(
    candidates: list[Place],
    calibration: Calibration,
    *,
    idle_neighbours: bool,
    count: int | None = None,
) -> list[Place]:
    """Return places that do not disturb each other, with a large sum of successes.

    A heavy independent set of the graph of conflicts: greedily at first, then by local search.
    ``candidates`` begin with the best. There are ``count`` of them, or as many as fit.
    """
    candidates = candidates[:MAX_CANDIDATES]
    weights = np.array([place.success for place in candidates])
    search = _Search(_conflicts(candidates, calibration, idle_neighbours), weights)
    chosen = search.run(np.random.default_rng(0))
    if count is not None and len(chosen) > count:
        sets = [np.sort(found)[:count] for found in (chosen, search.greedy())]
        chosen = max(map(search.exchange, sets), key=lambda found: weights[found].sum())
    return [candidates[k] for k in np.sort(chosen)]


def _conflicts(
    candidates: list[Place], calibration: Calibration, idle_neighbours: bool
) -> BoolArray:
    """Return which two places share a qubit or, on demand, have neighbouring ones."""
    members = np.zeros((len(candidates), calibration.n_qubits), dtype=np.float32)
    for k, place in enumerate(candidates):
        members[k, list(place.qubits)] = 1
    reach = np.eye(calibration.n_qubits, dtype=np.float32)
    if idle_neighbours:
        for a, b in calibration.couplers:
            reach[a, b] = reach[b, a] = 1
    conflicts = np.asarray(members @ reach @ members.T > 0)
    np.fill_diagonal(conflicts, False)
    return conflicts


class _Search:
    """The search for a heavy independent set; places are numbered from the best."""

    def __init__(self, conflicts: BoolArray, weights: FloatArray) -> None:
        self._conflicts = conflicts
        self._weights = weights

    def greedy(self, start: IntArray | None = None) -> IntArray:
        """Return a set that nothing can be added to: the best first, after ``start``."""
        chosen = [] if start is None else start.tolist()
        free = np.asarray(~self._conflicts[chosen].any(axis=0))
        free[chosen] = False
        while free.any():
            best = int(np.argmax(free))
            chosen.append(best)
            free &= ~self._conflicts[best]
            free[best] = False
        return np.array(chosen, dtype=np.int64)

    def run(self, rng: Generator) -> IntArray:
        """Return the best set of a local search that is pushed off every optimum it finds."""
        best = self._improve(self.greedy())
        for _ in range(min(ROUNDS, 4 * len(self._weights))):
            forced = int(rng.integers(len(self._weights)))
            kept = best[~self._conflicts[forced, best] & (best != forced)]
            found = self._improve(self.greedy(np.append(kept, forced)))
            if self._weights[found].sum() > self._weights[best].sum():
                best = found
        return best

    def exchange(self, chosen: IntArray) -> IntArray:
        """Return a set of the same size, with places replaced by better ones as long as it goes."""
        k = 0
        while k < len(chosen):
            others = np.delete(chosen, k)
            free = np.asarray(~self._conflicts[others].any(axis=0))
            free[others] = False
            best = int(np.argmax(free))  # at the latest the place itself
            k = 0 if best < chosen[k] else k + 1
            chosen = np.sort(np.append(others, best))
        return chosen

    def _improve(self, chosen: IntArray) -> IntArray:
        """Replace one place by two, or some by a better one, as long as it helps."""
        better: IntArray | None = chosen
        while better is not None:
            chosen = better
            better = self._two_for_one(chosen)
            if better is None:
                better = self._one_for_some(chosen)
        return chosen

    def _two_for_one(self, chosen: IntArray) -> IntArray | None:
        rivals = self._conflicts[:, chosen]
        outside = np.ones(len(self._weights), dtype=bool)
        outside[chosen] = False
        single = outside & (rivals.sum(axis=1) == 1)
        for k, place in enumerate(chosen):
            free = np.flatnonzero(single & rivals[:, k])
            pairs = self._weights[free][:, None] + self._weights[free]
            pairs[self._conflicts[np.ix_(free, free)]] = 0.0
            np.fill_diagonal(pairs, 0.0)
            if pairs.size and pairs.max() > self._weights[place]:
                first, second = np.unravel_index(int(np.argmax(pairs)), pairs.shape)
                return self.greedy(np.append(np.delete(chosen, k), free[[first, second]]))
        return None

    def _one_for_some(self, chosen: IntArray) -> IntArray | None:
        gains = self._weights - self._conflicts[:, chosen] @ self._weights[chosen]
        gains[chosen] = 0.0
        best = int(np.argmax(gains))
        if gains[best] <= 1e-12:
            return None
        return self.greedy(np.append(chosen[~self._conflicts[best, chosen]], best))
