"""The tiles that a backend sends to: their places, and the circuit with a copy on each."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aqka.backends._noisy.device_noise import used_qubits
from aqka.backends._tiles.shape import shape_of
from aqka.backends._tiles.tiled_circuit import TiledCircuit, tile_circuit
from aqka.backends.tiles import TileRule, Tiling, find_tiles

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


class TilesInUse:
    """Finds tiles for each circuit once, and leaves out those that were dropped.

    One object for all backends that share a device, so that what one drops is dropped for all.

    Parameters
    ----------
    device
        What the circuits are transpiled for.
    rule
        Which places are used.
    """

    def __init__(self, device: Any, rule: TileRule) -> None:
        self._device, self.rule = device, rule
        self._found: dict[str, Tiling] = {}
        self._dropped: set[str] = set()
        self._circuits: dict[tuple[str, ...], TiledCircuit] = {}

    def find(self, kind: str, circuit: "QuantumCircuit") -> Tiling:
        """Return the tiles of a kind of circuit, transpiled for the device as ``circuit``."""
        if kind not in self._found:
            self._found[kind] = find_tiles(circuit, self._device, self.rule)
        return self._found[kind].without(self._dropped)

    def drop(self, names: set[str]) -> None:
        """Use some tiles no more; at least one must be left of every circuit's."""
        for tiling in self._found.values():
            tiling.without(self._dropped | names)
        self._dropped |= names

    def tiled(
        self,
        kind: str,
        circuit: "QuantumCircuit",
        n_tiles: int,
        guest: "QuantumCircuit | None" = None,
    ) -> TiledCircuit:
        """Return the circuit on so many tiles, in the order of their names.

        ``guest``, on the same qubits of the device as the circuit, is put in its place on every
        tile. Where a submission was begun with another number than there are now, before a tile was
        dropped or the device calibrated anew, the rest of it needs that number, good or not.
        """
        tiling = self.find(kind, circuit)
        if len(tiling) != n_tiles:
            rule = replace(self.rule, count=n_tiles, worst=0.0, mean=0.0)
            tiling = find_tiles(circuit, self._device, rule)
        places = tuple(sorted(tiling.places, key=lambda place: place.name))
        key = (kind, "" if guest is None else "guest", *(place.name for place in places))
        if key not in self._circuits:
            n_qubits = tiling.calibration.n_qubits
            shape = tiling.shape if guest is None else shape_of(guest, used_qubits(circuit))
            self._circuits[key] = tile_circuit(shape, places, n_qubits)
        return self._circuits[key]
