import numpy as np
import pytest

from aqka.maths.spectrum import EIGENVALUE_FLOOR, Spectrum, project_psd
from tests.conftest import make_noisy_kernel


def test_projection_is_the_nearest_positive_matrix():
    noisy = make_noisy_kernel(shots=1)
    projected = project_psd(noisy)
    values, vectors = np.linalg.eigh(noisy)
    assert values.min() < -0.1
    expected = (vectors * np.maximum(values, EIGENVALUE_FLOOR)) @ vectors.T
    np.testing.assert_allclose(projected, expected, atol=1e-12)
    assert np.linalg.eigvalsh(projected).min() >= EIGENVALUE_FLOOR * (1 - 1e-6)
    # Nearest in Frobenius norm: the distance is the norm of what was cut off.
    cut = np.linalg.norm(np.minimum(values - EIGENVALUE_FLOOR, 0))
    assert np.linalg.norm(projected - noisy) == pytest.approx(cut)


def test_solves_inverses_and_leverages_are_those_of_the_projected_kernel():
    spectrum, ridge = Spectrum.of(make_noisy_kernel()), 0.3
    system = spectrum.kernel() + ridge * np.eye(20)
    inverse = np.linalg.inv(system)
    several = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_allclose(spectrum.inverse(ridge), inverse, atol=1e-10)
    np.testing.assert_allclose(spectrum.solve(several, ridge), inverse @ several, atol=1e-10)
    np.testing.assert_allclose(spectrum.solve(several[:, 0], ridge), inverse @ several[:, 0])
    expected = (spectrum.kernel() @ inverse).diagonal()
    np.testing.assert_allclose(spectrum.leverage(ridge), expected, atol=1e-10)
