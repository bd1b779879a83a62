"""What sentinels say of each tile: its noise, whether it drifts, whether tiles are alike."""

from dataclasses import dataclass, field

import numpy as np

from aqka._util.arrays import IntArray
from aqka.backends.drift import Drift, check_drift
from aqka.backends.mitigation import Depolarising, estimate_depolarising

__all__ = ["TileHits", "TileWatch", "Unevenness"]


@dataclass(frozen=True, eq=False)
class TileHits:
    """Sentinels of one round.

    Attributes
    ----------
    names
        The tiles, named by their qubits.
    hits, shots
        Hits and shots of the diagonal entries, tiles by points.
    """

    names: tuple[str, ...]
    hits: IntArray
    shots: IntArray


@dataclass(frozen=True)
class Unevenness:
    """How different tiles are.

    Attributes
    ----------
    p_value
        Probability that tiles of one noise differ at least as much by shot noise.
    spread
        Standard deviation of the tiles' survival probabilities, shot noise taken off.
    worst, best
        The tiles of the lowest and the highest survival.
    """

    p_value: float
    spread: float
    worst: str
    best: str

    def kernel_error(self, tiles_per_pair: float = 1.0) -> float:
        """Return the error that unevenness adds to an entry of 1, after a common correction.

        A pair's shots come from a few tiles, drawn at random: their mean survival is off by the
        spread over the root of their number, and so is the entry.
        """
        return self.spread / float(np.sqrt(tiles_per_pair))


@dataclass
class TileWatch:
    """All rounds' sentinels, tile by tile.

    Attributes
    ----------
    rounds
        What was seen so far.

    Examples
    --------
    >>> watch = TileWatch()
    >>> hits, shots = np.array([[90], [70]]), np.array([[100], [100]])
    >>> watch.rounds.append(TileHits(("q0_1", "q3_4"), hits, shots))
    >>> {name: round(found.survival, 2) for name, found in watch.survival(n_qubits=2).items()}
    {'q0_1': 0.87, 'q3_4': 0.6}
    """

    rounds: list[TileHits] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Every tile that was seen, in the order of their names."""
        return sorted({name for seen in self.rounds for name in seen.names})

    def of_tile(self, name: str) -> tuple[IntArray, IntArray]:
        """Return hits and shots of one tile, rounds by points; rounds without it are left out."""
        seen = [(one, one.names.index(name)) for one in self.rounds if name in one.names]
        hits = np.array([one.hits[k] for one, k in seen])
        return hits, np.array([one.shots[k] for one, k in seen])

    def survival(self, n_qubits: int) -> dict[str, Depolarising]:
        """Return the survival probability of each tile; one minus it is its depolarising rate."""
        found = {}
        for name in self.names:
            hits, shots = self.of_tile(name)
            found[name] = estimate_depolarising(hits.ravel(), shots.ravel(), n_qubits)
        return found

    def drifting(self, false_alarm: float) -> dict[str, Drift]:
        """Return the tiles of the last round whose sentinels changed between rounds.

        ``false_alarm`` is the probability that any tile is named without a drift, in this look.
        """
        now = self.rounds[-1].names if self.rounds else ()
        found = {
            name: check_drift(*self.of_tile(name), false_alarm=false_alarm / len(now))
            for name in now
        }
        return {name: drift for name, drift in found.items() if drift.drifted}

    def unevenness(self, n_qubits: int) -> Unevenness:
        """Return how different the tiles are, from all rounds together."""
        sums = [tuple(part.sum(axis=0) for part in self.of_tile(name)) for name in self.names]
        hits, shots = (np.array([pair[k] for pair in sums]) for k in (0, 1))
        found = self.survival(n_qubits)
        values = np.array([one.survival for one in found.values()])
        noise = np.mean([one.standard_error**2 for one in found.values()])
        variance = float(np.var(values, ddof=1) - noise) if len(values) > 1 else 0.0
        return Unevenness(
            p_value=check_drift(hits, shots).p_value,
            spread=float(np.sqrt(max(variance, 0.0))),
            worst=self.names[int(np.argmin(values))],
            best=self.names[int(np.argmax(values))],
        )
