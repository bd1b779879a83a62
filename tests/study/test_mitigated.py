"""Error mitigation from sentinels in a study: what they see, and what is done about it."""

from dataclasses import replace

import numpy as np
import pytest

from aqka.backends import AerBackend, depolarising_noise
from aqka.backends.diagonal import (
    estimate_depolarising,
    mitigate_depolarising,
    survival_of_pairs,
)
from aqka.core.plans import ShotPlan
from aqka.designs import KernelEstimate
from aqka.learners import FittedHead
from aqka.report.run_report import run_report
from aqka.runs.audit import sound_history
from aqka.runs.export import table_of
from aqka.runs.history import History, RecordedRound
from aqka.study.carry_out import carry_out, resume
from aqka.study.directory import prepare
from aqka.study.method import fit_head, for_noisy_rows, read_sentinels
from aqka.study.new_points import predict_new_points
from aqka.study.store import RunStore
from tests.study.helpers import QUICK, small, write_study

SENTINELS = "[sentinels]\npoints = 4\nshots = 500\nmitigate = {}\n[method]"
NOISE = "noise = [0.01, 0.04]"


def noisy_study(tmp_path, mitigate):
    text = small(backend="aer", extra=NOISE, budget="660000 shots", test_shots=2, method=QUICK)
    return write_study(tmp_path, text.replace("[method]", SENTINELS.format(mitigate)))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = noisy_study(tmp_path_factory.mktemp("mitigated"), "true")
    return carry_out(prepare(path), path.parent / "run")


def test_the_noise_that_the_sentinels_see_is_the_devices(run):
    found = run.results["sentinels"]
    points = RunStore(run.directory).points
    noisy = AerBackend(points.train, noise=depolarising_noise(0.01, 0.04)).kernel()
    exact = (np.diag(noisy)[[0, 3, 6, 9]].mean() - 0.25) / 0.75
    assert abs(found["survival"] - exact) < 5 * found["standard_error"]
    assert found["applied"]
    assert found["shots"] == 4 * 500 * run.results["actual"]["submissions"]
    assert found["drift"] > 1e-6


def test_the_head_is_that_of_the_kernel_without_the_noise(run):
    """An independent fit: ridge regression on the mitigated counts, and rows mitigated by hand."""
    found, points = run.results["sentinels"], RunStore(run.directory).points
    table = table_of(run.directory).table
    kernel = mitigate_depolarising(table.square(table.estimate()), found["survival"], 2, clip=False)
    np.fill_diagonal(kernel, 1.0)
    w, v = np.linalg.eigh(kernel)
    projected = (v * np.maximum(w, 1e-6)) @ v.T  # the floor of eigenvalues
    y = np.where(points.train_labels == run.session.problem.classes[1], 1.0, -1.0)
    alpha = np.linalg.solve(projected + 0.01 * np.eye(12), y)
    rows = np.random.default_rng(0).uniform(0.1, 0.9, (5, 12))
    clean = mitigate_depolarising(rows, found["survival"], 2, clip=False)
    assert np.allclose(run.head.decision_function(rows), clean @ alpha, atol=1e-8)


def test_it_is_nearer_to_the_noiseless_kernel_than_the_noisy_one(run):
    from aqka import StatevectorBackend

    exact = StatevectorBackend(RunStore(run.directory).points.train).kernel()
    table = table_of(run.directory).table
    noisy = table.square(table.estimate())
    off = np.triu_indices(12, 1)
    before = np.abs(noisy - exact)[off].mean()
    after = np.abs(run.head.kernel - exact)[off].mean()
    assert after < before / 2


def test_resumed_read_and_asked_again_it_is_the_same_head(run, tmp_path):
    again = resume(RunStore(run.directory))
    assert np.array_equal(again.head.alpha, run.head.alpha)
    assert again.results["sentinels"] == run.results["sentinels"]
    shown = {row["figure"]: row["actual"] for row in run_report(run.directory).usage}
    assert shown["shots for sentinels"] == run.results["sentinels"]["shots"]
    np.savez(tmp_path / "new.npz", X=np.zeros((1, 2)))
    made = predict_new_points(run.directory, tmp_path / "new.npz", 3)
    assert np.array_equal(made.prediction.head.alpha, run.head.alpha)


