"""Text from a file, made safe to print."""

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
