"""Where on a chip a circuit may stand, and how well it would do there."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

from aqka._util.optional import require
from aqka.backends._tiles.calibration import Calibration
from aqka.backends._tiles.shape import Shape
from aqka.errors import InputError

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

    Of the ways to stand on the same qubits the best is kept. Dead couplers, and gates that were
    not calibrated, are left out. The embeddings of the interaction graph are found by VF2.
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
