"""What a device says of its qubits and couplers, as tiles need it."""

from dataclasses import dataclass
from typing import Any

from aqka._util.optional import require
from aqka.errors import InputError

DEAD = 1.0  # IBM's error of a coupler that is not calibrated


@dataclass(frozen=True)
class Calibration:
    """The couplers of a device, and the error of every gate where it was measured.

    Attributes
    ----------
    name
        Of the device.
    n_qubits
        Qubits of the device.
    couplers
        Pairs of neighbours, each once and with the lower number first.
    errors
        Error of a gate on qubits, in the gate's direction; what is dead or was not measured is
        left out. A readout error is that of ``measure``.
    """

    name: str
    n_qubits: int
    couplers: tuple[tuple[int, int], ...]
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
