"""A run as a directory: how it is prepared, made, found and held."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from aqka._util import files
from aqka._util.text import inert
from aqka.backends.feature_maps import BUILT_IN_MAPS
from aqka.backends.trainable import TrainableMap
from aqka.core.problem import as_labels
from aqka.errors import InputError, LedgerError
from aqka.insight.exact_kernels import MAX_QUBITS
from aqka.insight.map_kernels import MapKernel
from aqka.insight.map_training import VALIDATION, split_points, train_exactly
from aqka.runs.head import make_head
from aqka.runs.ledger import LEDGER_NAME
from aqka.study.feature_maps import as_qpy, feature_map, load_function, n_features, trainable_of
from aqka.study.method import design_of
from aqka.study.points import Points, encode, load_table
from aqka.study.schema import Study, load_study

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

STUDY_NAME, DATA_NAME, RESULTS_NAME = "study.toml", "data.npz", "results.json"
MAP_NAME = "feature_map.qpy"
UNTRAINED_NAME = "untrained_map.qpy"  # where the map is trained on shots; MAP_NAME comes after it
MAP_TRAINING_NAME = "map-training"  # a directory with a ledger of its own
PREDICTIONS_NAME = "predictions"  # a directory with a ledger of its own
NEW_POINTS_NAME = "new-points"  # a directory with one of those for each file of new points
REPORT_NAME = "report.html"
LOCK_NAME = "run.lock"


@dataclass(frozen=True, eq=False)
class Prepared:
    """All that a run needs, read and checked; nothing has been spent."""

    study: Study
    text: str  # of the study file
    points: Points  # encoded
    circuit: "QuantumCircuit | None"  # None where the backend has the feature map itself
    # Functions that the backend is made with, by their keys; only if the user allowed it.
    code: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    design_reason: str | None = None  # once method.design = "auto" is settled
    map_training: Mapping[str, Any] | None = None  # what training the feature map gave
    trainable: TrainableMap | None = None  # where it is trained on the study's own backend
    untrained: "QuantumCircuit | None" = None  # and as the study names it

    @property
    def feature_map(self) -> "str | QuantumCircuit":
        """The built-in map's name, or the circuit."""
        section, circuit = self.study.feature_map, self.circuit
        return section.map if circuit is None or section.is_built_in else circuit

    @property
    def n_qubits(self) -> int:
        """Qubits of the feature map."""
        circuit = self.circuit
        return self.points.train.shape[1] if circuit is None else int(circuit.num_qubits)


def prepare(path: Path, *, allow_code: bool = False) -> Prepared:
    """Read a study file and what it names; nothing is written."""
    study, text = load_study(path)
    base = path.parent
    circuit = feature_map(study, base, allow_code=allow_code)
    code = backend_code(study, base, allow_code)
    table = load_table(study.data, base)
    width, ends = n_features(study, circuit), study.feature_map.range
    points = encode(table, study.split, ends, width, study.seed)
    if circuit is None or study.feature_map.train is None:
        return Prepared(study, text, points, circuit, code)
    made = trainable_of(study, circuit)
    kernel, train = MapKernel(made, design_of(study.method)), study.feature_map.train
    if train.where == "simulation" and not kernel.simulates():
        raise InputError(
            f"feature_map.train.where is 'simulation', which takes at most {MAX_QUBITS} qubits, or "
            f"a projected kernel of a shallow map; this one has {circuit.num_qubits} qubits: set "
            "it to 'device', or leave it out."
        )
    if train.where == "device" or not kernel.simulates():
        start = made.bind(made.first_theta(study.seed))
        return Prepared(study, text, points, start, code, trainable=made, untrained=circuit)
    labels = as_labels(points.train_labels)
    parts = split_points(labels, VALIDATION, study.seed)
    trained = train_exactly(kernel, points.train, labels, parts, study.seed)
    return Prepared(study, text, points, trained.bound, code, map_training=trained.facts())


def backend_code(study: Study, base: Path, allow_code: bool) -> dict[str, Callable[..., Any]]:
    """Return the functions that the backend is made with."""
    return {
        key: load_function(f"backend.{key}", name, base, allow_code=allow_code)
        for key, name in study.backend.code.items()
    }


