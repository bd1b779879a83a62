"""The planted-sparse RBF task that several experiments share, with its sizes and budgets."""

from collections.abc import Mapping, Sequence

from aqka.allocators import Allocator
from aqka.allocators.aqka import Aqka, AqkaOracle
from aqka_research.chosen_tasks import planted_rbf
from aqka_research.results import Row
from aqka_research.spending import all_rows, baseline_rows
from aqka_research.sweep.store import Cell
from aqka_research.tasks import Task

N_TRAIN, N_TEST, N_ANCHORS = 225, 75, 10
N_PAIRS = N_TRAIN * (N_TRAIN + 1) // 2
LARGEST = 1_000_000
UNFLOORED: dict[str, Allocator] = {
    "aqka, no floor": Aqka(floor=0.0),
    "aqka-oracle, no floor": AqkaOracle(floor=0.0),
}
"""Both without the 5 % floor on sensitivities of the paper's Table 1. On the planted task most true
sensitivities are 0, so the floor decides where most of the oracle's shots go."""
BUDGETS = [3000, 10_000, 30_000, 100_000, 300_000, LARGEST]


def planted_task(seed: int, protocol: str, n_anchors: int = N_ANCHORS) -> Task:
    """Return the task of Section 5.1: 300 points, of which 75 are test points (Appendix B)."""
    return planted_rbf(protocol, N_TRAIN, n_anchors, seed, N_TEST)


def planted_rows(cell: Cell, methods: Sequence[str] | Mapping[str, Allocator]) -> list[Row]:
    """Measure one seed: the baselines, and every method at every budget of the cell."""
    task = planted_task(cell["seed"], cell["protocol"])
    runs = all_rows(task, methods, cell["budgets"], cell["protocol"], cell["seed"])
    return baseline_rows(task, cell["protocol"]) + runs


def beyond_a_shot_a_pair(budget: int) -> bool:
    """Whether a budget is "beyond B ≈ n_pairs", as the paper says."""
    return budget > N_PAIRS
