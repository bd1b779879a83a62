"""States of very many points, fitted on all cores or a cluster."""

import multiprocessing
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.estimates.states import FittedStates, batch_size, check_measured, fit_states

if TYPE_CHECKING:
    from distributed import Client

CELL_AMPLITUDES = 2**20  # 2,048 points of four qubits in 32 settings, about a second of work
MANY_AMPLITUDES = 16 * CELL_AMPLITUDES  # below, processes start longer than they save


@dataclass(frozen=True)
class StateFits:
    """Where states are fitted: a few points here, very many on all cores or a cluster.

    Called as ``aqka.estimates.states.fit_states`` is, and finds the same states bit for bit.

    Parameters
    ----------
    workers : int, default=None
        Processes on this machine; None takes one for each core.
    scheduler : str or Client, default=None
        Address of a Dask scheduler, or a client, on whose cluster all states are fitted. With the
        address a head can be pickled.
    """

    workers: int | None = None
    scheduler: "str | Client | None" = None

    def __call__(
        self,
        table: PointTable,
        rank: int = 1,
        start: FittedStates | None = None,
        confusion: FloatArray | None = None,
    ) -> FittedStates:
        """Return the states of all points."""
        amplitudes = rank * table.n_points * table.n_settings * 2**table.n_qubits
        is_one_of_several = multiprocessing.parent_process() is not None
        if self.scheduler is None and (amplitudes < MANY_AMPLITUDES or is_one_of_several):
            return fit_states(table, rank, start, confusion)
        check_measured(table)
        size = _points_per_cell(table, rank)
        cells = [
            np.arange(first, min(first + size, table.n_points))
            for first in range(0, table.n_points, size)
        ]
        parts: list[tuple[Any, ...]] = [
            (table.subset(cell), rank, None if start is None else start.subset(cell), confusion)
            for cell in cells
        ]
        found = self._on_cluster(parts) if self.scheduler is not None else self._on_cores(parts)
        return FittedStates.joined(found, found[0].confusion)

    def _on_cores(self, parts: list[tuple[Any, ...]]) -> list[FittedStates]:
        from joblib import Parallel, delayed, parallel_config

        # One BLAS thread each, as in this process: the last bits depend on their number.
        with parallel_config("loky", n_jobs=self.workers or -1, inner_max_num_threads=1):
            found: list[FittedStates] = Parallel()(delayed(fit_states)(*part) for part in parts)
        return found

    def _on_cluster(self, parts: list[tuple[Any, ...]]) -> list[FittedStates]:
        import distributed

        given = not isinstance(self.scheduler, str)
        client: Any = self.scheduler if given else distributed.Client(self.scheduler)  # type: ignore[no-untyped-call]
        with nullcontext() if given else client:
            found = client.gather([client.submit(fit_states, *part) for part in parts])
        return list(found)


def _points_per_cell(table: PointTable, rank: int) -> int:
    """Return the points of a cell: whole batches of the fit, so that no batch is cut in two."""
    batch, amplitudes = batch_size(table, rank), rank * table.n_settings * 2**table.n_qubits
    return batch * max(1, int(CELL_AMPLITUDES // (batch * amplitudes)))
