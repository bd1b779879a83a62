"""The baselines of the alignment page are those they are called after."""

import numpy as np
import pytest
from qiskit_machine_learning.utils.loss_functions import SVCLoss

from aqka_research.benchmarks import alignment
from aqka_research.figures.page import PageRun


class Known:
    """A trainable kernel that is known."""

    def __init__(self, kernel):
        self.kernel = kernel

    def assign_training_parameters(self, values):
        pass

    def evaluate(self, X):
        return self.kernel


@pytest.fixture(scope="module")
def task():
    return alignment.draw("planted, 3 qubits", 0)


def test_the_svc_loss_is_qiskits(task):
    points, rng = np.arange(30), np.random.default_rng(0)
    ours, _ = alignment.svc(alignment.EXACT)(task, task.start, points, rng)
    kernel = Known(task.kernel(task.start)[:30, :30])
    theirs = SVCLoss().evaluate(task.start, kernel, task.X[:30], task.y[:30])
    assert 30 * ours == pytest.approx(theirs)


def test_nystrom_with_all_points_as_landmarks_is_the_alignment_itself(task):
    points, rng = np.arange(20), np.random.default_rng(0)
    every, _ = alignment.nystrom(20, alignment.EXACT)(task, task.start, points, rng)
    plain, _ = alignment.aligned(alignment.EXACT)(task, task.start, points, rng)
    assert every == pytest.approx(plain, abs=0.05)  # eigenvalues below 5 % are cut


def test_qiskits_trainer_pays_for_its_calibration_and_both_ends_of_each_step(task):
    each = alignment.SHOTS * alignment.TRAIN * (alignment.TRAIN - 1)
    found = list(alignment.qiskit_trainer(task, 0, 27 * each))
    assert [shots for shots, _ in found] == [26 * each, 27 * each]


def test_shots_to_a_level_are_where_the_mean_curve_stays_above_it():
    gains = np.zeros((2, len(alignment.MARKS)))
    gains[:, 10] = 1.0
    gains[:, 20:] = 0.9
    assert alignment.shots_to(gains, 0.8) == alignment.MARKS[20]
    assert alignment.shots_to(gains, 0.95) == np.inf


def test_ratios_are_one_for_ours_and_open_where_some_resamples_never_get_there():
    ours, theirs = np.ones((4, len(alignment.MARKS))), np.ones((4, len(alignment.MARKS)))
    theirs[0, :20] = theirs[1, :] = 0.6
    assert alignment._ratio(ours, ours, 0.95) == "1 ×"
    assert alignment._ratio(theirs, ours, 0.95) == "not reached"
    assert alignment._ratio(ours, theirs, 0.95) == "ours not reached"
    assert alignment._ratio(theirs, ours, 0.88).endswith(" or more)")


def test_the_page_is_written_and_its_small_form_leaves_held_out_tasks_alone(tmp_path):
    page = "\n".join(alignment.page(PageRun(tmp_path / "alignment.md", tmp_path, "tiny", 1)))
    assert page.count("Development tasks (1)") == 1
    assert alignment.OURS in page
    assert "| best classical model | no shots |" in page
    assert "| majority class | no shots |" in page
