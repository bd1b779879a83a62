"""Text that is safe to print, and words for a name that is not known."""

import difflib
from collections.abc import Iterable

MAX_CHARACTERS = 40


def inert(text: object, limit: int | None = MAX_CHARACTERS) -> str:
    """Return ``text`` on one line, without control characters, at most ``limit`` long.

    What a file says may hold line breaks, a terminal's escape codes or halves of characters
    that no encoding can write; each becomes a question mark.

    Examples
    --------
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

    Examples
    --------
    >>> did_you_mean("uniforn", ["aqka", "uniform"])
    " Did you mean 'uniform'?"
    """
    folded = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(str(name)[:100].lower(), folded, n=1)
    return f" Did you mean {inert(folded[near[0]])!r}?" if near else ""


def spreadsheet_cell(value: object) -> str:
    """Return a value for a cell of a CSV file that no spreadsheet takes for a formula.

    Text that begins like a formula gets an apostrophe before it; a number stays one.

    Examples
    --------
    >>> spreadsheet_cell("=cmd()"), spreadsheet_cell("-1"), spreadsheet_cell(-0.5)
    ("'=cmd()", '-1', '-0.5')
    """
    text = inert(value, limit=None)
    if not text.lstrip().startswith(("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
