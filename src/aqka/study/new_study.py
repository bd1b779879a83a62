"""Study files that aqka writes: the commented example, one for a user's data, and changes."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aqka._util.files import explained, inside, read_text, write_atomically
from aqka._util.text import inert, read_number
from aqka.errors import InputError
from aqka.insight.recommendation import Preflight, settings_text
from aqka.study._mistakes import find_key
from aqka.study.check import StudyCheck
from aqka.study.points import load_table, split_points
from aqka.study.schema import MAX_STUDY_BYTES, DataSection, parse_study
from aqka.study.tables import BLANK, FORMATS, DataTable, no_column, open_columns

ENOUGH_POINTS = 120  # for the example's numbers of training and test points
MOST_CATEGORIES = 10  # of a column of text that is used
MOST_CLASSES = 20  # of a target of whole numbers
LONGEST = 100  # characters of a line whose comment stays on it
# A value on one line: a text, an array without arrays in it, or a bare word or number.
VALUE = r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|\[(?:[^\[\]#\"']|\"(?:[^\"\\]|\\.)*\")*\]|[^\s#\"'\[\]{}]+"

RunCheck = Callable[[StudyCheck], Preflight]


def example(name: str = "study.toml") -> str:
    """Return the example for a file of that name."""
    stem = "".join(c if c.isalnum() or c in "-_" else "-" for c in name.removesuffix(".toml"))
    text = (Path(__file__).parent / "example.toml").read_text(encoding="utf-8")
    text = text.replace('"runs/{stem}"        #', f'"runs/{stem}"'.ljust(20) + " #")  # aligned
    return text.replace("{name}", stem + ".toml").replace("{stem}", stem)


def study_of_data(
    study: Path,
    data: Path,
    run_check: RunCheck,
    *,
    target: str | None = None,
    task: str | None = None,
    id: str | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
) -> tuple[str, Preflight, list[str]]:
    """Return the text of a study of a data file, what trying settings gave, and what was assumed.

    ``study`` is where the study file will be, in the directory of the data. What is None is found
    from the values of the columns, without those to ``drop``.
    """
    base = study.parent
    given: dict[str, Any] = {"source": _beside(base, data), "target": target, "id": id}
    section = DataSection.model_construct(**given, task=task or "classification")
    section, said = _choose_columns(section, base, features, drop)
    section, table = _read(section, base, said, is_given=task is not None)
    settings: dict[str, Any] = {
        f"data.{key}": getattr(section, key)
        for key in ("source", "task", "target", "features", "id", "missing")
        if getattr(section, key) != DataSection.model_fields[key].default
    }
    if len(table.y) < ENOUGH_POINTS:
        settings |= {"split.train": 0.75, "split.test": 0.25}
    if table.X.shape[1] == 1:
        settings |= {"feature_map.map": "z"}
    settings |= {"feature_map.qubits": min(4, table.X.shape[1])}
    text = example(study.name)
    for setting in settings:  # some are there as comments, whose values another line would double
        key = setting.removeprefix("data.")
        text = re.sub(rf"(?m)^# ({key} = )(.*?)  #", r"\1\2    #", text, count=1)
    text = with_settings(text, settings)
    found = parse_study(text, inert(study.name))
    used = sum(map(len, split_points(table, found.split, found.seed)))
    if used < len(table.y):
        said.append(f"{used:,} of {len(table.y):,} points are used; change [split] for others.")
    check = StudyCheck.of(found, base)
    best = run_check(check)
    changes = check.changes(best.scan.candidates[best.scan.best])
    return with_settings(text, changes), best, said


def _choose_columns(
    section: DataSection, base: Path, features: Sequence[str] | None, drop: Sequence[str]
) -> tuple[DataSection, list[str]]:
    """Return the section with columns chosen by their values, and sentences about them."""
    path = inside(base, section.source, "--data")
    if path.suffix.lower() == ".npz":
        return section.model_copy(update={"features": features}), []
    file = open_columns(path)
    for name in (*drop, *(features or ())):
        if name not in file.header:
            raise no_column(inert(path.name), name, file.header)
    named = [name for name in features or file.header if name not in (section.target, section.id)]
    cells: dict[str, list[str]] = {name: [] for name in named if name not in drop}
    for _, batch in file.batches(list(cells)):
        for name, column in cells.items():
            column += ("" if cell is None else str(cell).strip() for cell in batch[name])
    used, said, gaps, text_gaps, row_names = [], [], [], False, section.id
    for name, column in cells.items():
        values = [cell for cell in column if cell not in BLANK and cell.lower() != "nan"]
        kinds, shown = sorted(set(values)), inert(name)
        numbers = [read_number(cell) for cell in values]
        is_text = None in numbers
        # Texts that all differ, or numbers that count the rows, are names.
        start = numbers[0] if numbers else None
        counts = start is not None and numbers == [start + k for k in range(len(column))]
        if features is None and (counts or (is_text and len(kinds) == len(column))):
            use = "is left out" if row_names else "names the points"
            said.append(f"Column {shown} {use}: it holds a different value in every row.")
            row_names = row_names or name
        elif is_text and not 2 <= len(kinds) <= MOST_CATEGORIES:
            said.append(
                f"Column {shown} is left out: it holds {len(kinds)} different texts. "
                f"At most {MOST_CATEGORIES} become columns of 0 and 1."
            )
        elif len(kinds) < 2:
            said.append(f"Column {shown} is left out: it holds a single value.")
        else:
            # One column tells two texts apart.
            used += [f"{name}={kind}" for kind in kinds[len(kinds) == 2 :]] if is_text else [name]
            if is_text:
                columns = "one column" if len(kinds) == 2 else "columns"
                said.append(f"Column {shown}: {len(kinds)} texts become {columns} of 0 and 1.")
            if len(values) < len(column):
                gaps.append(shown)
                text_gaps |= is_text
    if gaps:
        said.append(
            f"Missing values in {inert(', '.join(gaps), 100)} take the training points' median"
            f"{', texts the more frequent of 0 and 1 in each column' if text_gaps else ''}; "
            'data.missing = "refuse" would not.'
        )
    others = [name for name in file.header if name not in (section.target, row_names)]
    changes = {
        "id": row_names,
        "features": None if used == others else used,
        "missing": "median" if gaps else "refuse",
    }
    return section.model_copy(update=changes), said


def _read(
    section: DataSection, base: Path, said: list[str], *, is_given: bool
) -> tuple[DataSection, DataTable]:
    """Return the table of a file, and its section: a target of many numbers is a regression's."""
    try:
        table = load_table(section, base)
        if is_given or table.y.dtype.kind != "i" or len(np.unique(table.y)) <= MOST_CLASSES:
            return section, table
    except InputError as error:
        try:
            table = load_table(section.model_copy(update={"task": "regression"}), base)
        except InputError:
            raise error from None
        if is_given:
            raise
    said.append(
        f"The target holds {len(np.unique(table.y))} different numbers, so this is a regression; "
        "--task classification makes each a class."
    )
    section = section.model_copy(update={"task": "regression"})
    return section, load_table(section, base)


