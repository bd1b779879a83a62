import numpy as np

from aqka.backends.diagonal import TileHits, TileWatch

NAMES = tuple(f"q{k}" for k in range(12))


def watched(survivals, shots=400, points=2, n_qubits=3, seed=0):
    """Rounds by tiles of survival probabilities become sentinels."""
    rng = np.random.default_rng(seed)
    watch = TileWatch()
    for row in np.atleast_2d(survivals):
        q = row + (1 - row) / 2**n_qubits
        totals = np.full((len(row), points), shots)
        watch.rounds.append(TileHits(NAMES[: len(row)], rng.binomial(totals, q[:, None]), totals))
    return watch


def test_each_tile_has_its_rate():
    truth = np.linspace(0.6, 0.95, 12)
    found = watched([truth] * 3).survival(n_qubits=3)
    for name, p in zip(NAMES, truth, strict=True):
        assert abs(found[name].survival - p) < 4 * found[name].standard_error
    assert found["q0"].rate > found["q11"].rate


def test_the_tile_that_drifts_is_found():
    before = np.full(12, 0.85)
    after = before.copy()
    after[7] = 0.6
    assert set(watched([before, before, after]).drifting(0.01)) == {"q7"}


def test_false_alarms_are_as_rare_as_asked():
    """In all tiles together: 300 looks at 12 tiles of one noise, 5 % wanted."""
    alarms = sum(
        bool(watched(np.full((2, 12), 0.8), shots=100, seed=k).drifting(0.05)) for k in range(300)
    )
    assert alarms <= 27  # above that one run in 1,000


def test_a_tile_that_left_is_not_named_again():
    watch = watched([np.full(3, 0.9), [0.9, 0.5, 0.9]])
    assert set(watch.drifting(0.01)) == {"q1"}
    watch.rounds.append(TileHits(("q0", "q2"), np.full((2, 2), 360), np.full((2, 2), 400)))
    assert watch.drifting(0.01) == {}
    assert watch.names == ["q0", "q1", "q2"]
    assert len(watch.of_tile("q1")[0]) == 2
