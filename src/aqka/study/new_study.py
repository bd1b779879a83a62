"""Study files that aqka writes: the commented example, one for a user's data, and changes."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aqka._util.files import inside, read_text, write_atomically
from aqka._util.text import inert
from aqka.errors import InputError
from aqka.insight.preflight import Preflight
from aqka.insight.recommendation import settings_text
from aqka.study.check import StudyCheck
from aqka.study.data import load_table
from aqka.study.schema import MAX_STUDY_BYTES, DataSection, Study, parse_study
from aqka.study.tables import FORMATS, DataTable

ENOUGH_POINTS = 120  # for the example's numbers of training and test points
HEADER = re.compile(r"\s*\[\s*([\w-]+)\s*\]\s*(#.*)?$")
# A value on one line: a text, an array without arrays in it, or a bare word or number.
VALUE = r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|\[[^\[\]#\"']*\]|[^\s#\"'\[\]{}]+"

RunCheck = Callable[[StudyCheck], Preflight]

EXAMPLE = """\
# A study: data, a feature map, a budget, and how to spend it.
#   aqka check {name}     (is it worth any shots?)
#   aqka run {name}
# Every key is shown with its default or an example. Lines that begin with # are optional.

output = "runs/{stem}"        # directory of the run, inside this file's directory
seed = 0                      # seed of the split, the allocation and simulated shots

[data]
source = "breast-cancer"      # built-in: breast-cancer, wine, iris, digits, moons, circles,
                              # diabetes; or a .csv, .parquet or .npz file beside this one
# task = "regression"         # the target holds numbers (built-in: diabetes), not classes
# target = "label"            # column of the labels in a file (.npz: an array beside X)
# features = ["a", "b"]       # columns of a file to use; default: all others
# id = "name"                 # column of a file that names the points; default: rows, from 1
# missing = "median"          # fill gaps with the training points' median; default: "refuse"

[split]
train = 60                    # points, or a fraction of all; default: all but the test points
test = 30                     # points, or a fraction of all; 0: all points are for training

[feature_map]
map = "zz"                    # zz (linear), zz-full, z; a .qpy or .qasm (OpenQASM 3) file;
                              # or "module:function" with --allow-code
qubits = 4                    # built-in maps: one per feature. More columns than features are
                              # reduced to principal components
reps = 2                      # built-in maps: repetitions of the layers
range = [2.0, 4.0]            # each feature is scaled to this, fitted on training points; default:
                              # [0.0, 3.141592653589793]. aqka check tries some on your data

[backend]
name = "statevector"          # statevector (zz up to 10 qubits needs no extra), aer, ibm,
                              # sampler (any Qiskit sampler), pennylane (any PennyLane device),
                              # matrix-product (points of many, little entangled qubits)
# noise = [0.01, 0.04]        # aer: depolarising rates of one- and two-qubit gates
# device = "fake_fez"         # ibm: a fake device runs here, "ibm_fez" is hardware, and the default
                              # is the least busy. No token belongs in this file.
                              # pennylane: such as "default.qubit", or "module:function"
                              # sampler: "module:function" that makes one, with --allow-code
# account = "work"            # ibm: name of the saved account, which has instance and region
# mode = "auto"               # ibm: auto, session, batch or job
# options = { max_execution_time = 300, dynamical_decoupling = { enable = true } }
                              # ibm: options of its sampler; twirling is another
# optimization_level = 1      # ibm and sampler: level of Qiskit's transpiler, 0 to 3
# initial_layout = [0, 1, 2, 3]  # ibm and sampler: qubits of the device
# pass_manager = "lab:passes" # ibm and sampler: module:function, in place of these two
# tiles = "auto"              # ibm: circuits side by side on the chip; default: 1

[budget]
train = "20000 shots"         # or QPU time ("5 min"), or money ("$100", which needs rate)
# total = "100000 shots"      # in place of train: for training and predictions together
test_shots = 100              # for predictions, on top of train: at most so many shots, on average,
                              # for each pair of a test and a training point, or for each test
                              # point with design "points". 0 trains only; see aqka predict
# ceiling = "10 min"          # nothing is submitted beyond it; default: total
# rate = 96.0                 # price of a QPU minute

# [sentinels]                 # diagonal entries that show the noise of a device
# points = 4                  # training points whose K_ii is measured in every round
# shots = 100                 # shots of each, on top of the training shots
# mitigate = false            # whether to correct for the depolarising noise that they show

[method]
design = "auto"               # what a shot is spent on: "pairs" of points, each of the "points"
                              # once, or the one of the two that promises better labels
allocator = "uniform"         # even shots, in one round; "aqka" is the paper's; see the docs
# learner = "ridge-noise"     # or balanced (for rare classes), ridge, ridge-kfold, ridge-loo; svm
ridge = 0.01                  # ridge of the loss that the allocator follows
C = 5.0                       # the same for learner = "svm"
# rounds = 4                  # rounds after the warm-up; default: the allocator's
# calibration_shots = 0       # points: shots of the training budget that measure the readout errors
                              # of a device, which are then corrected
# point_kernel = "purified"   # points: without a device's noise, or "device": with it;
                              # projected, projected-2, projected-linear, projected-2-linear: from
                              # one- or two-qubit reduced states
