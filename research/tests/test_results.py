import numpy as np
import pytest
from scipy.stats import sem

from aqka_research.results import Estimate, MissingError, Results, highest, lowest

RNG = np.random.default_rng(8)
ROWS = [
    {
        "seed": seed,
        "method": method,
        "budget": budget,
        "accuracy": RNG.uniform(),
        "mse": RNG.gamma(2),
    }
    for seed in range(6)
    for method in ("aqka", "uniform")
    for budget in (10, 20)
]
RESULTS = Results(ROWS, "paper")


def column(measure, **conditions):
    return np.array(
        [r[measure] for r in ROWS if all(r[key] == value for key, value in conditions.items())]
    )


def test_a_mean_counts_seeds_not_rows():
    found = RESULTS.mean("accuracy", method="aqka")
    per_seed = column("accuracy", method="aqka").reshape(6, 2).mean(axis=1)
    assert found.value == pytest.approx(per_seed.mean())
    assert found.error == pytest.approx(sem(per_seed))
    assert found.count == 6


def test_a_gain_is_paired_by_seed_and_in_points():
    found = RESULTS.gain("aqka", "uniform", budget=10)
    ours, theirs = (column("accuracy", method=m, budget=10) for m in ("aqka", "uniform"))
    assert found.value == pytest.approx(100 * (ours - theirs).mean())
    assert found.error == pytest.approx(100 * sem(ours - theirs))


def test_a_ratio_has_the_delta_methods_error():
    rng = np.random.default_rng(3)
    rows = [
        {"seed": seed, "method": method, "mse": rng.normal(mean, 0.1)}
        for seed in range(400)
        for method, mean in (("a", 3.0), ("b", 2.0))
    ]
    found = Results(rows, "paper").ratio("mse", "a", "b")
    wanted = 1.5 * np.hypot(0.1 / 3, 0.1 / 2) / 20
    assert found.value == pytest.approx(1.5, abs=4 * wanted)
    assert found.error == pytest.approx(wanted, rel=0.1)


def test_along_a_column():
    gains = RESULTS.along("budget", lambda r: r.gain("aqka", "uniform"))
    assert list(gains) == [10, 20]
    assert gains[20] == RESULTS.gain("aqka", "uniform", budget=20)
    assert lowest(gains).value <= highest(gains).value
    only = RESULTS.along("budget", lambda r: r.mean("mse"), budget=lambda b: b > 15)
    assert list(only) == [20]


def test_the_table_has_a_row_per_group():
    table = RESULTS.table(("method", "budget"), ("accuracy", "absent"))
    assert [(row["method"], row["budget"]) for row in table] == [
        ("aqka", 10),
        ("aqka", 20),
        ("uniform", 10),
        ("uniform", 20),
    ]
    assert table[0]["accuracy"] == RESULTS.mean("accuracy", method="aqka", budget=10)
    assert "absent" not in table[0]


def test_what_is_missing_is_said():
    with pytest.raises(MissingError, match="method hybrid"):
        RESULTS.mean("accuracy", method="hybrid")
    with pytest.raises(MissingError, match="budget in the wanted range"):
        RESULTS.where(budget=lambda budget: budget > 99)
    with pytest.raises(MissingError, match="no row with depth"):
        RESULTS.by_seed("depth")


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.8524, 0.0123), "0.852 ± 0.012"),
        (Estimate(-12.345, 1.2), "-12.3 ± 1.2"),
        (Estimate(25425.0), "25,425"),
        (Estimate(3.2e-30, 1e-30), "3.20e-30"),
        (Estimate(0.0), "0"),
    ],
)
def test_estimates_read_well(estimate, text):
    assert str(estimate) == text


def test_gains_are_of_the_same_seed():
    rows = [
        {"method": method, "seed": seed, "accuracy": accuracy}
        for method, accuracies in (("uniform", (0.5, 0.75)), ("aqka", (0.75, 0.5)))
        for seed, accuracy in enumerate(accuracies)
    ]
    assert Results(rows, "paper").seed_gains("aqka", "uniform") == [25.0, -25.0]
