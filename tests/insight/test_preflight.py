"""The whole check: on tasks where the answer is known."""

import json
import re

import numpy as np
import pytest

from aqka import preflight
from aqka.backends.statevector import zz_kernel
from aqka.errors import InputError
from aqka.insight.exact_kernels import projected_kernels
from aqka.insight.fold_scores import KernelHead, repeated_folds, score_folds
from aqka.insight.preflight import count_steps, default_candidates
from aqka.insight.scan import Candidate, Spending, forecast, measure_evenly, scan


@pytest.fixture
def few_trees(monkeypatch):
    monkeypatch.setattr("aqka.insight.baselines.TREES", {"n_estimators": [5]})


def own_only(X):
    return [Candidate({"range": "own"}, X, "zz")]


def planted(n_points=150):
    """Labels from a few centres of a wide ZZ kernel, which is rough in the data's own space."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2 * np.pi, (n_points, 2))
    kernel = zz_kernel(X)
    values, vectors = np.linalg.eigh(kernel)
    f = vectors[:, -9:] @ (rng.choice([-1.0, 1.0], 9) * np.sqrt(values[-9:]))
    return X, np.where(f > np.median(f), 1, 0)


def test_a_task_made_of_the_kernel_is_worth_its_shots(few_trees):
    X, y = planted()
    steps = []
    spending = Spending(budget=60_000, n_train=120)
    found = preflight(X, y, spending=spending, candidates=own_only(X), on_step=steps.append)
    assert found.recommendation.decision == "buy"
    assert "clearly better than any plain model's" in found.recommendation.sentence
    assert found.own.means[0] > max(model.means[0] for model in found.plain) + 0.1
    assert len(steps) == count_steps(1)
    assert (found.n_points, found.n_train) == (150, 120)
    facts = found.facts()
    assert facts["sentence"] == found.recommendation.sentence
    assert repr(found) == f"<Preflight: {found.recommendation.sentence}>"
    assert "<td>buy</td>" in found._repr_html_()
    assert all(model.name in found._repr_html_() for model in found.models)
    assert [entry["name"] for entry in facts["scores"]][:2] == ["exact kernel", "at this budget"]
    assert "best settings, nested" in [entry["name"] for entry in facts["scores"]]


def test_labels_that_mean_nothing_are_not_worth_a_shot(monkeypatch, few_trees):
    monkeypatch.setattr("aqka.insight.preflight.MAX_POINTS", 80)
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 3, (1000, 2))
    found = preflight(X, rng.integers(0, 2, 1000))
    assert (found.n_points, found.n_given) == (80, 1000)
    assert found.recommendation.decision == "don't"
    assert "look at the data first" in found.recommendation.sentence
    # The best of many is flattered, and the nested estimate is not.
    assert found.scan.scores[found.scan.best].means[0] > 0.55
    assert found.scan.flattery > 0
    assert found.scan.nested.means[0] < 0.6


def test_what_the_circuit_does_not_see_a_plain_model_does_better(few_trees):
    rng = np.random.default_rng(2)
    columns = rng.normal(size=(120, 3))
    y = np.where(columns[:, 2] + 0.5 * columns[:, 0] > 0, "up", "down")
    X = np.pi / 2 + columns[:, :2] / 2  # the third column is left out
    tried = [*own_only(X), Candidate({"range": "narrow"}, X / 4, "z")]
    found = preflight(X, y, columns=columns, candidates=tried)
    assert found.recommendation.decision == "don't"
    assert (
        "without a shot, clearly more than this kernel even if exact"
        in found.recommendation.sentence
    )


def test_real_targets_are_scored_by_r2(few_trees):
    X = np.random.default_rng(3).uniform(0, 1, (40, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    candidates = [Candidate({}, X, "z")]
    found = preflight(X, y, spending=Spending(20_000, 32), candidates=candidates)
    assert found.metrics == ("R²",)
    assert found.own.means[0] > 0.9
    assert found.forecast.means[0] > 0.5
    assert {model.name for model in found.plain} == {
        "RBF SVM",
        "linear ridge",
        "gradient boosting",
    }


def test_endless_shots_reach_the_exact_kernel_and_few_do_not():
    X, y = planted(60)
    kernel, folds = zz_kernel(X), repeated_folds(y, repeats=1)
    head = KernelHead(y)
    exact = score_folds("exact", lambda fold: head.predict(kernel, fold), y, folds).means[0]
    many = Spending(10**8, 48, test_shots=10**5, allocator="uniform", learner="ridge-loo")
    # Settled at 5 %, up to 3 of 60 points may end in the other class.
    assert forecast("many", lambda _: kernel, y, folds, many).means[0] == pytest.approx(
        exact, abs=0.05
    )
    values = kernel[:, :5] @ [1.0, -1.0, 1.0, -1.0, 1.0]
    head, real = KernelHead(values), repeated_folds(values, repeats=1)
    best = score_folds("exact", lambda fold: head.predict(kernel, fold), values, real).means[0]
    assert forecast("many", lambda _: kernel, values, real, many).means[0] == pytest.approx(
        best, abs=0.02
    )
    squeezed = 0.01 * kernel + 0.99 * np.eye(60)  # learns as well, from entries near zero
    few = Spending(500, 48, test_shots=1, allocator="uniform", learner="ridge-loo")
    assert forecast("few", lambda _: squeezed, y, folds, few).means[0] < exact - 0.1


def test_a_budget_is_for_each_pair():
    spending = Spending(budget=1770 * 10, n_train=60)
    assert spending.shots_per_pair == 10
    assert spending.budget_of(60) == 17700
    assert spending.budget_of(20) == 1900


def test_even_shots_are_binomial_and_pairs_without_one_read_the_mean():
    kernel = np.full((80, 80), 0.3) + 0.7 * np.eye(80)
    entries = np.triu_indices(80, 1)
    spending = Spending(10 * 3160, 80, test_shots=1000)
    inner, rows = measure_evenly(kernel, spending, np.random.default_rng(0))
    for seen, shots in ((inner, 10), (rows, 1000)):
        assert np.array_equal(seen, seen.T)
        assert np.all(seen.diagonal() == 1)
        assert seen[entries].mean() == pytest.approx(0.3, abs=0.02)
        assert seen[entries].std() == pytest.approx(np.sqrt(0.21 / shots), rel=0.1)
    rare, _ = measure_evenly(kernel, Spending(316, 80), np.random.default_rng(1))
    values, counts = np.unique(rare[entries], return_counts=True)
    assert len(values) == 3  # a miss, a hit, or nothing known
    assert counts.max() == pytest.approx(0.9 * 3160, rel=0.05)


def test_a_scan_prefers_what_its_shots_can_resolve():
    """Two kernels that learn alike exactly; one is squeezed into entries near zero."""
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 1, (60, 2))
    y = (X[:, 0] > 0.5).astype(int)

    class Squeezed(Candidate):
        def kernel(self):
            return 0.001 * super().kernel() + 0.999 * np.eye(60)

    candidates = [Squeezed({"k": "squeezed"}, X, "z"), Candidate({"k": "plain"}, X, "z")]
    folds = repeated_folds(y)
    found = scan(candidates, y, folds, KernelHead(y), Spending(5000, 48))
    assert found.best == 1
    assert found.scores[1].means[0] > found.scores[0].means[0] + 0.1


@pytest.mark.parametrize("seed", range(4))
def test_shot_noise_makes_no_kernel_far_worse_than_the_mean(seed):
    """A measured kernel has negative eigenvalues: a tiny ridge would divide by what is left."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 3, (40, 2))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=40)
    candidates = [Candidate({"scale": scale}, scale * X, "zz") for scale in (0.25, 0.5, 1, 2)]
    found = scan(candidates, y, repeated_folds(y), KernelHead(y), Spending(5000, 32))
    assert min(score.means[0] for score in [*found.scores, found.nested]) > -0.5


