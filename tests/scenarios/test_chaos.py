"""Chaos: every shot that was paid for is counted once, and no damage is believed."""

import warnings
from itertools import count

from aqka.study import store
from tests.chaos import scenarios
from tests.chaos.kinds import KINDS
from tests.chaos.scenarios import SCENARIOS
from tests.chaos.soak import kind_of, repeat, soak


def test_every_kind_of_chaos(record_property, monkeypatch):
    """Each scenario is played once, which takes a minute; ``make chaos`` goes on."""
    monkeypatch.setattr(scenarios, "ROUNDS", 2)
    monkeypatch.delitem(SCENARIOS, "processors")  # test_processors.py has all of its runs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # failed rounds are the purpose
        tally = soak(0, seed=0)
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
