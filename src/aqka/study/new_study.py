"""The first study of a user's own file: the example, with settings that were found by trying."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from aqka._util.files import inside
from aqka._util.text import inert
from aqka.errors import InputError
from aqka.insight.preflight import Preflight
from aqka.study.check import StudyCheck
from aqka.study.data import load_table
from aqka.study.edit_study import with_settings
from aqka.study.example import example
from aqka.study.schema import DataSection, parse_study
from aqka.study.table_files import FORMATS, DataTable

ENOUGH_POINTS = 120  # for the example's numbers of training and test points

RunCheck = Callable[[StudyCheck], Preflight]


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