def test_of_equals_the_users_own_settings_win():
    X, y = planted(40)
    twins = [Candidate({"k": name}, X, "zz") for name in ("own", "twin")]
    assert scan(twins, y, repeated_folds(y), KernelHead(y)).best == 0


def test_default_candidates_scale_the_columns_to_every_range():
    X = np.array([[0.0, 5.0], [1.0, 9.0]])
    candidates = default_candidates(X, "zz")
    assert candidates[0].angles is X
    assert {c.settings["map"] for c in candidates} == {"zz", "zz-full", "z"}
    for candidate in candidates[1:]:
        assert candidate.angles.min(axis=0) == pytest.approx([candidate.settings["range"][0]] * 2)
        assert candidate.angles.max(axis=0) == pytest.approx([candidate.settings["range"][1]] * 2)


def test_default_candidates_repeat_the_maps_as_a_scan_does():
    X = np.random.default_rng(0).uniform(0, 3, (3, 2))
    candidates = default_candidates(X, "zz")
    assert {c.settings["reps"] for c in candidates} == {1, 2, 3}
    assert candidates[0].kernel() == pytest.approx(zz_kernel(X))
    once = next(c for c in candidates[1:] if (c.settings["map"], c.settings["reps"]) == ("z", 1))
    gaps = once.angles[:, None] - once.angles
    # One layer of Hadamards and phases 2x has the overlap Π cos(x - y).
    assert once.kernel() == pytest.approx(np.prod(np.cos(gaps) ** 2, axis=2))
    assert {c.settings["map"] for c in default_candidates(X, lambda x: None)} == {"as given"}