def _beside(base: Path, data: Path) -> str:
    """Return the file's name as a study in ``base`` gives it."""
    if data.suffix.lower() not in FORMATS:
        raise InputError(f"--data must end in {', '.join(FORMATS)}, got {inert(data.name)!r}.")
    try:
        return data.resolve().relative_to(base.resolve()).as_posix()
    except (ValueError, OSError):
        raise InputError(
            f"--data {inert(data, 300)} does not lie beside the study file; put it into "
            f"{inert(base.resolve(), 300)}, or the study file beside it."
        ) from None


def with_settings(text: str, settings: Mapping[str, Any], name: str = "the study file") -> str:
    """Return the text of a study with some settings changed; every comment stays."""
    changed, wanted = text, parse_study(text, name).model_dump()
    for setting, value in settings.items():
        table, _, key = setting.partition(".")
        wanted[table][key] = value
        # TOML and JSON write texts, numbers and lists alike.
        changed = _with_key(changed, table, key, json.dumps(value, ensure_ascii=False))
    try:
        is_so = parse_study(changed, name).model_dump() == wanted
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
    if read_text(place, MAX_STUDY_BYTES, "study file") != text:
        raise InputError(f"{inert(path, 300)} was changed meanwhile and is left as it is.")
    with explained(f"{inert(path, 300)} cannot be written"):
        write_atomically(place, changed.encode())


def _with_key(text: str, table: str, key: str, value: str) -> str:
    """Change the key's line, or put one behind the table's header, or the table at the end."""
    lines, (heading, number) = text.splitlines(keepends=True), find_key(text, [table, key])
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += ending
    if number is None and heading is None:
        lines += [f"{ending}[{table}]{ending}", f"{key} = {value}{ending}"]
    elif number is None:
        lines.insert(heading or 0, f"{key} = {value}{ending}")
    else:
        body = lines[number - 1].rstrip("\r\n")
        found = re.fullmatch(rf"(\s*{re.escape(key)}\s*=\s*)({VALUE})(\s*)(#.*)?", body)
        if found is None:
            return text  # it is compared with what is wanted
        before, old, space, comment = found.groups(default="")
        # The comment stays in its column where there is room.
        gap = " " * max(1, len(old) + len(space) - len(value)) if comment else ""
        line = before + value + gap + comment + ending
        if comment and len(line) > LONGEST:
            line = before + value + ending + " " * (len(body) - len(comment)) + comment + ending
        lines[number - 1] = line
    return "".join(lines)
