"""Feature maps by name: the same circuit wherever a feature map is taken."""

import numpy as np
import pytest
from qiskit.circuit.library import z_feature_map, zz_feature_map
from qiskit.primitives import StatevectorSampler

from aqka import InputError, StatevectorBackend
from aqka.backends import AerBackend, SamplerBackend, depolarising_noise
from aqka.backends.circuits import circuit_digest

X = np.random.default_rng(0).uniform(0, 3, (4, 3))
MAPS = {
    "zz": zz_feature_map(3, reps=2, entanglement="linear"),
    "zz-full": zz_feature_map(3, reps=2, entanglement="full"),
    "z": z_feature_map(3, reps=2),
}


def seeded(seed):
    return StatevectorSampler(seed=np.random.default_rng(seed))


@pytest.mark.parametrize("name", MAPS)
def test_a_name_is_its_circuit(name):
    exact = StatevectorBackend(X, MAPS[name]).kernel()
    assert StatevectorBackend(X, name).kernel() == pytest.approx(exact)
    noisy = AerBackend(X, name, noise=depolarising_noise(0.0, 0.0))
    assert noisy.kernel() == pytest.approx(exact)
    by_name, given = (SamplerBackend(seeded, X, each) for each in (name, MAPS[name]))
    assert circuit_digest(by_name.circuit) == circuit_digest(given.circuit)


def test_the_name_of_the_default_map_is_the_default():
    assert StatevectorBackend(X, "zz").fingerprint() == StatevectorBackend(X).fingerprint()


def test_other_names_and_kinds_are_refused_with_what_is_allowed():
    with pytest.raises(InputError, match=r"'zzz' is not a built-in map\. Did you mean 'zz'\?"):
        StatevectorBackend(X, "zzz")
    with pytest.raises(InputError, match="at least 2 features, one per qubit, got 1; take the map"):
        StatevectorBackend(X[:, :1], "zz-full")
    with pytest.raises(InputError, match=r"got int\.$"):
        StatevectorBackend(X, 3)

    def a_pennylane_function(x):
        raise AssertionError

    with pytest.raises(InputError, match="A PennyLane function is for StatevectorBackend and"):
        AerBackend(X, a_pennylane_function, noise=depolarising_noise())
    with pytest.raises(InputError, match=r"would take .* GiB"):
        StatevectorBackend(np.zeros((2, 40)), "z")
