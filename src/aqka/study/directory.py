"""A run as a directory: the study file, the points, the feature map, the ledger, the results."""

import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock, Timeout

from aqka._util.files import as_json, inside, read_bytes, write_atomically
from aqka._util.lock_list import any_locked
from aqka._util.text import inert
from aqka.backends.feature_maps import BUILT_IN_MAPS
from aqka.errors import InputError, LedgerError
from aqka.runs.head import NO_ENTRY, write_head
from aqka.runs.ledger import LEDGER_NAME
from aqka.study.backend_section import BackendSection
from aqka.study.circuit_files import load_circuit
from aqka.study.data import Points, encode, load_table
from aqka.study.encoding import ARRAYS, Encoding
from aqka.study.feature_maps import as_qpy, feature_map, n_features
from aqka.study.npz_files import read_arrays
from aqka.study.origin import ARRAYS as ORIGIN_ARRAYS
from aqka.study.origin import Origin
from aqka.study.own_code import load_function
from aqka.study.schema import Study, load_study
from aqka.study.seal import DATA_NAME, MAP_NAME, PREDICTIONS_NAME, RESULTS_NAME, STUDY_NAME

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

NEW_POINTS_NAME = "new-points"  # a directory with one of those for each file of new points
REPORT_NAME = "report.html"
LOCK_NAME = "run.lock"
MAX_RESULTS_BYTES = 2**24


@dataclass(frozen=True, eq=False)
class Prepared:
    """All that a run needs, read and checked; nothing has been spent.

    Attributes
    ----------
    study, text
        The study, and the file it was read from.
    points
        Its points, encoded.
    circuit
        Its feature map; None where the backend has the map itself.
    code
        Functions that its backend is made with, by their keys; only if the user allowed it.
    design_reason
        Why pairs or points are measured, where ``method.design`` is ``auto`` and settled.
    """

    study: Study
    text: str
    points: Points
    circuit: "QuantumCircuit | None"
    code: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    design_reason: str | None = None


def n_qubits_of(prepared: Prepared) -> int:
    """Return the qubits of a study's feature map."""
    circuit = prepared.circuit
    return prepared.points.train.shape[1] if circuit is None else int(circuit.num_qubits)


def prepare(path: Path, *, allow_code: bool = False) -> Prepared:
    """Read a study file and what it names; nothing is written."""
    study, text = load_study(path)
    base = path.parent
    circuit = feature_map(study, base, allow_code=allow_code)
    code = _backend_code(study, base, allow_code)
    table = load_table(study.data, base)
    points = encode(table, study.split, study.feature_map, n_features(study, circuit))
    return Prepared(study, text, points, circuit, code)


def _backend_code(study: Study, base: Path, allow_code: bool) -> dict[str, Callable[..., Any]]:
    """Return the functions that the backend is made with."""
    return {
        key: load_function(f"backend.{key}", name, base, allow_code=allow_code)
        for key, name in study.backend.code.items()
    }


def output_directory(study: Study, path: Path, chosen: Path | None) -> Path:
    """Return where the run goes: where the user says, else inside the study's directory."""
    if chosen is not None:
        return chosen
    return inside(path.parent, study.output or f"runs/{path.stem}", "output")


def check_unused(directory: Path) -> None:
    """Refuse a directory that already holds something."""
    try:
        if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
            return
    except OSError as error:
        raise InputError(
            f"output {inert(directory, 300)} cannot be used: {error.strerror}; name another."
        ) from None
    if (directory / STUDY_NAME).exists():
        raise InputError(
            f"{inert(directory, 300)} already holds a run; go on with it by "
            f"'aqka resume {inert(directory, 300)}', or name another with --output."
        )
    raise InputError(f"{inert(directory, 300)} is not empty; name another with --output.")


def write_run(prepared: Prepared, directory: Path, results: dict[str, Any]) -> None:
    """Make the run's directory, complete or not at all."""
    check_unused(directory)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=directory.parent, prefix=f".{directory.name}."))
        try:
            draft.chmod(0o755)
            write_atomically(draft / STUDY_NAME, prepared.text.encode())
            write_atomically(draft / DATA_NAME, _as_npz(prepared.points))
            write_atomically(draft / RESULTS_NAME, as_json(results))
            if prepared.circuit is not None and prepared.study.feature_map.map not in BUILT_IN_MAPS:
                # As QPY whatever it came as, so that resuming needs neither a reader nor code.
                write_atomically(draft / MAP_NAME, as_qpy(prepared.circuit))
            # Of no entry yet, so that a run whose ledger is lost does not look as if it had none.
            write_head(draft / LEDGER_NAME, NO_ENTRY)
            os.replace(draft, directory)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    except OSError as error:
        raise InputError(
            f"output {inert(directory, 300)} cannot be written: {error.strerror}; name another "
            "with --output."
        ) from None


