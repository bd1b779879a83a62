"""Allocators over points: the same names, other units."""

import numpy as np
import pytest

from aqka import InputError, Problem
from aqka.allocators import _points, allocator_names, make_allocator
from aqka.allocators._points import AqkaPoints, PredictivePoints
from aqka.allocators.aqka import Aqka
from aqka.backends.statevector import zz_states
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import PointPlan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.maths.spectrum import Spectrum
from tests.estimates.points import measured

SETTINGS = choose_settings(2, seed=0)
NAMES = ("uniform", "aqka", "predictive")
PROBLEM = Problem(np.where(np.arange(12) % 3 == 0, 1.0, -1.0))


@pytest.fixture(scope="module")
def table():
    x = np.random.default_rng(0).uniform(0, 2, size=(12, 2))
    return measured(zz_states(x), SETTINGS, 90, seed=0)


def given_by(allocator, table, shots, problem=PROBLEM):
    return allocator.ask(table, problem, shots, np.random.default_rng(0)).shots


@pytest.mark.parametrize("name", allocator_names())
def test_over_points_a_name_means_its_like_or_is_refused(name):
    allocator = make_allocator(name)
    assert allocator.over("pair") is allocator
    if name in NAMES:
        assert "point" in allocator.over("point").units
    else:
        words = f"allocator {type(allocator).__name__} gives shots to pairs, not points; take 'unif"
        with pytest.raises(InputError, match=words):
            allocator.over("point")


def test_what_is_made_for_points_is_refused_over_pairs():
    assert isinstance(make_allocator("aqka").over("point"), AqkaPoints)
    assert isinstance(make_allocator("predictive").over("point"), PredictivePoints)
    assert Aqka(floor=0.5).over("point") == AqkaPoints(floor=0.5)
    assert Aqka().over("point") == AqkaPoints()
    own = AqkaPoints(floor=0.5)
    assert own.over("point") is own
    with pytest.raises(InputError, match="AqkaPoints gives shots to points, not pairs"):
        own.over("pair")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shots", [1, 13, 5000])
def test_every_allocator_spends_exactly_and_repeats_itself(name, shots, table):
    given = given_by(make_allocator(name).over("point"), table.read_only(), shots)
    assert given.dtype == np.int64
    assert given.shape == (12,)
    assert given.min() >= 0
    assert given.sum() == shots
    np.testing.assert_array_equal(given, given_by(make_allocator(name).over("point"), table, shots))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_measured_means_equal_shots(name):
    empty, problem = PointTable(4, SETTINGS), Problem([0, 1, 1, 0])
    given = given_by(make_allocator(name).over("point"), empty, 10, problem)
    assert sorted(given) == [2, 2, 3, 3]


def test_what_ledgers_call_them_stays():
    described = [make_allocator(name).over("point").describe() for name in NAMES]
    assert described == ["uniform()", "aqka-points(floor=0.2)", "predictive-points(floor=0.2)"]


def test_even_shots_level_what_was_uneven():
    table = PointTable(3, [[2]])
    plan = PointPlan([0, 1], [0, 0], [5, 1], table.settings)
    table.add(plan, OutcomeCounts([0, 1], [0, 0], [5, 1]))
    given = given_by(make_allocator("uniform"), table, 9, Problem([0, 1, 1]))
    np.testing.assert_array_equal(table.shots_per_point + given, 5)


def test_shots_fill_toward_the_square_roots_of_the_variances(table):
    allocator, many = AqkaPoints(floor=0.0), 10**6
    given = given_by(allocator, table, many)
    root = allocator.sensitivity(table, PROBLEM)
    wanted = root / root.sum() * (many + table.total)
    np.testing.assert_allclose(table.shots_per_point + given, wanted, atol=90 + 1)
    assert given.max() > 2 * given.min()
    flat = given_by(AqkaPoints(floor=1.0), table, many)
    assert flat.max() - flat.min() <= 1
    with pytest.raises(InputError, match="floor"):
        AqkaPoints(floor=2.0)


def test_what_moves_nothing_gets_the_floor():
    # A point that is orthogonal to all others and has its own label moves no other entry.
    states = np.zeros((5, 4), dtype=complex)
    states[:4, :2] = [[1, 0], [np.sqrt(0.5)] * 2, [np.sqrt(0.9), np.sqrt(0.1)], [0.6, 0.8]]
    states[4, 3] = 1.0
    far = measured(states, SETTINGS, 90_000, seed=0)
    problem = Problem([1.0, -1.0, 1.0, -1.0, 1.0])
    root = AqkaPoints().sensitivity(far, problem)
    assert root[4] < 0.05 * root.max()
    total = far.shots_per_point + given_by(AqkaPoints(floor=0.2), far, 10**7, problem)
    assert total[4] / total.max() == pytest.approx(0.2, abs=0.01)


def test_several_outputs_add_up(table):
    y = PROBLEM.outputs
    twice = Problem(np.hstack([y, -y]))
    one, both = (AqkaPoints().sensitivity(table, problem) for problem in (PROBLEM, twice))
    np.testing.assert_allclose(both**2, 2 * one**2, rtol=1e-6)


def test_more_points_than_features_need_no_kernel(monkeypatch):
    x = np.random.default_rng(1).uniform(0, 2, size=(20, 2))  # 16 features
    table = measured(zz_states(x), SETTINGS, 90, seed=0)
    problem = Problem(np.where(np.arange(20) % 3 == 0, 1.0, -1.0))
    with monkeypatch.context() as patch:
        patch.setattr(_points, "overlap_kernel", None)
        by_features = AqkaPoints().sensitivity(table, problem)
    monkeypatch.setattr(
        _points.FeatureSpectrum, "of", lambda features: Spectrum.of(features @ features.T)
    )
    np.testing.assert_allclose(AqkaPoints().sensitivity(table, problem), by_features, rtol=5e-7)
