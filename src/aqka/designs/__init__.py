"""Designs: what a shot is spent on, pairs of points or points."""

from aqka._util.text import unknown
from aqka.core.pairs import PairTable
from aqka.core.points import PointTable
from aqka.designs._base import Never, NewPoints, Settle, Stop
from aqka.designs._point_kernel import PointEstimate, PointKernel
from aqka.designs.fidelity import Fidelity
from aqka.designs.pairs import KernelEstimate, PairEstimate, Pairs
from aqka.designs.points import Points, point_kernel_names
from aqka.designs.projected import Projected
from aqka.designs.state_fits import StateFits

__all__ = [
    "AUTO",
    "Design",
    "Fidelity",
    "KernelEstimate",
    "Never",
    "NewPoints",
    "PairEstimate",
    "Pairs",
    "PointEstimate",
    "PointKernel",
    "Points",
    "Projected",
    "Settle",
    "StateFits",
    "Stop",
    "as_design",
    "design_names",
    "measured_by",
    "point_kernel_names",
]

Design = Pairs | Points
"""What a shot is spent on.

It knows its table of counts, how shots per unit become a plan, how counts are read as a kernel
estimate, and how new points are measured.
"""
AUTO = "auto"
_NAMED: dict[str, type[Pairs] | type[Points]] = {"pairs": Pairs, "points": Points}


def design_names() -> list[str]:
    """Return the names that stand for a design."""
    return [AUTO, *_NAMED]


def measured_by(table: object) -> Design | None:
    """Return the design whose training counts a table holds; None for anything else."""
    if isinstance(table, PairTable):
        return Pairs("all-zero" if table.tolerance is None else "tolerant")
    return Points() if isinstance(table, PointTable) else None


def as_design(design: str | Design) -> Design | None:
    """Return the design of that name, or the given one; None for ``"auto"``."""
    if isinstance(design, Pairs | Points):
        return design
    if design == AUTO:
        return None
    if not isinstance(design, str) or design not in _NAMED:
        raise unknown("design", design, design_names(), ", Pairs() or Points(…)")
    return _NAMED[design]()