def test_models_that_learn_from_fewer_points_than_the_study_say_so(monkeypatch, few_trees, capsys):
    from rich.console import Console

    from aqka.cli.init import print_check

    monkeypatch.setattr("aqka.insight.preflight.MAX_POINTS", 50)
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 3, (300, 2))
    y = (X[:, 0] > 1.5).astype(int)

    def told(n_train):
        spending = Spending(10 * n_train * (n_train - 1) // 2, n_train, allocator="uniform")
        found = preflight(X, y, spending=spending, candidates=own_only(X))
        print_check(found, Console(width=200))
        return found, capsys.readouterr().out

    found, text = told(240)
    assert (found.n_train, found.n_train_given) == (40, 240)
    assert found.facts()["training_points_given"] == 240
    assert found.concentration.shot_error is not None  # by the shots a pair, not by all of them
    assert "40 points, not on the study's 240" in text
    assert "50 of 300 non-test points, simulated" in text
    assert text.count(found.scan.nested.name) == 2  # a row, and the sentence that names it
    assert "'at this budget' simulates the study's allocator and learner on only half" in text
    found, text = told(40)
    assert (found.n_train, found.n_train_given) == (40, 40)
    assert "not from the study" not in text


def test_mistakes_are_named():
    X = np.zeros((20, 2))
    with pytest.raises(InputError, match="as many points"):
        preflight(X, np.zeros(19))
    with pytest.raises(InputError, match="at least 10 points"):
        preflight(X[:5], np.arange(5) % 2)
    with pytest.raises(InputError, match="head must be"):
        preflight(X, np.arange(20) % 2, head="forest")
    with pytest.raises(InputError, match=r"Did you mean 'zz'\? Built-in: zz, zz-full, z;"):
        preflight(X, np.arange(20) % 2, "zzz")
    with pytest.raises(InputError, match=r"depends on 30 qubits, at most 14 .*PCA"):
        preflight(np.zeros((20, 30)), np.arange(20) % 2, "zz-full")


def test_features_of_many_qubits_that_can_be_computed_are_not_to_be_bought(few_trees):
    """Each qubit of the map z sees one column, so that the features hold what the data hold."""
    rng = np.random.default_rng(4)
    X = rng.uniform(0.2, 1.2, (60, 20))
    y = np.where(X[:, :3].sum(axis=1) > 2.1, "up", "down")
    spending = Spending(budget=48 * 600, n_train=48, test_shots=600)
    steps = []
    own = [Candidate({"map": "z"}, X, "z")]
    found = preflight(X, y, spending=spending, candidates=own, on_step=steps.append)
    assert found.recommendation.decision == "don't"
    said = found.recommendation.sentence
    assert re.search(r"can be computed here in .* without any shots\.", said)
    names = [model.name for model in found.models]
    assert names[:3] == ["projected kernel", "at this budget", "features of permuted points"]
    own, bought, null = (model.means[0] for model in found.models[:3])
    assert own > 0.7 > null + 0.1
    assert bought > null
    assert found.linear_share > 0.7  # sines and cosines of the columns, on a short range
    facts = json.loads(json.dumps(found.facts()))
    assert facts["seconds_to_compute"] > 0
    assert facts["linear_share"] == pytest.approx(found.linear_share)
    assert len(steps) <= count_steps(1)
    tried = default_candidates(X, "z")
    assert {c.settings["map"] for c in tried} == {"z"}  # other ranges alone
    assert len(tried) > 1


def test_light_cones_give_a_check_the_features_of_the_whole_state(monkeypatch):
    X = np.random.default_rng(5).uniform(0, 3, (6, 5))
    candidate = Candidate({}, X, "zz")
    whole = projected_kernels(candidate.features)
    fidelity = candidate.kernel()
    monkeypatch.setattr("aqka.insight.exact_kernels.MAX_QUBITS", 4)
    wide = Candidate({}, X, "zz")
    assert wide.is_wide
    np.testing.assert_allclose(projected_kernels(wide.features), whole, atol=1e-12)
    np.testing.assert_allclose(wide.kernel(), whole[1], atol=1e-12)
    assert np.abs(wide.kernel() - fidelity).max() > 0.1
    kernel, rows = wide.measured(Spending(6 * 10**6, 6, test_shots=10**6), np.random.default_rng(0))
    np.testing.assert_allclose(kernel, rows, atol=0.02)
    np.testing.assert_allclose(kernel, whole[1], atol=0.02)
