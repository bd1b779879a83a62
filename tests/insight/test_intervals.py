from dataclasses import replace

import numpy as np
import pytest

from aqka import InputError, MatrixBackend, acquire, predict
from aqka.insight.intervals import with_total_interval
from tests.conftest import make_kernel, make_labels


def test_total_intervals_need_the_session_and_learner_of_the_head():
    session = acquire(MatrixBackend(make_kernel(12)), make_labels(12), 2000)
    block = np.random.default_rng([0, 1]).uniform(0.02, 0.9, (6, 12))
    found = predict(session.fit("ridge"), MatrixBackend(block, rectangular=True), 2000)
    assert found.could_flip is None
    with pytest.raises(InputError, match="do not give the head of the prediction"):
        with_total_interval(found, session)
    with pytest.raises(InputError, match="repetitions must be a whole number of at least 2"):
        with_total_interval(found, session, "ridge", repetitions=1)
    total = with_total_interval(found, session, "ridge", repetitions=30, seed=1)
    crosses = (total.total_low <= 0) & (total.total_high >= 0)
    np.testing.assert_array_equal(total.could_flip, crosses)
    np.testing.assert_array_equal(total.f, found.f)


def test_of_several_classes_the_flag_compares_the_leader_with_each_other():
    kernel, y = make_kernel(24), np.repeat(list("abc"), 8)
    session = acquire(MatrixBackend(kernel), y, 24 * 23 * 50, "uniform")
    block = make_kernel(30)[24:, :24]
    found = predict(session.fit(), MatrixBackend(block, rectangular=True), 10_000)
    total = with_total_interval(found, session, repetitions=30)
    assert total.total_low.shape == total.f.shape == (6, 3)
    assert total.could_flip.shape == (6,)
    # A narrow lead could flip; one of 100 beyond any noise could not.
    far, close = np.argsort(np.ptp(np.sort(total.f, axis=1)[:, -2:], axis=1))[[-1, 0]]
    assert total.could_flip[close]
    shifted = replace(found, f=found.f + 100.0 * (np.arange(3) == found.f[far].argmax()))
    assert not with_total_interval(shifted, session, repetitions=5).could_flip.any()
