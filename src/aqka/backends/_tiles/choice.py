"""Which places to use at once: disjoint ones, apart from each other, as good as can be."""

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka.backends._tiles.places import Calibration, Place

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
            if self._weight(found) > self._weight(best):
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

    def _weight(self, chosen: IntArray) -> float:
        return float(self._weights[chosen].sum())

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
