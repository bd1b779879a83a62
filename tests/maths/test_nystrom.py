import numpy as np
import pytest

from aqka.core.plans import Landmarks
from aqka.maths.nystrom import reconstruct
from tests.conftest import make_noisy_kernel


@pytest.mark.parametrize("keep_block", [False, True])
def test_nystrom_formula(keep_block):
    kernel, points = make_noisy_kernel(), np.array([3, 11, 7])
    full = reconstruct(kernel, Landmarks(points, keep_block), ridge=0.1)
    inverse = np.linalg.inv(kernel[np.ix_(points, points)] + 0.1 * np.eye(3))
    expected = np.clip(kernel[:, points] @ inverse @ kernel[points], 0, 1)
    if keep_block:
        expected[:, points] = kernel[:, points]
        expected[points] = kernel[points]
    np.testing.assert_allclose(full, expected, atol=1e-12)
    np.testing.assert_allclose(full, full.T)


def test_nystrom_recovers_a_low_rank_kernel_from_few_rows():
    features = np.random.default_rng(0).normal(size=(30, 3))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    kernel = (features @ features.T) ** 2  # rank 6
    landmarks = Landmarks(np.arange(8), keep_block=False)
    np.testing.assert_allclose(reconstruct(kernel, landmarks, 1e-9), kernel, atol=1e-5)


def test_nystrom_of_a_singular_block_stays_a_kernel():
    kernel = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.5, 0.5, 0.0]])
    full = reconstruct(kernel, Landmarks(np.array([0, 1]), keep_block=False), ridge=1.0)
    assert np.all((full >= 0) & (full <= 1))
