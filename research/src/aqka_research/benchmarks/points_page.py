"""The page of points: how good fitted states, ranks, stopping and projected kernels are."""

from aqka_research.benchmarks import (
    few_shots,
    point_allocation,
    point_law,
    point_noise,
    point_prediction,
    point_readout,
    projected,
    projected_suite,
)
from aqka_research.figures.page import PageRun

SECTIONS = (
    point_law,
    few_shots,
    point_readout,
    point_noise,
    point_prediction,
    point_allocation,
    projected_suite,
    projected,
)


def page(run: PageRun) -> list[str]:
    """Measure every section, and write the page."""
    blocks = ["# Points, measured"]
    blocks.append("The measurements behind [points instead of pairs](../explanation/points.md).")
    return blocks + [block for part in SECTIONS for block in part.section(run)]
