"""Where on a chip a circuit may stand, and how well it would do there."""

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aqka._util.optional import require
from aqka.backends._noisy.models import used_qubits
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

DEAD = 1.0  # IBM's error of a coupler that is not calibrated


@dataclass(frozen=True)
class Calibration:
    """The couplers of a device, and the error of every gate where it was measured."""

    name: str
    n_qubits: int
    couplers: tuple[tuple[int, int], ...]  # each once and with the lower number first
    # Of a gate, or of ``measure``, on qubits in the gate's direction; without what is dead.
    errors: dict[tuple[str, tuple[int, ...]], float]

    def neighbours(self) -> list[set[int]]:
        """Return the neighbours of each qubit; a dead coupler still makes neighbours."""
        found: list[set[int]] = [set() for _ in range(self.n_qubits)]
        for a, b in self.couplers:
            found[a].add(b)
            found[b].add(a)
        return found

    def pieces(self) -> list[int]:
        """Return the sizes of the coupling map's connected pieces, the largest first."""
        rustworkx = require("rustworkx", "qiskit")
        graph = rustworkx.PyGraph()
        graph.add_nodes_from(range(self.n_qubits))
        graph.add_edges_from_no_data(list(self.couplers))
        return sorted(map(len, rustworkx.connected_components(graph)), reverse=True)


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
    errors = {
        (gate, qubits): float(properties.error)
        for gate in target.operation_names
        for qubits, properties in (target[gate] or {}).items()
        if qubits is not None and getattr(properties, "error", None) is not None
    }
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


# A gate and the qubits of the shape it acts on.
Use = tuple[str, tuple[int, ...]]


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
    calibration are left out. The embeddings of the interaction graph are found by VF2.
    """
    best: dict[frozenset[int], Place] = {}
    for qubits in _embeddings(shape, calibration):
        success = estimate_success(shape, qubits, calibration)
        known = best.get(frozenset(qubits))
        if success > 0 and (known is None or success > known.success):
            best[frozenset(qubits)] = Place(qubits, success)
    if not best:
        raise InputError(_no_place(shape, calibration))
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


def _embeddings(shape: Shape, calibration: Calibration) -> "itertools.islice[tuple[int, ...]]":
    """Return the ways to lay the interaction graph on the couplers that work."""
    rustworkx = require("rustworkx", "qiskit")
    chip = _directed({qubits for _, qubits in calibration.errors}, calibration.n_qubits)
    pattern = _directed(shape.couplings, shape.n_qubits)
    mappings = rustworkx.vf2_mapping(chip, pattern, subgraph=True, induced=False)
    # Its keys are the chip's qubits.
    found = (
        tuple(qubit for qubit, _ in sorted(mapping.items(), key=lambda item: item[1]))
        for mapping in mappings
    )
    return itertools.islice(found, MAX_MAPPINGS)


def _directed(edges: Any, n_nodes: int) -> Any:
    graph = require("rustworkx", "qiskit").PyDiGraph()
    graph.add_nodes_from(range(n_nodes))
    graph.add_edges_from_no_data(sorted(edge for edge in edges if len(edge) == 2))
    return graph


def _no_place(shape: Shape, calibration: Calibration) -> str:
    pieces = calibration.pieces()
    apart = (
        f" The coupling map is not connected: its pieces have {', '.join(map(str, pieces))} qubits."
        if len(pieces) > 1
        else ""
    )
    return (
        f"{calibration.name} has no place for the circuit, which after transpiling uses "
        f"{shape.n_qubits} qubits, on couplers that work.{apart} Use fewer qubits or another "
        "device."
    )