def check_directory(directory: Path) -> None:
    """Refuse a directory that holds no run, or anything that leads elsewhere."""
    try:
        entries = list(os.scandir(directory))
        new = directory / NEW_POINTS_NAME
        inner = [directory / PREDICTIONS_NAME, new, *(new.iterdir() if new.is_dir() else ())]
        nested = [entry for place in inner if place.is_dir() for entry in os.scandir(place)]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise InputError(f"there is no run at {inert(directory, 300)}: {reason}.") from None
    for entry in (*entries, *nested):
        # A link could make us read or write a file elsewhere, a pipe wait for ever.
        is_file = entry.is_file(follow_symlinks=False)
        if not is_file and not entry.is_dir(follow_symlinks=False):
            raise InputError(
                f"{inert(directory, 300)} holds {inert(entry.name)!r}, a link or something else "
                "that is not a plain file; a run has none. Remove it if you trust the rest."
            )
    if not any(entry.name in (STUDY_NAME, LEDGER_NAME) for entry in entries):
        raise InputError(
            f"{inert(directory, 300)} holds no run; 'aqka run' makes one, and prints where."
        )


def read_run(directory: Path, *, allow_code: bool = False) -> Prepared:
    """Read a run's directory as written by :func:`write_run`.

    It needs nothing else, unless the study names code that makes its backend.
    """
    check_directory(directory)
    if not (directory / STUDY_NAME).exists():
        raise InputError(
            f"{inert(directory, 300)} has no {STUDY_NAME}: the run was begun from Python. Call "
            "acquire() again with the same arguments to go on."
        )
    study, text = load_study(directory / STUDY_NAME)
    circuit: QuantumCircuit | None = None
    if study.feature_map.map in BUILT_IN_MAPS:
        circuit = feature_map(study, directory, allow_code=False)
    else:
        circuit = load_circuit(directory / MAP_NAME, backwards=study.method.design != "points")
    code = _backend_code(study, directory, allow_code)
    points = read_points(directory, n_features(study, circuit))
    return Prepared(study, text, points, circuit, code)


def read_points(directory: Path, features: int | None = None) -> Points:
    """Return the points of a run, checked: its directory may be anyone's."""
    arrays = read_arrays(directory / DATA_NAME)
    wanted = ("train", "test", "train_labels", "test_labels")
    refusal = InputError(
        f"{DATA_NAME} does not hold a run's points; restore it from a copy of the run."
    )
    if set(arrays) - set(ORIGIN_ARRAYS) != {*wanted, *ARRAYS}:
        raise refusal
    train, test, train_labels, test_labels = (arrays[name] for name in wanted)
    for x, labels in ((train, train_labels), (test, test_labels)):
        if x.ndim != 2 or x.dtype != np.float64 or labels.shape != (len(x),):
            raise refusal
        if labels.dtype.kind not in "iUf" or not np.isfinite(x).all():
            raise refusal
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise refusal
    if (train_labels.dtype.kind == "f") != (test_labels.dtype.kind == "f"):
        raise refusal
    # There may be no test points, if all are for training.
    if train.size == 0 or train.shape[1] != test.shape[1] or features not in (None, train.shape[1]):
        raise refusal
    encoding = Encoding.of_arrays(arrays, train.shape[1])
    sizes, width = (len(train), len(test)), len(encoding.columns)
    origin = Origin.of_arrays(arrays, sizes, width)
    return Points(train, test, train_labels, test_labels, encoding, origin)


def read_results(directory: Path) -> dict[str, Any]:
    """Return what stands in a run's results so far; nothing where there are none."""
    path = directory / RESULTS_NAME
    if not path.exists():
        return {}
    try:
        content = json.loads(read_bytes(path, MAX_RESULTS_BYTES, "results"))
    except (ValueError, RecursionError):
        raise InputError(
            f"{RESULTS_NAME} is damaged; remove it and resume the run to write it anew."
        ) from None
    if not isinstance(content, dict):
        raise InputError(f"{RESULTS_NAME} is not a run's; remove it and resume the run.")
    return content


def write_results(directory: Path, results: bytes) -> None:
    """Replace a run's results, complete or not at all."""
    try:
        write_atomically(directory / RESULTS_NAME, results)
    except OSError as error:
        raise LedgerError(
            f"{RESULTS_NAME} cannot be written: {error.strerror}. No shot is lost: mend it and "
            f"resume {inert(directory, 300)}."
        ) from None


@contextmanager
def hold_run(directory: Path) -> Iterator[None]:
    """Hold the run while working on it; the lock dies with its process."""
    lock = FileLock(directory / LOCK_NAME, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise LedgerError(
            f"another process is at work on {inert(directory, 300)}; look with 'aqka watch'."
        ) from None
    except OSError as error:
        raise InputError(f"cannot write in {inert(directory, 300)}: {error.strerror}.") from None
    try:
        yield
    finally:
        lock.release()


def is_held(directory: Path) -> bool | None:
    """Return whether a process works on the run, without touching its lock; None: unknown."""
    names = (LOCK_NAME, f"{Path(LEDGER_NAME).stem}.lock")
    return any_locked(directory / name for name in names)


def _as_npz(points: Points) -> bytes:
    stream = io.BytesIO()
    arrays: dict[str, Any] = {
        "train": points.train,
        "test": points.test,
        "train_labels": points.train_labels,
        "test_labels": points.test_labels,
        **points.encoding.arrays(),
        **points.origin.arrays(),
    }
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def same_device(section: BackendSection, directory: Path) -> BackendSection:
    """Return the backend of a begun run: the least busy device may be another one by now."""
    name = read_results(directory).get("backend")
    if section.name != "ibm" or section.device is not None or not isinstance(name, str):
        return section
    return section.model_copy(update={"device": name})
