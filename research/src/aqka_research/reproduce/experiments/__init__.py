"""The paper's figures and tables, one file each; the file's name is the experiment's name."""

from aqka._util import registry
from aqka_research.reproduce.experiments._base import Experiment, as_parameters
from aqka_research.reproduce.measured_kernel import measure_kernel

__all__ = [
    "Experiment",
    "as_parameters",
    "experiment_names",
    "make_experiment",
    "measure_kernel",
]


def experiment_names() -> list[str]:
    """Return the names of all experiments.

    Examples
    --------
    >>> "synthetic" in experiment_names()
    True
    """
    return registry.names(__name__, Experiment)


def make_experiment(experiment: str | Experiment) -> Experiment:
    """Return the experiment of that name, or the given one."""
    return registry.make(__name__, Experiment, experiment)  # type: ignore[type-abstract]
