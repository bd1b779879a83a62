"""Takes keys and tokens out of texts that others wrote, before they are kept or shown."""

import re

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

    Examples
    --------
    >>> without_secrets("401 for job d1k2m3n4p5q6r7s8t9u0 with apikey=aB3-xyz123")
    '401 for job d1k2m3n4p5q6r7s8t9u0 with apikey=[removed]'
    """
    named = NAMED.sub(rf"\1{REMOVED}", str(text))
    return LONG.sub(lambda found: found[0] if _is_name(found[0]) else REMOVED, named)


def _is_name(text: str) -> bool:
    """Return whether a long piece of text is harmless: a name in words, or that of a request."""
    in_words = len(text) <= LONGEST_WORD and not any(letter.isdigit() for letter in text)
    return in_words or UUID.fullmatch(text) is not None
