import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from aqka.designs.projected import WIDTHS, tuned_gamma
from aqka.estimates.projected import gaussian_projected_kernel, median_gamma
from aqka.estimates.reduced_states import ReducedStates
from aqka.learners.ridge import RIDGE_GRID


def states_on_a_line(n_points, seed=0):
    angle = np.linspace(0, np.pi, n_points)
    noise = np.random.default_rng(seed).normal(scale=0.05, size=(n_points, 2))
    means = np.stack([np.cos(angle), np.sin(angle)], axis=1) + noise
    return ReducedStates(means, np.full((n_points, 2), 0.0025), np.full(2, 0.5), 1, 1), angle


def refitted_error(kernel, y):
    """The smallest squared error of points that were really left out."""
    return min(
        np.mean(
            (
                cross_val_predict(
                    KernelRidge(alpha=ridge, kernel="precomputed"), kernel, y, cv=LeaveOneOut()
                )
                - y
            )
            ** 2
        )
        for ridge in RIDGE_GRID[::4]
    )


@pytest.mark.parametrize("waves", [1, 9])
def test_the_width_is_the_one_that_predicts_points_left_out(waves):
    states, angle = states_on_a_line(24)
    y = np.sign(np.sin(waves * angle + 0.3))
    gamma = tuned_gamma(states, y)
    errors = {
        width: refitted_error(
            gaussian_projected_kernel(states, median_gamma(states) / width, keep_noise=True), y
        )
        for width in WIDTHS
    }
    chosen = errors[median_gamma(states) / gamma]
    assert chosen <= 1.05 * min(errors.values())


def test_a_target_that_turns_quickly_needs_a_narrow_kernel():
    states, angle = states_on_a_line(60)
    slow, quick = np.sin(angle), np.sign(np.sin(14 * angle))
    assert tuned_gamma(states, quick) > tuned_gamma(states, slow)
    both = tuned_gamma(states, np.stack([quick, quick], axis=1))
    assert both == tuned_gamma(states, quick)
