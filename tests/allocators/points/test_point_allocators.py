import numpy as np
import pytest
from aqka.allocators.points.aqka_points import AqkaPoints

from aqka import InputError
from aqka.allocators.points import aqka_points, make_point_allocator, point_allocator_names
from aqka.backends.statevector import zz_states
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import PointPlan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.maths.spectrum import Spectrum
from tests.estimates.points import measured

SETTINGS = choose_settings(2, seed=0)


@pytest.fixture(scope="module")
def table():
    x = np.random.default_rng(0).uniform(0, 2, size=(12, 2))
    return measured(zz_states(x), SETTINGS, 90, seed=0)


def labels(table):
    return np.where(np.arange(table.n_points) % 3 == 0, 1.0, -1.0)


@pytest.mark.parametrize("name", point_allocator_names())
@pytest.mark.parametrize("shots", [1, 13, 5000])
def test_every_allocator_spends_exactly_and_repeats_itself(name, shots, table):
    allocator = make_point_allocator(name)
    given = allocator.point_shots(table.read_only(), labels(table), shots)
    assert given.dtype == np.int64
    assert given.shape == (12,)
    assert given.min() >= 0
    assert given.sum() == shots
    again = make_point_allocator(name).point_shots(table, labels(table), shots)
    np.testing.assert_array_equal(given, again)


@pytest.mark.parametrize("name", point_allocator_names())
def test_nothing_measured_means_equal_shots(name):
    given = make_point_allocator(name).point_shots(PointTable(4, SETTINGS), np.ones(4), 10)
    assert sorted(given) == [2, 2, 3, 3]


@pytest.mark.parametrize("name", point_allocator_names())
def test_ledgers_know_an_allocator_by_a_name_of_its_own(name):
    allocator = make_point_allocator(name)
    assert vars(type(allocator))["ledger_name"] == name
    assert allocator.describe().startswith(f"{name}(")
    others = [make_point_allocator(other).describe() for other in point_allocator_names()]
    assert others.count(allocator.describe()) == 1


def test_even_shots_level_what_was_uneven():
    table = PointTable(3, [[2]])
    plan = PointPlan([0, 1], [0, 0], [5, 1], table.settings)
    table.add(plan, OutcomeCounts([0, 1], [0, 0], [5, 1]))
    given = make_point_allocator("even").point_shots(table, np.ones(3), 9)
    np.testing.assert_array_equal(table.shots_per_point + given, 5)


def test_shots_fill_toward_the_square_roots_of_the_variances(table):
    y = labels(table)
    allocator = AqkaPoints(floor=0.0)
    many = 10**6
    given = allocator.point_shots(table, y, many)
    root = np.sqrt(allocator.variances(table, y[:, None]))
    wanted = root / root.sum() * (many + table.total)
    np.testing.assert_allclose(table.shots_per_point + given, wanted, atol=90 + 1)
    assert given.max() > 2 * given.min()
    flat = AqkaPoints(floor=1.0).point_shots(table, y, many)
    assert flat.max() - flat.min() <= 1


def test_what_moves_nothing_gets_the_floor(table):
    # A point that is orthogonal to all others and has its own label moves no other entry.
    states = np.zeros((5, 4), dtype=complex)
    states[:4, :2] = [[1, 0], [np.sqrt(0.5)] * 2, [np.sqrt(0.9), np.sqrt(0.1)], [0.6, 0.8]]
    states[4, 3] = 1.0
    far = measured(states, SETTINGS, 90_000, seed=0)
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    root = np.sqrt(AqkaPoints().variances(far, y[:, None]))
    assert root[4] < 0.05 * root.max()
    given = AqkaPoints(floor=0.2).point_shots(far, y, 10**7)
    total = far.shots_per_point + given
    assert total[4] / total.max() == pytest.approx(0.2, abs=0.01)


def test_labels_of_other_points_are_refused(table):
    with pytest.raises(InputError, match="each of 12 points, got 11"):
        AqkaPoints().point_shots(table, np.ones(11), 10)
    with pytest.raises(InputError, match="floor"):
        AqkaPoints(floor=2.0)


def test_several_outputs_add_up(table):
    y = np.stack([labels(table), -labels(table)], axis=1)
    one = AqkaPoints().variances(table, y[:, :1])
    np.testing.assert_allclose(AqkaPoints().variances(table, y), 2 * one, rtol=1e-6)


def test_more_points_than_features_need_no_kernel(monkeypatch):
    x = np.random.default_rng(1).uniform(0, 2, size=(20, 2))  # 16 features
    table = measured(zz_states(x), SETTINGS, 90, seed=0)
    y = labels(table)[:, None]
    kernel = aqka_points.overlap_kernel
    monkeypatch.setattr(aqka_points, "overlap_kernel", None)
    by_features = AqkaPoints().variances(table, y)
    monkeypatch.setattr(aqka_points, "overlap_kernel", kernel)
    monkeypatch.setattr(
        aqka_points.FeatureSpectrum, "of", lambda features: Spectrum.of(features @ features.T)
    )
    np.testing.assert_allclose(AqkaPoints().variances(table, y), by_features, rtol=1e-6)
