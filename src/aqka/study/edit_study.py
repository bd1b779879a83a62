"""Changes single settings in the text of a study file, and nothing else in it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aqka._util.files import read_text, write_atomically
from aqka._util.text import inert
from aqka.errors import InputError
from aqka.insight.recommendation import settings_text
from aqka.study.schema import MAX_STUDY_BYTES, Study, parse_study

HEADER = re.compile(r"\s*\[\s*([\w-]+)\s*\]\s*(#.*)?$")
# A value on one line: a text, an array without arrays in it, or a bare word or number.
VALUE = r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|\[[^\[\]#\"']*\]|[^\s#\"'\[\]{}]+"


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
