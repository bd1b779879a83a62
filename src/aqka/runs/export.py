"""What a ledger recorded, for analyses that need no new shot."""

from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from aqka._util.arrays import IntArray
from aqka._util.files import open_atomically
from aqka._util.optional import require
from aqka._util.text import inert
from aqka.core.calibration import CalibrationTable
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks
from aqka.core.points import PointTable
from aqka.errors import InputError, LedgerError
from aqka.runs.audit import sound_history
from aqka.runs.history import History


class Measurements(NamedTuple):
    """Counts in long format: one row for each pair that got shots in a round.

    Attributes
    ----------
    round
        The round, from 0.
    row, col
        The two points of the pair.
    shots, hits
        Shots that were run, and those that came back as all zeros. Where flipped bits were counted,
        ``hits`` has the shots with 0, 1, … of them: ``hits_0``, ``hits_1`` and so on in a file.
    """

    round: IntArray
    row: IntArray
    col: IntArray
    shots: IntArray
    hits: IntArray


class Outcomes(NamedTuple):
    """Counts of points in long format: one row for each outcome that was seen in a round.

    Attributes
    ----------
    round
        The round, from 0.
    point, setting
        The point, and which of the shared Pauli settings it was measured in. In a calibration round
        the setting is -1, and the point is the reference state: 0 for all qubits in 0, 1 for all 1.
    outcome
        The bitstring as a number, qubit 0 its least significant bit; above 62 qubits a row of
        numbers, 62 qubits each, which a file has as ``outcome_0``, ``outcome_1`` and so on.
    seen
        How often it was seen.
    """

    round: IntArray
    point: IntArray
    setting: IntArray
    outcome: IntArray
    seen: IntArray


Counts = Measurements | Outcomes


class Recorded(NamedTuple):
    """What a run measured.

    Attributes
    ----------
    table
        The counts of pairs or points.
    landmarks
        The rows that were measured, where the others are reconstructed.
    calibration
        Counts of the reference states, which measure the readout errors
        (``aqka.estimates.readout.confusion_matrices``); None without a calibration.
    """

    table: PairTable | PointTable
    landmarks: Landmarks | None
    calibration: CalibrationTable | None


def measurements(path: str | Path) -> Counts:
    """Return all counts of a run, round by round: of pairs, or outcomes of points.

    A round that is still open has none. A ledger that is not sound is refused.

    Examples
    --------
    >>> import tempfile
    >>> from aqka import MatrixBackend, acquire
    >>> directory = tempfile.mkdtemp()
    >>> kernel = [[1, 1], [1, 1]]
    >>> session = acquire(MatrixBackend(kernel), [1, -1], 50, "aqka", directory=directory)
    >>> measurements(directory).shots
    array([10, 10, 10, 10, 10])
    """
    history = sound_history(path)
    kind: Any = {"pairs": Measurements, "points": Outcomes}[history.extent.design]
    parts = [
        (np.full(len(columns[0]), round.number), *columns)
        for round in history.rounds
        for columns in [round.measured.counted(round.answer)]
    ]
    none = [np.zeros(0, dtype=np.int64)] * len(kind._fields)
    found: Counts = kind(*(map(np.concatenate, zip(*parts, strict=True)) if parts else none))
    return found


def _columns(found: Counts) -> dict[str, IntArray]:
    """Return the columns by name; a number for each 62 qubits is a column each."""
    columns: dict[str, IntArray] = {}
    for name, values in found._asdict().items():
        wide = {f"{name}_{k}": word for k, word in enumerate(values.T)}
        columns |= wide if values.ndim == 2 else {name: values}
    return columns


def table_of(path: str | Path) -> Recorded:
    """Return the table of a run as its session had it, from the ledger alone.

    Examples
    --------
    >>> import tempfile
    >>> from aqka import MatrixBackend, acquire
    >>> directory = tempfile.mkdtemp()
    >>> session = acquire(MatrixBackend([[1, 0.5], [0.5, 1]]), [1, -1], 50, directory=directory)
    >>> table_of(directory).table.total
    50
    """
    history = sound_history(path)
    return Recorded(table_in(history, path), history.landmarks, calibration_in(history))


def table_in(history: History, path: str | Path) -> PairTable | PointTable:
    """Return all counts of training pairs, or of points, of a run that has been read already."""
    if history.extent.block is not None:
        raise LedgerError(
            f"{inert(path, 300)} is the ledger of a prediction, which has no table of training "
            "pairs; measurements() gives its counts, predict() its result without a new shot."
        )
    table = empty_table(history)
    for round in history.rounds:
        round.add_to(table)
    return table


def empty_table(history: History) -> PairTable | PointTable:
    """Return a table for the counts of a run; a prediction by pairs has none."""
    extent = history.extent
    n_points = extent.points or extent.new_points
    assert n_points is not None
    try:
        if extent.pauli is None:
            return PairTable(n_points, extent.diagonal or "known", extent.bits)
        plans = (round.planned for round in history.rounds)
        letters = next((plan.letters for plan in plans if plan.letters is not None), None)
        if letters is None:  # nothing to count: any settings will do
            settings, qubits = extent.pauli
            digits = 3 ** np.minimum(np.arange(qubits), 30)  # more would overflow
            letters = np.arange(settings)[:, None] // digits % 3
        return PointTable(n_points, letters)
    except MemoryError as error:
        raise LedgerError(
            f"the table of {n_points} points does not fit into memory; use a larger machine."
        ) from error


def calibration_in(history: History) -> CalibrationTable | None:
    """Return the counts of a run's reference states; None where it has no calibration."""
    extent = history.extent
    if extent.calibration is None or extent.pauli is None:
        return None
    table = CalibrationTable(extent.pauli[1])
    for round in history.rounds:
        round.add_to(table)
    return table


def export(path: str | Path, target: str | Path) -> int:
    """Write the counts of a run to a file and return the number of rows.

    Parameters
    ----------
    path
        The run's directory, or the ledger in it.
    target
        A file that ends in ``.csv``, ``.npz`` or ``.parquet``; one that is there is replaced,
        and only once the new one is complete.
    """
    file = Path(target)
    ending = file.suffix.lower()
    if ending not in (".csv", ".npz", ".parquet"):
        raise InputError(
            f"target must end in .csv, .npz, .parquet; got {inert(file.name)!r}. The ending "
            "chooses the format."
        )
    if ending == ".parquet":
        require("pyarrow", "parquet")  # before anything is read
    found = measurements(path)
    try:
        with open_atomically(file) as stream:
            _write(_columns(found), ending, stream)
    except (OSError, ValueError) as error:
        raise InputError(
            f"target {inert(target, 300)} cannot be written: {error}; name another."
        ) from error
    return len(found.round)


def _write(columns: dict[str, IntArray], ending: str, stream: IO[bytes]) -> None:
    if ending == ".npz":
        np.savez_compressed(stream, **columns)  # type: ignore[arg-type]
    elif ending == ".parquet":
        table = require("pyarrow", "parquet").table(columns)
        require("pyarrow.parquet", "parquet").write_table(table, stream)
    else:  # numbers and a fixed header: there is nothing a spreadsheet could take for a formula
        table, header = np.column_stack(list(columns.values())), ",".join(columns)
        np.savetxt(stream, table, fmt="%d", delimiter=",", header=header, comments="")
