"""A minute of chaos: every shot that was paid for is counted once, and no damage is believed."""

import warnings

from tests.chaos.kinds import KINDS
from tests.chaos.scenarios import SCENARIOS
from tests.chaos.soak import soak

SECONDS = 60  # each scenario is played once, however slow the machine


def test_a_minute_of_chaos(tmp_path, record_property):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # failed rounds are the purpose
        tally = soak(tmp_path, SECONDS, seed=0)
    record_property("summary", tally.summary())
    assert tally.failures == []
    assert set(tally.scenarios) == set(SCENARIOS)
    assert len(KINDS) > 1
    # Otherwise the harness proves nothing.
    assert tally.kills > 0
    assert tally.noticed > 0
