"""A laptop, a cluster node and a container differ in the last bits: a run goes on in each."""

import pytest

from tests.chaos.processors import MOST_SHOTS, go_on

ALL = 99


def test_a_run_goes_on_with_another_processor(tmp_path):
    """Stopped in training and in predictions; nothing is refused, and nothing bought twice."""
    steps = []
    for processor, jobs in ((0, 1), (1, 3), (0, ALL), (1, ALL)):
        said, error = go_on(tmp_path, processor, jobs)
        assert not error
        steps.append(said)
    begun, _, finished, again = steps
    assert all(run["found"] is None for run in begun.values())
    bits = [[run["found"].pop() for run in said.values()] for said in (finished, again)]
    assert finished == again  # the same folders and labels, and no further shot
    # Points that settle early leave shots over; bought twice, there would be more than the most.
    for name, run in finished.items():
        assert MOST_SHOTS[name] / 2 < run["shots"] <= MOST_SHOTS[name]
    if bits[0] == bits[1]:
        pytest.skip("this machine cannot emulate processors that differ")
