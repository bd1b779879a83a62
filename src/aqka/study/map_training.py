"""A study's feature map trained on the shots of its own backend, before its kernel is measured."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from aqka._util.arrays import FloatArray
from aqka.backends import Backend
from aqka.backends.trainable import MapBackend
from aqka.core.problem import as_labels
from aqka.errors import InputError, LedgerError
from aqka.insight.map_kernels import MapKernel
from aqka.insight.map_training import VALIDATION, TrainedMap, split_points, trained_by
from aqka.planning.budget import Budget, affordable_shots
from aqka.planning.device import Usage
from aqka.planning.quotes import QuotePart
from aqka.runs.driver import Run, part_of
from aqka.runs.history import History
from aqka.runs.spend import Spend
from aqka.sessions.map_training import FEWEST_STEPS, MapTraining
from aqka.study.backends import make_backends
from aqka.study.directory import MAP_TRAINING_NAME, Prepared
from aqka.study.method import design_of

MAP_TRAINING = "map training"  # as quotes call it


class MapRun:
    """The training of a study's map, whose design is settled, with so many shots."""

    def __init__(self, prepared: Prepared, budget: int) -> None:
        if prepared.trainable is None:
            raise LedgerError(
                f"the run has lost its {MAP_TRAINING_NAME}, with the shots that were paid for. "
                "Restore it from a copy; nothing was bought again."
            )
        self._X, seed = prepared.points.train, prepared.study.seed
        self.kernel = MapKernel(prepared.trainable, design_of(prepared.study.method))
        y = as_labels(prepared.points.train_labels)
        _, held = split_points(y, VALIDATION, seed)
        self._prepared = prepared
        with _own_share(prepared):
            self.session: MapTraining = self.kernel.session(self._X, y, held, budget, seed)

    def backend(self) -> MapBackend:
        """Return what runs its steps; refuse one that cannot."""
        study = self._prepared.study.changed("method", design=self.kernel.design.name)
        given = replace(self._prepared, study=study, circuit=self.kernel.made.circuit)

        def make(rows: FloatArray) -> Backend:  # of (x, θ)
            points = replace(given.points, train=rows)
            return make_backends(replace(given, points=points), rows[:0]).train

        backend = MapBackend(self.kernel.made, self._X, make, self.session.theta0)
        self.kernel.design.check_backend(backend, 2 * len(self._X))
        backend.settle_on(self.kernel.design.name)
        return backend

    def spend(self, backend: MapBackend, spend: Spend, run_id: str) -> tuple[TrainedMap, History]:
        """Train, or take up what the ledger has of it; return the map, and what the ledger says."""
        with Run(self.session, backend, spend, part_of(run_id, MAP_TRAINING_NAME)) as run:
            run.spend()
            history = run.history()
        return trained_by(self.kernel, self.session, self._X), history


def map_part(prepared: Prepared, budget: Budget, rate: float | None, usage: Usage) -> QuotePart:
    """Return what the training of a study's map takes of its part of the budget, at most."""

    def part(shots: int) -> QuotePart:
        steps = FEWEST_STEPS
        with suppress(InputError):  # too few, which is refused below
            steps = MapRun(prepared, shots).session.steps_total
        # Whatever their sizes, each submission leaves less than an execution's tiles idle.
        executions = usage.executions(shots) + steps
        jobs = steps + 1 + executions // usage.device.max_executions
        seconds = usage.job_seconds(jobs, executions)
        return QuotePart(MAP_TRAINING, shots, steps + 1, jobs, seconds)

    with _own_share(prepared):
        shots = affordable_shots(budget, rate, lambda shots: (shots, part(shots).qpu_seconds))
    MapRun(prepared, shots)
    return part(shots)


@contextmanager
def _own_share(prepared: Prepared) -> Iterator[None]:
    """Say which part of the budget is too small."""
    try:
        yield
    except InputError as error:
        train = prepared.study.feature_map.train
        raise InputError(
            f"feature_map.train.share leaves {0 if train is None else train.share:g} of the "
            f"study's budget to its map's training: {error} Raise the study's budget or the share, "
            "or train in simulation."
        ) from None
