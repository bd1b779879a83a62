"""Limits that a quote warns of, and what it says about rounds."""

from dataclasses import replace

from aqka.planning.device import HERON
from tests.planning.strategies import ONE_ROUND, quote


def messages(quoted):
    return " ".join(quoted.warnings), " ".join(quoted.advice)


def test_an_ordinary_run_hits_no_limit():
    assert quote(150, "5 min", queue=50).warnings == ()


def test_limits_are_warned_of():
    warnings, _ = messages(quote(150, 60_000_000))
    assert "at most 10,000,000 executions" in warnings
    assert "as 2 jobs" in warnings
    warnings, _ = messages(quote(150, "9 h"))
    assert "several sessions" in warnings
    warnings, _ = messages(quote(150, 10_000, queue=500))
    assert "recalibrated" in warnings
    warnings, _ = messages(quote(6000, 10_000))
    assert "a session is put aside after 1 min" in warnings
    at_once, _ = messages(quote(6000, 10_000, schedule=ONE_ROUND))
    assert "put aside" not in at_once  # nothing happens in between
    slow = replace(HERON, rep_delay=2e-3)
    warnings, _ = messages(quote(150, 10_000_000, schedule=ONE_ROUND, device=slow))
    assert "cancelled after 3 h" in warnings


def test_advice_on_rounds():
    sparse = quote(150, 2_000, queue=50, rate=96)
    _, advice = messages(sparse)
    assert "1 or 2 rounds do" in advice
    assert "about 3 points" in advice
    assert "Each further round costs 16 min 40 s in the queue, 2 s of QPU time, 3.20" in advice
    assert "saves 1 h 7 min" in advice
    assert "Starting jobs takes 93 % of the QPU time" in advice
    assert "one round is enough" in messages(quote(50, 10**6))[1]
    assert messages(quote(150, 100_000, schedule=ONE_ROUND, queue=50))[1] == ""
