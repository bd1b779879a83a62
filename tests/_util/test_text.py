import time

import pytest

from aqka._util.text import REMOVED, without_secrets

KEY = "fAkE0key-aQ9_zT4bN7mX2cV6wL8rJ1sD5hG3kP0yU9i"  # as long as IBM's
TOKEN = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJmYWtlIjoidG9rZW4ifQ.c2lnbmF0dXJlLW9mLW5vdGhpbmc"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"key {KEY} is not known", f"key {REMOVED} is not known"),
        (f"refused ({TOKEN})", f"refused ({REMOVED})"),
        ("ab12" * 32, REMOVED),
        ("Authorization: Bearer abcdef123", f"Authorization: Bearer {REMOVED}"),
        ('{"apikey": "short-1", "code": 7}', f'{{"apikey": "{REMOVED}", "code": 7}}'),
        ("https://x.org/login?access_token=secret1&a=1", "access_token=" + REMOVED + "&a=1"),
        ("password = 'hunter22'", f"password = '{REMOVED}'"),
        (f"https://user:{KEY}@host/", REMOVED + "@host/"),
    ],
)
def test_keys_and_tokens_are_removed(text, clean):
    told = without_secrets(text)
    assert told.endswith(clean)
    assert KEY not in told


@pytest.mark.parametrize(
    "text",
    [
        "job d1k2m3n4p5q6r7s8t9u0 failed: 1352 You are not authorized to run a session",
        "request 123e4567-e89b-12d3-a456-426614174000 timed out after 30 s",
        "RuntimeJobMaxTimeoutError in qiskit_ibm_runtime.exceptions.something_long_without_digits",
        "https://quantum.cloud.ibm.com/api/v1/jobs/d1k2m3n4p5q6r7s8t9u0/results",
        "the token has expired; log in again",
        "aqka-3f2a1b4c5d6e7f80-r12",
    ],
)
def test_what_helps_is_left(text):
    assert without_secrets(text) == text


@pytest.mark.parametrize("text", ["token" * 20_000, "a." * 50_000, "-" * 100_000, "=" * 100_000])
def test_no_text_takes_long(text):
    begun = time.perf_counter()
    without_secrets(text)
    assert time.perf_counter() - begun < 2
