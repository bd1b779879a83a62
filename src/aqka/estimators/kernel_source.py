"""Where an estimator's kernel comes from: the one place that looks at its ``backend``."""

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from aqka._util.text import did_you_mean, inert
from aqka.backends.factory import NAMES, BackendFactory, as_factory
from aqka.core.points import PointTable
from aqka.errors import InputError
from aqka.estimators._bought_kernel import BoughtKernel, Purchase
from aqka.estimators._bought_points import BoughtPoints
from aqka.estimators._finished_points import FinishedPoints
from aqka.estimators._finished_run import FinishedRun, confusion_of_run, table_of_run
from aqka.estimators._given_kernel import GivenKernel
from aqka.estimators._training_kernel import KernelSource
from aqka.sessions.design import DESIGNS
from aqka.sessions.point_acquisition import as_calibration_shots

PRECOMPUTED = "precomputed"


def is_precomputed(backend: Any) -> bool:
    """Return whether X is the kernel itself."""
    return isinstance(backend, str) and backend == PRECOMPUTED


def kernel_source(backend: Any, X: NDArray[Any], purchase: Purchase) -> KernelSource:
    """Return what ``backend`` stands for, with X as the training points.

    Parameters
    ----------
    backend
        The parameter of an estimator.
    X
        Training points; their kernel if that is precomputed; or their numbers in a finished run.
    purchase
        How to buy the kernel if it has to be.
    """
    if is_precomputed(backend):
        return GivenKernel(X)
    factory = as_factory(backend)
    if factory is not None:
        return _bought(factory, X, purchase)
    table = table_of_run(backend)
    if isinstance(table, PointTable):
        return FinishedPoints(table, X, confusion_of_run(backend))
    if table is not None:
        return FinishedRun(table, X)
    names = [*NAMES, PRECOMPUTED]
    near = did_you_mean(backend, names) if isinstance(backend, str) else ""
    raise InputError(
        f"backend must be {', '.join(map(repr, names))}, a BackendFactory, a device of "
        f"Qiskit's, or a finished run (its directory, session or table of counts); got "
        f"{inert(repr(backend), 100)}.{near}"
    )


def _bought(factory: BackendFactory, X: NDArray[Any], purchase: Purchase) -> KernelSource:
    """Return pairs or points to be measured, as the design says."""
    if purchase.design not in DESIGNS:
        raise InputError(
            f"design must be one of {', '.join(DESIGNS)}; got {inert(repr(purchase.design), 100)}."
        )
    as_calibration_shots(purchase.calibration_shots, purchase.design)
    choice = None
    if purchase.design == "auto":  # settled first: the quote and the split are those of a design
        choice = BoughtKernel.chosen(factory, X, purchase)
        purchase = replace(purchase, design=choice.design)
    kind = BoughtPoints if purchase.design == "points" else BoughtKernel
    return kind(factory, X, purchase, choice)
