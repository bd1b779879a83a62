import numpy as np
import pytest

from aqka.core import PairTable
from aqka.core.pairs import KernelPrior


def beta_table(mean, strength, shots, n_points=120, seed=0):
    """Return counts of entries drawn from a Beta distribution, and the entries."""
    rng = np.random.default_rng(seed)
    table = PairTable(n_points)
    entries = rng.beta(mean * strength, (1 - mean) * strength, table.n_pairs)
    table.shots[:] = shots
    table.hits[:] = rng.binomial(table.shots, entries)
    return table, entries


@pytest.mark.parametrize(("mean", "strength"), [(0.1, 4.0), (0.4, 1.5), (0.05, 30.0)])
@pytest.mark.parametrize("shots", [2, 10, 100])
def test_the_prior_is_found_from_counts(mean, strength, shots):
    table, _ = beta_table(mean, strength, shots)
    prior = KernelPrior.of(table)
    assert prior.mean == pytest.approx(mean, abs=0.02)
    assert prior.strength == pytest.approx(strength, rel=0.5 if shots == 2 else 0.15)


def test_uneven_shots_do_not_bias_it():
    table, entries = beta_table(0.2, 5.0, 10)
    rng = np.random.default_rng(1)
    table.shots = rng.integers(0, 40, table.n_pairs)
    table.hits = rng.binomial(table.shots, entries)
    assert KernelPrior.of(table).strength == pytest.approx(5.0, rel=0.2)


def test_posterior_means_err_least_and_variances_are_those_of_the_errors():
    table, entries = beta_table(0.15, 6.0, 5)
    prior = KernelPrior.of(table)
    errors = {
        factor: np.mean(
            (KernelPrior(prior.mean, factor * prior.strength).posterior_mean(table) - entries) ** 2
        )
        for factor in (0.2, 1.0, 5.0)
    }
    assert errors[1.0] < min(errors[0.2], errors[5.0])
    assert np.mean(prior.variances(table)) == pytest.approx(
        np.mean((table.estimate() - entries) ** 2), rel=0.1
    )


def test_degenerate_counts_give_a_usable_prior():
    table = PairTable(10)
    for shots, hits in ((0, 0), (1, 0), (5, 0), (5, 5)):
        table.shots[:], table.hits[:] = shots, hits
        prior = KernelPrior.of(table)
        mean = prior.posterior_mean(table)
        assert np.all((mean >= 0) & (mean <= 1))
        assert np.all(np.isfinite(prior.variances(table)))
        assert prior.strength > 0
    measured = PairTable(4, "measured")
    assert np.all(KernelPrior.of(measured).posterior_mean(measured)[measured.on_diagonal()] == 1)
