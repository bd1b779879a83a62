"""Text that is safe to print and to keep, and suggestions for unknown names."""

import difflib
import math
import re
from collections.abc import Iterable

from aqka.errors import InputError

MAX_CHARACTERS = 40
NUMBER = re.compile(
    r"[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|nan|inf|infinity)", re.IGNORECASE | re.ASCII
)


def inert(text: object, limit: int | None = MAX_CHARACTERS) -> str:
    """Return ``text`` on one line, without control characters, at most ``limit`` long.

    What a file says may hold line breaks, a terminal's escape codes or halves of characters
    that no encoding can write; each becomes a question mark.

    >>> inert("one\\ntwo \\x1b[31mred")
    'one?two ?[31mred'
    >>> inert("abcdefgh", limit=5)
    'abcd…'
    """
    full = str(text)
    # Cut before looking at every character: the text may be long.
    cut = full if limit is None or len(full) <= limit else f"{full[: limit - 1]}…"
    return "".join(character if character.isprintable() else "?" for character in cut)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?``, or nothing where no name is near.

    >>> did_you_mean("uniforn", ["aqka", "uniform"])
    " Did you mean 'uniform'?"
    """
    folded = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(str(name)[:100].lower(), folded, n=1)
    return f" Did you mean {inert(folded[near[0]])!r}?" if near else ""


def unknown(what: str, given: object, known: Iterable[str], or_else: str = "") -> InputError:
    """Return the refusal of an argument that is none of some names."""
    names = list(known)
    return InputError(
        f"{what} must be one of {', '.join(map(repr, names))}{or_else}, got "
        f"{inert(repr(given), 100)}.{did_you_mean(given, names)}"
    )


def is_encodable(text: str) -> bool:
    """Return whether a file can hold ``text``: half of a pair of surrogates fits no encoding."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_number(text: str) -> float | None:
    """Return the number that ``text`` is to any program, None where there is none.

    Python's ``float`` takes more: underscores, and the digits of every script.

    >>> read_number(" -1.5e3"), read_number("1_0"), read_number("\u0661")
    (-1500.0, None, None)
    """
    stripped = text.strip()
    return float(stripped) if NUMBER.fullmatch(stripped) else None


def spreadsheet_cell(value: object) -> str:
    """Return a value for a cell of a CSV file that no spreadsheet takes for a formula.

    Text that begins like a formula gets an apostrophe before it; a number stays one.

    >>> spreadsheet_cell("=cmd()"), spreadsheet_cell("-1"), spreadsheet_cell(-0.5)
    ("'=cmd()", '-1', '-0.5')
    """
    text = inert(value, limit=None)
    if not text.lstrip().startswith(("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")):
        return text
    return f"'{text}" if read_number(text) is None else text


# Secrets, which are removed from other programs' texts before these are kept or shown.
REMOVED = "[removed]"
# A word for a secret and what follows it: 'apikey=…', '"token": "…"', 'Authorization: Bearer …'.
NAMED = re.compile(
    r"""(\b(?:bearer|basic)\s{1,3}|"""
    r"""(?:token|api[_-]?key|password|passwd|secret|authorization)[\w-]{0,20}["']?\s{0,3}"""
    r"""(?:[:=]|%3d)\s{0,3}(?:(?:bearer|basic|apikey)\s{1,3})?["']?)([^\s"',;&)}\]]{6,})""",
    re.IGNORECASE,
)
# IBM's keys have 44 characters, older ones 128, those of others not below 32; a job's name 20.
LONG = re.compile(r"[A-Za-z0-9_+~=-]{32,}(?:\.[A-Za-z0-9_+~=-]+)*")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
LONGEST_WORD = 40  # a name in words, of a class or a function, may be as long without a digit


def without_secrets(text: object) -> str:
    """Return ``text`` without anything that looks like a key, a token or a password.

    >>> without_secrets("401 for job d1k2m3n4p5q6r7s8t9u0 with apikey=aB3-xyz123")
    '401 for job d1k2m3n4p5q6r7s8t9u0 with apikey=[removed]'
    """
    named = NAMED.sub(rf"\1{REMOVED}", str(text))
    return LONG.sub(lambda found: found[0] if _is_name(found[0]) else REMOVED, named)


def _is_name(text: str) -> bool:
    """Return whether a long piece of text is harmless: a name in words, or that of a request."""
    in_words = len(text) <= LONGEST_WORD and not any(letter.isdigit() for letter in text)
    return in_words or UUID.fullmatch(text) is not None


def figure_text(value: float, digits: int = 4) -> str:
    """Return a number with so many significant digits, as people write it.

    >>> figure_text(36920.4), figure_text(0.01236), figure_text(5432.1, 2), figure_text(3e-9)
    ('36,920', '0.01236', '5,432', '3e-09')
    """
    size = abs(value)
    if size and not 1e-4 <= size < 1e9:
        return f"{value:.{digits}g}"
    decimals = digits if not size else digits - 1 - math.floor(math.log10(size))
    return f"{value:,.{max(0, decimals)}f}"


def number_text(value: float | None) -> str:
    """Return a number for a table.

    >>> number_text(12345), number_text(1234.5), number_text(None)
    ('12,345', '1,234.50', '–')
    """
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def percent(share: float, digits: int = 0) -> str:
    """Return a share as text.

    >>> percent(0.9), percent(0.125, 1)
    ('90 %', '12.5 %')
    """
    return f"{100 * share:.{digits}f} %"


def counted(number: int, noun: str) -> str:
    """Return how many there are of something."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