def test_without_mitigation_they_are_only_reported(tmp_path):
    path = noisy_study(tmp_path, "false")
    found = carry_out(prepare(path), path.parent / "run")
    assert not found.results["sentinels"]["applied"]
    assert np.array_equal(found.head.alpha, found.session.fit("ridge").alpha)


def fake_history(hits, shots=100):
    nothing = (None, None, None, False, 0, None, 0.0, 0.0)
    remarks = [{"sentinels": {"shots": [shots] * len(each), "hits": each}} for each in hits]
    rounds = [RecordedRound(k, *nothing, noted) for k, noted in enumerate(remarks)]
    return History(rounds=rounds)


def test_a_device_that_keeps_nothing_is_not_divided_by():
    """Hits at the floor of 1/4: a survival of 0 within its error cannot be undone."""
    found = read_sentinels(fake_history([[25, 26], [24, 25]]), 2, mitigate=True)
    assert abs(found.survival) < 2 * found.standard_error
    assert not found.applied
    assert read_sentinels(fake_history([[90, 91]]), 2, mitigate=True).applied
    expected = estimate_depolarising([90, 91], [100, 100], 2).survival
    assert read_sentinels(fake_history([[90, 91]]), 2, mitigate=True).survival == expected


def test_pairs_of_uneven_tiles_have_survivals_of_their_own():
    """Two rounds on two pairs of three points; the third pair has the mean, a dead tile half."""
    plan = ShotPlan([0, 1], [1, 2], [100, 300])
    rounds = [(plan, {"sentinels": {"rates": rates}}) for rates in ([0.85, 0.3], [0.55, 0.2])]
    found = survival_of_pairs(rounds, 0.5, 3, n_qubits=2)
    assert found[0, 1] == found[1, 0] == pytest.approx((0.8 + 0.4) / 2)
    assert found[1, 2] == 0.25
    assert found[0, 2] == 0.5
    rounds = [(plan, {"sentinels": {"rates": [0.5]}}), (plan, {})]
    assert (survival_of_pairs(rounds, 0.5, 3, n_qubits=2) == 0.5).all()


def test_the_head_divides_each_pair_by_the_survival_on_its_own_tiles(run):
    store = RunStore(run.directory)
    history = sound_history(run.directory)
    uneven = []
    for k, one in enumerate(history.rounds):
        rates = np.random.default_rng(k).uniform(0.7, 0.95, len(one.measured.shots))
        uneven.append((one.measured, {"sentinels": {**one.remarks["sentinels"], "rates": rates}}))
    rounds = [
        replace(one, remarks=remarks)
        for one, (_, remarks) in zip(history.rounds, uneven, strict=True)
    ]
    head, found = fit_head(store.prepared(), run.session, replace(history, rounds=rounds))
    survival = survival_of_pairs(uneven, found.survival, 12, n_qubits=2)
    off = np.triu_indices(12, 1)
    assert np.ptp(survival[off]) > 0.02
    noisy = run.session.estimate().kernel
    clean = (noisy - (1 - survival) / 4) / survival
    np.testing.assert_allclose(head.entries().kernel[off], clean[off], atol=1e-9)


def test_noisy_rows_give_what_clean_ones_gave():
    kernel = KernelEstimate(np.eye(2))
    head = FittedHead(np.array([1.0, -2.0]), np.array(0.5), kernel, 0.1, np.array([0, 1]))
    clean = np.array([[0.3, 0.8]])
    noisy = 0.8 * clean + 0.2 / 4
    same = for_noisy_rows(head, 0.8, n_qubits=2)
    assert np.allclose(same.decision_function(noisy), head.decision_function(clean))