"""


def example(name: str = "study.toml") -> str:
    """Return the example for a file of that name.

    Examples
    --------
    >>> parse_study(example()).budget.train
    '20000 shots'
    """
    stem = "".join(c if c.isalnum() or c in "-_" else "-" for c in name.removesuffix(".toml"))
    return EXAMPLE.replace("{name}", stem + ".toml").replace("{stem}", stem)


def study_of_data(
    study: Path, data: Path, target: str | None, run_check: RunCheck
) -> tuple[str, Preflight]:
    """Return the text of a study of a data file, and what trying settings on it gave.

    Parameters
    ----------
    study
        Where the study file will be; the data must lie in the same directory.
    data
        A .csv, .parquet or .npz file.
    target
        The column of its labels.
    run_check
        Runs a check, and may show how far it is.
    """
    base = study.parent
    section, table = _read(DataSection(source=_beside(base, data), target=target), base)
    n_columns = table.X.shape[1]
    text = example(study.name)
    settings: dict[str, Any] = {"data.source": section.source}
    if section.task == "regression":
        settings |= {"data.task": section.task}
    if target is not None:
        text = text.replace('# target = "label"  ', 'target = "label"    ')  # there as a comment
        settings |= {"data.target": target}
    if len(table.y) < ENOUGH_POINTS:
        settings |= {"split.train": 0.75, "split.test": 0.25}
    if n_columns == 1:
        settings |= {"feature_map.map": "z"}
    settings |= {"feature_map.qubits": min(4, n_columns)}
    text = with_settings(text, settings)
    check = StudyCheck.of(parse_study(text, inert(study.name)), base)
    found = run_check(check)
    return with_settings(text, check.changes(found.scan.candidates[found.scan.best])), found


def _read(section: DataSection, base: Path) -> tuple[DataSection, DataTable]:
    """Return the table of a file, and its section: a target of real numbers is a regression's."""
    try:
        return section, load_table(section, base)
    except InputError as error:
        numbers = section.model_copy(update={"task": "regression"})
        try:
            return numbers, load_table(numbers, base)
        except InputError:
            raise error from None


def _beside(base: Path, data: Path) -> str:
    """Return the file's name as a study in ``base`` gives it."""
    if data.suffix.lower() not in FORMATS:
        raise InputError(f"--data must end in {', '.join(FORMATS)}, got {inert(data.name)!r}.")
    try:
        name = data.resolve().relative_to(base.resolve()).as_posix()
    except (ValueError, OSError):
        raise InputError(
            f"--data {inert(data, 300)} does not lie beside the study file; put it into "
            f"{inert(base.resolve(), 300)}, or the study file beside it."
        ) from None
    inside(base, name, "--data")
    return name


def with_settings(text: str, settings: Mapping[str, Any], name: str = "the study file") -> str:
    """Return the text of a study with some settings changed; every comment stays.

    Parameters
    ----------
    text
        Of a valid study file.
    settings
        New values by table and key, such as ``{"feature_map.qubits": 3}``.
    name
        What the file is called in an error.

    Examples
    --------
    >>> text = '[data]\\nsource = "moons"\\n[budget]\\ntrain = 900  # shots\\n'
    >>> print(with_settings(text, {"budget.train": 1200}), end="")
    [data]
    source = "moons"
    [budget]
    train = 1200 # shots
    """
    lines = text.splitlines(keepends=True)
    for setting, value in settings.items():
        table, _, key = setting.partition(".")
        _set_key(lines, table, key, _as_toml(value))
    changed = "".join(lines)
    try:
        is_so = _values(parse_study(changed, name)) == _changed(parse_study(text, name), settings)
    except InputError:
        is_so = False
    if not is_so:  # an inline table or an array over several lines is left to its author
        raise InputError(
            f"{name} is laid out so that it cannot be changed safely, and was left as it is. Set "
            f"yourself: {inert(settings_text(settings), 300)}."
        )
    return changed


def write_settings(path: Path, text: str, settings: Mapping[str, Any]) -> None:
    """Change settings in a study file that was read as ``text``: completely or not at all."""
    place = path.resolve()  # a link stays one
    changed = with_settings(text, settings, inert(path.name))
    if read_text(place, MAX_STUDY_BYTES, "a study file") != text:
        raise InputError(f"{inert(path, 300)} was changed meanwhile and is left as it is.")
    try:
        write_atomically(place, changed.encode())
    except OSError as error:
        raise InputError(f"{inert(path, 300)} cannot be written: {error.strerror}.") from None


def _set_key(lines: list[str], table: str, key: str, value: str) -> None:
    """Change the key's line, or put one behind the table's header, or the table at the end."""
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    start = next((k for k, line in enumerate(lines) if _table_of(line) == table), None)
    if start is None:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += ending
        lines += [f"{ending}[{table}]{ending}", f"{key} = {value}{ending}"]
        return
    assignment = re.compile(rf"(\s*{re.escape(key)}\s*=\s*)({VALUE})(\s*)(#.*)?$")
    for k in range(start + 1, len(lines)):
        if _table_of(lines[k]) is not None:
            break
        body = lines[k].rstrip("\r\n")
        found = assignment.match(body)
        if found is not None:
            before, old, space, comment = found.groups()
            if comment is None:
                lines[k] = before + value + lines[k][len(body) :]
            else:  # the comment stays in its column where there is room
                gap = max(1, len(old) + len(space) - len(value))
                lines[k] = before + value + " " * gap + comment + lines[k][len(body) :]
            return
    if not lines[start].endswith("\n"):
        lines[start] += ending
    lines.insert(start + 1, f"{key} = {value}{ending}")


def _table_of(line: str) -> str | None:
    found = HEADER.match(line.rstrip("\r\n"))
    return None if found is None else found.group(1)


def _as_toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)  # of texts, numbers and lists they are the same


def _values(study: Study) -> dict[str, Any]:
    return study.model_dump()


def _changed(study: Study, settings: Mapping[str, Any]) -> dict[str, Any]:
    values = _values(study)
    for setting, value in settings.items():
        table, _, key = setting.partition(".")
        values[table][key] = value
    return values
