"""Chaos: every shot that was paid for is counted once, and no damage is believed."""

import warnings
from itertools import count

from aqka.study import store
from tests.chaos.kinds import KINDS
from tests.chaos.scenarios import SCENARIOS
from tests.chaos.soak import kind_of, repeat, soak

SECONDS = 15  # each scenario is played once, however slow the machine


def test_every_kind_of_chaos(record_property):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # failed rounds are the purpose
        tally = soak(SECONDS, seed=0)
    record_property("summary", tally.summary())
    assert tally.failures == []
    assert set(tally.scenarios) == set(SCENARIOS)
    # Otherwise the harness proves nothing.
    assert tally.kills > 0
    assert tally.noticed > 0


def test_the_soak_finds_what_it_is_for(monkeypatch):
    """Processes are forked, so that what is broken here is broken in them."""
    monkeypatch.setattr(store, "check_seal", lambda directory, history: None)
    swaps = list(SCENARIOS).index("swap at the end")
    tally = repeat(next(k for k in count(swaps, len(SCENARIOS)) if kind_of(k) is KINDS[0]))
    assert tally.unnoticed > 0
    assert not tally.clean