def output_directory(study: Study, path: Path, chosen: Path | None) -> Path:
    """Return where the run goes: where the user says, else inside the study's directory."""
    if chosen is not None:
        return chosen
    return files.inside(path.parent, study.output or f"runs/{path.stem}", "output")


def check_unused(directory: Path) -> None:
    """Refuse a directory that already holds something."""
    where = inert(directory, 300)
    with files.explained(f"output {where} cannot be used", "; name another"):
        if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
            return
    if (directory / STUDY_NAME).exists():
        raise InputError(
            f"{where} already holds a run; continue it with 'aqka resume {where}', or name "
            "another with --output."
        )
    raise InputError(f"{where} is not empty; name another with --output.")


def write_run(prepared: Prepared, directory: Path, results: dict[str, Any]) -> None:
    """Make the run's directory, complete or not at all."""
    check_unused(directory)
    words = f"output {inert(directory, 300)} cannot be written"
    with files.explained(words, "; name another with --output"):
        directory.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=directory.parent, prefix=f".{directory.name}."))
        try:
            draft.chmod(0o755)
            files.write_atomically(draft / STUDY_NAME, prepared.text.encode())
            files.write_atomically(draft / DATA_NAME, prepared.points.as_npz())
            files.write_atomically(draft / RESULTS_NAME, files.as_json(results))
            if prepared.untrained is not None:
                if prepared.study.feature_map.map not in BUILT_IN_MAPS:
                    files.write_atomically(draft / UNTRAINED_NAME, as_qpy(prepared.untrained))
                (draft / MAP_TRAINING_NAME).mkdir()
                make_head(draft / MAP_TRAINING_NAME / LEDGER_NAME)
            elif prepared.circuit is not None and not prepared.study.feature_map.is_built_in:
                # As QPY whatever it came as, so that resuming needs neither a reader nor code.
                files.write_atomically(draft / MAP_NAME, as_qpy(prepared.circuit))
            # Without an entry yet, so that a run that loses its ledger does not look unbegun.
            make_head(draft / LEDGER_NAME)
            os.replace(draft, directory)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise


def check_directory(directory: Path) -> None:
    """Refuse a directory that holds no run, or anything that leads elsewhere."""
    try:
        entries = list(os.scandir(directory))
        new = directory / NEW_POINTS_NAME
        inner = [directory / name for name in (PREDICTIONS_NAME, MAP_TRAINING_NAME)]
        inner += [new, *(new.iterdir() if new.is_dir() else ())]
        nested = [entry for place in inner if place.is_dir() for entry in os.scandir(place)]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise InputError(f"there is no run at {inert(directory, 300)}: {reason}.") from None
    for entry in (*entries, *nested):
        # A link could make us read or write a file elsewhere, a pipe make us wait forever.
        if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)):
            raise InputError(
                f"{inert(directory, 300)} holds {inert(entry.name)!r}, a link or something else "
                "that is not a plain file; a run has none. Remove it if you trust the rest."
            )
    if not any(entry.name in (STUDY_NAME, LEDGER_NAME) for entry in entries):
        raise InputError(
            f"{inert(directory, 300)} holds no run; 'aqka run' makes one, and prints where."
        )


@contextmanager
def hold_run(directory: Path) -> Iterator[None]:
    """Hold the run while working on it; the lock dies with its process."""
    where = inert(directory, 300)
    try:
        held = FileLock(directory / LOCK_NAME, timeout=0).acquire()
    except Timeout:
        raise LedgerError(
            f"another process is using {where}; follow it with 'aqka watch'."
        ) from None
    except OSError as error:
        raise InputError(f"cannot write in {where}: {error.strerror}.") from None
    with held:
        yield


def is_held(directory: Path) -> bool | None:
    """Return whether a process works on the run, without touching its lock; None: unknown."""
    names = (LOCK_NAME, f"{Path(LEDGER_NAME).stem}.lock")
    return files.any_locked(directory / name for name in names)
