"""From a limit as people state it to one that a run can check."""

from aqka.planning.budget import Budget, Money, Shots
from aqka.planning.device import HERON, DeviceModel, depth_of_shot, zz_depth
from aqka.planning.quotes import as_budget
from aqka.planning.usage import needed_rate
from aqka.runs.spend import Ceiling


def make_ceiling(
    limit: Budget | int | str,
    *,
    n_qubits: int = 4,
    depth: int | None = None,
    rate: float | None = None,
    device: DeviceModel = HERON,
    design: str = "pairs",
) -> Ceiling:
    """Return a hard limit on shots, QPU time or money, for all runs that it is passed to.

    Before every submission what was used and the quote of the next job must fit, or the run
    stops with a ``aqka.CeilingError``.

    Parameters
    ----------
    limit
        As the budget of :func:`aqka.quote`.
    n_qubits, depth, rate, device
        See :func:`aqka.quote`.
    design
        What a shot is spent on, ``"pairs"`` or ``"points"``; only used for the depth.

    Examples
    --------
    >>> from aqka import MatrixBackend, acquire
    >>> kernel = [[1.0, 0.6, 0.1], [0.6, 1.0, 0.2], [0.1, 0.2, 1.0]]
    >>> ceiling = make_ceiling("5 s")
    >>> session = acquire(MatrixBackend(kernel), [1, 1, -1], 3000, "aqka", ceiling=ceiling)
    Traceback (most recent call last):
    aqka.errors.CeilingError: the ceiling is reached: the next round needs 2.211 s of QPU time, ...
    >>> ceiling.used_shots
    1200
    """
    budget = as_budget(limit)
    seconds = None if isinstance(budget, Shots) else getattr(budget, "seconds", 0.0)
    if isinstance(budget, Money):
        seconds = budget.amount / needed_rate(budget, rate) * 60
    depth = depth_of_shot(zz_depth(n_qubits) if depth is None else depth, design)
    return Ceiling(
        shots=budget.count if isinstance(budget, Shots) else None,
        seconds=seconds,
        job_seconds=device.job_overhead,
        execution_seconds=device.execution_seconds(depth),
        max_executions=device.max_executions,
        words=str(limit) if isinstance(limit, str) else "",
    )
