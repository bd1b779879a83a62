"""What is wrong with a study file, in words that say how to correct it."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from aqka._util.text import did_you_mean, inert
from aqka.errors import InputError

SECRET_KEY = re.compile(
    r"token|passw|secret|credential|api_?key|private_?key|\bauth", re.IGNORECASE
)
TOKEN_VARIABLE = "QISKIT_IBM_TOKEN"
MAX_SHOWN = 3  # errors listed; the rest is likely to follow from them


def known_name(value: str, known: Sequence[str], kind: str, also: str = "") -> str:
    """Return the name if it is known, else say the nearest one."""
    if value in known:
        return value
    raise ValueError(
        f"unknown {kind} {inert(value)!r}.{did_you_mean(value, known)} "
        f"Known: {', '.join(known)}{also}"
    )


def refuse_secrets(text: str, content: dict[str, Any] | None, name: str) -> None:
    """Refuse a study file that holds a key for a secret, or the environment's own token."""
    remedy = (
        "Study files are copied and shared, so no secret belongs there: save the account once "
        f"with QiskitRuntimeService.save_account(...), or set {TOKEN_VARIABLE}. Take it out."
    )
    token = os.environ.get(TOKEN_VARIABLE, "")
    if len(token) >= 8 and token in text:
        raise InputError(f"{name} holds the token of {TOKEN_VARIABLE}. {remedy}")
    for key in _keys(content or {}):
        if SECRET_KEY.search(key):
            raise InputError(f"{name} has the key {inert(key)!r}. {remedy}")


def _keys(content: Any) -> Iterator[str]:
    """Yield all keys, however deep; TOML cannot nest deeper than its parser recursed."""
    waiting = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield from value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def explain(error: ValidationError, model: type[BaseModel], text: str, name: str) -> str:
    """Return the first errors as sentences, each with its line and the nearest valid key."""
    found = error.errors(include_url=False, include_input=False)
    # Every branch of a union complains, in the same place.
    sentences = list(dict.fromkeys(_sentence(item, model, text) for item in found))
    more = f" (and {len(sentences) - MAX_SHOWN} more)" if len(sentences) > MAX_SHOWN else ""
    return f"{name}, {'; '.join(sentences[:MAX_SHOWN])}{more}."


def _sentence(item: Any, model: type[BaseModel], text: str) -> str:
    keys = [str(part) for part in item["loc"]]
    section, path = _section(model, keys)
    where = ".".join(inert(key) for key in path) or "the file"
    heading, line = find_key(text, path)
    place = f"line {line or heading}: " if line or heading else ""
    if item["type"] == "extra_forbidden":
        return place + _unknown_key(keys, section, model)
    if item["type"] == "missing":
        return f"{place}{where} is missing"
    if item["type"] == "model_type":
        return f"{place}{where} must be a table: write [{where}] on a line of its own"
    # pydantic's own words; what a validator of ours raised comes after this prefix.
    message = item["msg"].removeprefix("Value error, ").rstrip(".")
    if item["type"] != "value_error":
        message = message[:1].lower() + message[1:]
    return f"{place}{where}: {message}"


def _unknown_key(keys: list[str], section: type[BaseModel], model: type[BaseModel]) -> str:
    key, known = keys[-1], list(section.model_fields)
    where = f" in [{inert('.'.join(keys[:-1]))}]" if len(keys) > 1 else ""
    hint = did_you_mean(key, known)
    if not hint:
        homes = [
            title for title, part in _sections(model).items() if key.lower() in part.model_fields
        ]
        hint = f" It belongs in [{homes[0]}]." if homes else ""
    return f"unknown key {inert(key)!r}{where}.{hint} Known: {', '.join(known)}"


def _section(model: type[BaseModel], keys: list[str]) -> tuple[type[BaseModel], list[str]]:
    """Return the model that holds the last key, and the keys without pydantic's branch names."""
    for place, key in enumerate(keys):
        inner = _sections(model).get(key)
        if inner is None or place + 1 == len(keys):
            return model, keys[: place + 1]
        model = inner
    return model, keys


def _sections(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    return {
        name: kind
        for name, field in model.model_fields.items()
        for kind in (field.annotation, *get_args(field.annotation))
        if isinstance(kind, type) and issubclass(kind, BaseModel)
    }


def find_key(text: str, path: list[str]) -> tuple[int | None, int | None]:
    """Return the lines of a key's table and of the key, if the file is written in the usual way."""
    table, heading = "", None
    for number, line in enumerate(text.splitlines(), 1):
        header = re.fullmatch(r"\s*\[\s*([A-Za-z0-9_-]+)\s*\]\s*(#.*)?", line)
        if header:
            table = header[1]
            if [table] == path[:1]:
                heading = number
        key = re.match(r"""\s*["']?([^\s"'=]+)["']?\s*=""", line)
        if key and [part for part in (table, *key[1].split(".")) if part][:2] == path[:2]:
            return heading, number
    return heading, None
