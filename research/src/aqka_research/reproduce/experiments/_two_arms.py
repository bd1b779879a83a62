"""Runs in which shots are really sent round by round to a noisy device, on a planted task."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends import Backend
from aqka.backends.statevector import zz_kernel
from aqka_research.protocols import task_choices
from aqka_research.results import Row
from aqka_research.spending import exact_decision, n_pairs, session_row, spend
from aqka_research.tasks import Task, plant

if TYPE_CHECKING:
    from aqka.backends.aer import AerBackend

ARMS = ("uniform", "aqka")
RIDGE = 0.01


def online_task(
    n_train: int, n_test: int, n_anchors: int, seed: int, protocol: str = "paper"
) -> tuple[Task, FloatArray]:
    """Return a target planted on the noiseless ZZ kernel, and the training points.

    Test kernel and labels are noiseless too, as the paper's (Appendix C.9).
    """
    rng = np.random.default_rng(seed)
    choices = task_choices(protocol)
    x = rng.uniform(0, choices.span, (n_train + n_test, 4))
    kernel = zz_kernel(x, x[:n_train])
    blocks = (kernel[:n_train], kernel[n_train:])
    ridge = choices.ridge(RIDGE, n_train)
    task = plant("planted-sparse ZZ kernel", *blocks, n_anchors, rng, ridge, choices.largest_class)
    return task, x[:n_train]


def exact_device(x: FloatArray, noise: str, seed: int) -> "AerBackend":
    """Return the exact noisy kernel of points, made once for all readings that measure them.

    ``noise`` is a fake device's name, or ``"depolarising"`` for the paper's simulator.
    """
    return _exact_device(x.tobytes(), len(x), noise, seed)


@lru_cache(maxsize=4)
def _exact_device(x: bytes, points: int, noise: str, seed: int) -> "AerBackend":
    rows = np.frombuffer(x).reshape(points, -1)
    return _compiled_device(noise, rows.shape[1]).with_points(rows, seed=seed)


@lru_cache(maxsize=2)
def _compiled_device(noise: str, features: int) -> "AerBackend":
    """Return a noisy device at no points of interest: its circuit is compiled once for all."""
    from aqka.backends.aer import AerBackend, depolarising_noise

    simulated = depolarising_noise() if noise == "depolarising" else fake_device(noise)
    return AerBackend(np.zeros((2, features)), noise=simulated)


@lru_cache(maxsize=1)
def fake_device(name: str) -> Any:
    """Return a fake device of IBM's; reading its calibration takes a second."""
    from qiskit_ibm_runtime import fake_provider

    return getattr(fake_provider, name)()


def arm_rows(
    task: Task, backend: Backend, ratios: Sequence[float], protocol: str, seed: int
) -> list[Row]:
    """Return a row for both arms at every budget, with the distance of K̂ from the true kernel."""
    exact = exact_decision(task)
    rows = []
    for method in ARMS:
        for ratio in ratios:
            budget = round(ratio * n_pairs(len(task.y)))
            session = spend(task, method, budget, protocol, seed, backend=backend)
            k_hat = session.problem.reading.kernel(session.table)
            rows.append(
                session_row(task, session, exact)
                | {
                    "method": method,
                    "budget": budget,
                    "shots_per_pair": ratio,
                    "operator_error": float(np.linalg.norm(k_hat - task.kernel, 2)),
                }
            )
    return rows
