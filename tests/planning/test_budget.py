"""Budgets and durations as people write them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqka import InputError
from aqka.planning import parse_budget
from aqka.planning.budget import Money, QpuTime, Shots, duration


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20000", Shots(20_000)),
        (" 20_000 ", Shots(20_000)),
        ("2e5 shots", Shots(200_000)),
        ("1 Shot", Shots(1)),
        ("5 min", QpuTime(300.0)),
        ("300s", QpuTime(300.0)),
        ("1.5 h", QpuTime(5400.0)),
        ("0.5 hours", QpuTime(1800.0)),
        ("$100", Money(100.0, "USD")),
        ("100 USD", Money(100.0, "USD")),
        ("usd 100", Money(100.0, "USD")),
        ("50 EUR", Money(50.0, "EUR")),
        ("49.90€", Money(49.9, "EUR")),
        ("$100 at $96/min", Money(100.0, "USD", 96.0)),
        ("50 EUR AT €0.9 / min", Money(50.0, "EUR", 0.9)),
    ],
)
def test_budgets_are_read(text, value):
    assert parse_budget(text) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a finite number"),
        ("lots", "not a finite number"),
        ("nan", "not a finite number"),
        ("inf min", "not a finite number"),
        ("0", "above 0"),
        ("-5 min", "above 0"),
        ("$-5", "above 0"),
        ("1e400 s", "above 0"),
        ("1e308 h", "finite"),
        ("1e16", "at most"),
        ("1e300 shots", "at most"),
        ("0.5", "whole number"),
        ("5 minuts", "Did you mean 'minutes'"),
        ("5 parsec", "unknown unit 'parsec'"),
        ("min 5", "unknown unit 'min'"),
        ("$5 EUR", "two units"),
        ("$5 at 96 EUR/min", "two currencies"),
        ("$5 at 96/min", "a rate that is not money for money"),
        ("5 min at $96/min", "a rate that is not money for money"),
        ("$5 at $1/min at $2/min", "a rate that is not money for money"),
        ("$5 at $0/min", "above 0"),
        ("20,000", "comma"),
        ("1,5 h", "comma"),
        ("1__0", "number"),
        (None, "must be text"),
    ],
)
def test_nonsense_budgets_are_refused(text, words):
    with pytest.raises(InputError, match=words):
        parse_budget(text)


@given(st.text(max_size=12))
def test_any_text_is_a_budget_or_an_input_error(text):
    with contextlib.suppress(InputError):
        assert isinstance(parse_budget(text), Shots | QpuTime | Money)


def test_durations_never_show_sixty_of_a_unit():
    assert duration(0) == "0 s"
    assert duration(20e-9) == "20 ns"
    assert duration(0.9999) == "1 s"
    assert duration(59.96) == "1 min 0 s"
    assert duration(119.9) == "2 min 0 s"
    assert duration(3599.9) == "1 h 0 min"
    assert duration(86_399) == "1 d 0 h"
