"""Every formula against something independent: the checks live in the benchmarks."""

import pytest

from aqka_research.benchmarks.agreement import CHECKS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_agrees_with_an_independent_computation(check):
    result = check()
    assert result.error <= result.allowed, result
