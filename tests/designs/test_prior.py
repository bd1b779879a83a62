"""Priors of new points: what costs no shot, the audit, and what a killed run keeps of it."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.preprocessing import minmax_scale

from aqka import (
    InputError,
    JobError,
    LedgerError,
    PredictionPrior,
    QuantumRidge,
    QuantumRidgeClassifier,
    StatevectorBackend,
    acquire,
    predict,
)
from aqka.designs import Never, Points
from aqka.designs.prior import Answers, _kernel_and_f
from aqka.designs.resolve import as_prior
from aqka.runs.audit import verify
from aqka.runs.driver import drive
from aqka.runs.ledger import LEDGER_NAME, Ledger
from aqka.sessions import Predicting
from tests.scenarios.killing import FORK

TRAIN, NEW = 40, 80


def moons():
    X, y = make_moons(TRAIN + NEW, noise=0.15, random_state=1)
    return minmax_scale(X, (0, np.pi / 2)), y


class Task:
    """A trained head, its prior, and new points on a backend."""

    def __init__(self, design):
        self.X, self.y = moons()
        train, self.new = self.X[:TRAIN], self.X[TRAIN:]
        pairs = design == "pairs"
        session = acquire(
            StatevectorBackend(train), self.y[:TRAIN], 20_000 if pairs else 5120, design=design
        )
        self.head, self.columns = session.fit(), train if pairs else None
        self.budget = NEW * (TRAIN * 10 if pairs else 64)
        self.prior = PredictionPrior().fit(self.head, session.problem.outputs, train, "zz", 2)

    def predict(self, prior, kind=StatevectorBackend, **options):
        backend = kind(self.new, columns=self.columns)
        prior = None if prior is None else prior.on(self.new)
        return predict(self.head, backend, self.budget, prior=prior, **options)

    @property
    def wrong(self):
        """A prior that answers the other class."""
        return replace(self.prior, process=replace(self.prior.process, values=-self.f))

    @property
    def f(self):
        return self.prior.process.values


@pytest.fixture(scope="module", params=["points", "pairs"])
def task(request):
    return Task(request.param)


def test_answered_points_cost_nothing_and_the_others_no_more_than_their_share(task):
    found, said = task.predict(task.prior), task.prior.answers(task.new)
    assert 0.3 < np.mean(said.settled) < 1
    assert said.audited.sum() == 10
    assert np.array_equal(found.by_prior, said.settled & ~said.audited)
    assert np.all(found.shots[found.by_prior] == 0)
    assert np.all(found.shots[~found.by_prior] > 0)
    assert found.shots.sum() <= task.budget * np.mean(~found.by_prior)
    assert np.all(found.settled[found.by_prior])
    assert np.array_equal(found.labels[found.by_prior], said.winner[found.by_prior])
    assert np.array_equal(found.f[found.by_prior], said.mean[found.by_prior, 0])
    assert found.answered_by.count("prior") == found.by_prior.sum()
    assert found.answered_by.count("audit") == 10
    exact = task.head.estimate.decide_exactly(
        task.head, StatevectorBackend(task.new, columns=task.columns)
    )
    assert np.mean((exact >= 0)[found.by_prior] != found.labels[found.by_prior]) < 0.1
    assert found.audit.passed
    assert "it is kept" in found.audit.sentence


def test_measured_points_are_as_if_they_were_measured_alone(task):
    """The same points with their share of the budget, and no prior: the same plan."""
    session = Predicting(task.head, NEW, task.budget, prior=task.prior.on(task.new))
    measured = np.flatnonzero(~session.new.by_prior)
    share = task.budget * len(measured) // NEW
    alone = Predicting(task.head, len(measured), share).ask()
    plan = session.ask()
    assert session.shots_left == share
    assert np.array_equal(plan.shots, alone.shots)
    name, other = plan.ROWS
    assert np.array_equal(getattr(plan, name), measured[getattr(alone, name)])
    assert np.array_equal(getattr(plan, other), getattr(alone, other))


def test_a_failed_audit_switches_the_prior_off_and_every_point_is_measured(task):
    with pytest.warns(RuntimeWarning, match="switched off, and every point is measured"):
        found = task.predict(task.wrong)
    assert not found.by_prior.any()
    assert np.all(found.shots > 0)
    assert found.shots.sum() <= task.budget
    assert not found.audit.passed
    assert found.audit.disagreed > 1
    low, high = found.audit.interval
    assert low < found.audit.disagreed / found.audit.compared <= high
    plain = task.predict(None)
    assert np.mean(found.labels == plain.labels) > 0.8
    assert plain.by_prior is None
    assert plain.audit is None
    assert set(plain.answered_by) == {"shots"}


def test_points_of_a_failed_prior_share_all_shots_that_are_left(task, monkeypatch):
    """Points that are settled early leave shots over, which go to the others in whole rounds."""
    backend, seen = StatevectorBackend(task.new, columns=task.columns), []
    session = Predicting(task.head, NEW, task.budget, prior=task.wrong.on(task.new))
    first = session.new._parts[0].new
    submit = backend.submit

    def settle_all(plan, tag):
        seen.append(plan.total)
        return submit(plan, tag)

    def take(round, *answer):
        type(first).take(first, round, *answer)
        first.settled = np.ones_like(first.settled)

    monkeypatch.setattr(backend, "submit", settle_all)
    monkeypatch.setattr(first, "take", take)
    monkeypatch.setattr(first, "settled_at_end", lambda: first.settled)
    monkeypatch.setattr(
        first, "winners", lambda: 1 - session.new.answers.winner[~session.new.answers.free]
    )
    with pytest.warns(RuntimeWarning, match="switched off"):
        drive(session, backend)
    rest = session.new._parts[1].new
    assert session.shots_left == 0 or rest.settled.all()
    assert session.new._parts[1].budget == task.budget - seen[0]
    assert len(seen) <= 1 + len(rest.milestones)


class LosingBackend(StatevectorBackend):
    """Runs the shots of its first job for nothing."""

    lost = False

    def fingerprint(self):
        return "losing"

    def collect(self, ticket):
        answer = super().collect(ticket)
        if not self.lost:
            self.lost = True
            raise JobError("the device went away", lost=37)
        return answer


@pytest.mark.filterwarnings("ignore:Audit of the prior", "ignore:round 0 failed")
@pytest.mark.parametrize("right", [True, False])
def test_lost_shots_come_off_the_share_of_measured_points_and_a_resumed_run_agrees(
    task, tmp_path, right
):
    prior = task.prior if right else task.wrong
    found = task.predict(prior, LosingBackend, directory=tmp_path)
    limit = np.mean(~found.by_prior) * task.budget
    assert found.shots.sum() + 37 <= limit
    again = task.predict(prior, LosingBackend, directory=tmp_path)
    assert np.array_equal(found.shots, again.shots)
    assert np.array_equal(found.labels, again.labels)


def test_open_points_are_decided_by_shots_and_prior_together_but_settled_by_shots(task):
    session = Predicting(task.head, NEW, task.budget // 4, prior=task.prior.on(task.new))
    drive(session, StatevectorBackend(task.new, columns=task.columns))
    said, found = session.new.answers, session.result()
    alone = session.new.decide()
    left = ~found.settled
    assert left.sum() > 3
    np.testing.assert_array_equal(found.f[found.settled], alone.f[found.settled])
    between = [
        np.sort([a, m, b]) for a, m, b in zip(alone.f, found.f, said.mean[:, 0], strict=True)
    ]
    if task.columns is not None:  # of points, the training states are a third voice
        np.testing.assert_array_equal(np.array(between)[left, 1], found.f[left])
    total = np.sqrt(said.deviation[:, 0] ** 2 + said.noise**2)
    assert np.all((found.high - found.low)[left] < 2 * 1.645 * total[left])


class DyingBackend(StatevectorBackend):
    """Kills its process at the submission of this number, without a word."""

    dies_at = 1
    submissions = 0

    def fingerprint(self):
        return StatevectorBackend(self._points).fingerprint()

    def submit(self, plan, tag):
        self.submissions += 1
        if self.submissions == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().submit(plan, tag)


@pytest.mark.filterwarnings("ignore:Audit of the prior")
@pytest.mark.parametrize("right", [True, False])
def test_a_killed_run_uses_what_was_written_and_not_what_is_computed_anew(
    tmp_path, monkeypatch, right
):
    """Another processor computes other last bits: here a prior that is sure of other points."""
    task = Task("points")
    prior = task.prior if right else task.wrong
    process = replace(prior.process, amplitudes=prior.process.amplitudes * 9)
    other = replace(prior, process=process)
    assert not np.array_equal(prior.answers(task.new).settled, other.answers(task.new).settled)
    whole = task.predict(prior, directory=tmp_path / "whole")
    for dies_at in (1, 2, verify(tmp_path / "whole").ended):
        monkeypatch.setattr(DyingBackend, "dies_at", dies_at)
        directory = tmp_path / f"killed-{dies_at}"
        child = FORK.Process(
            target=task.predict, args=(prior, DyingBackend), kwargs={"directory": directory}
        )
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
        found = task.predict(other, directory=directory)
        assert np.array_equal(found.by_prior, whole.by_prior)
        assert np.array_equal(found.f, whole.f)
        assert np.array_equal(found.shots, whole.shots)
        assert verify(directory).sound


def test_a_ledger_without_the_prior_or_of_other_points_is_refused(tmp_path):
    task = Task("points")
    task.predict(None, directory=tmp_path / "a")
    with pytest.raises(LedgerError, match="prior"):
        task.predict(task.prior, directory=tmp_path / "a")
    task.predict(task.prior, directory=tmp_path / "b")
    with Ledger(tmp_path / "b" / LEDGER_NAME) as ledger:
        columns = next(iter(ledger.entries())).arrays
    said = task.prior.answers(task.new)
    again = Answers.from_ledger(columns, NEW)
    assert np.array_equal(again.mean, said.mean)
    assert np.array_equal(again.audited, said.audited)
    fewer = {name: columns[name][1:] for name in ("prior", "prior_mean", "prior_deviation")}
    for wrong in ({}, columns | {"prior": columns["prior"][1:]}, columns | fewer):
        with pytest.raises(InputError, match="what the prior said"):
            Answers.from_ledger(wrong, NEW)


def test_a_point_is_settled_at_the_level_and_the_audit_is_drawn_from_the_seed(task):
    sure = [replace(task.prior, settings=PredictionPrior(rate)) for rate in (0.01, 0.05, 0.3)]
    counts = [one.answers(task.new).settled.sum() for one in sure]
    assert counts == sorted(counts)
    assert counts[0] < counts[2]
    said = [task.prior.answers(task.new, seed) for seed in (1, 1, 2)]
    assert np.array_equal(said[0].audited, said[1].audited)
    assert not np.array_equal(said[0].audited, said[2].audited)
    none = replace(task.prior, settings=PredictionPrior(audit=0.0, least_audited=0))
    assert not none.answers(task.new).audited.any()
    most = replace(task.prior, settings=PredictionPrior(audit=1.0))
    assert np.array_equal(most.answers(task.new).audited, most.answers(task.new).settled)


def test_every_point_answered_and_no_audit_costs_no_shot_at_all(task):
    process = replace(task.prior.process, amplitudes=np.array([1e-12]))
    sure = replace(
        task.prior, settings=PredictionPrior(audit=0.0, least_audited=0), process=process
    )
    found = task.predict(sure)
    assert found.by_prior.all()
    assert found.shots.sum() == 0
    assert found.audit.compared == 0
    assert found.audit.interval == (0.0, 1.0)


def test_several_classes_are_answered_and_most_answers_are_right():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = minmax_scale(X, (0, np.pi / 2))[order][:, 2:], y[order]
    model = QuantumRidgeClassifier(budget=50 * 128, design="points", prior="angles")
    found = model.fit(X[:50], y[:50]).prediction(X[50:], budget=100 * 64)
    assert found.by_prior.sum() > 20
    assert found.f.shape == (100, 3)
    assert np.mean(found.labels[found.by_prior] == y[50:][found.by_prior]) > 0.9
    assert found.audit.passed


def test_values_have_no_class_to_settle_and_cost_what_they_did():
    X, y = moons()
    model = QuantumRidge(budget=TRAIN * 64, design="points", prior="angles")
    found = model.fit(X[:TRAIN], y[:TRAIN] * 1.5).prediction(X[TRAIN:], budget=NEW * 32)
    assert found.shots.sum() == NEW * 32
    task = Task("points")
    values = task.predict(task.prior, stop=Never())
    assert not hasattr(values, "by_prior")


def test_a_projected_kernel_has_a_prior_too():
    X, y = moons()
    model = QuantumRidgeClassifier(budget=TRAIN * 128, design=Points("projected"), prior="angles")
    found = model.fit(X[:TRAIN], y[:TRAIN]).prediction(X[TRAIN:], budget=NEW * 64)
    assert found.by_prior.sum() > 10
    assert np.mean(found.labels[found.by_prior] == y[TRAIN:][found.by_prior]) > 0.8


def test_very_many_points_never_have_their_kernel_formed(task, monkeypatch):
    some = np.arange(0, TRAIN, 3)
    kernel, f = _kernel_and_f(task.head, some)
    if task.columns is None:
        monkeypatch.setattr(task.head.estimate, "forms_kernel", False)
        monkeypatch.setattr("aqka.designs.prior.BLOCK_ROWS", 7)
        block, values = _kernel_and_f(task.head, some)
        assert np.allclose(block, kernel)
        assert np.allclose(values, f)


def test_poorly_known_states_lean_on_the_labels(task, monkeypatch):
    estimate, outputs = task.head.estimate, np.where(task.y[:TRAIN] > 0, 1.0, -1.0)[:, None]
    f = estimate.kernel @ task.head.coefficients + task.head.intercept
    for fidelity in (0.0, 0.5, 1.0):
        monkeypatch.setattr(estimate, "known_states", lambda n, known=fidelity: (2.0**n, known))
        prior = PredictionPrior().fit(task.head, outputs, task.X[:TRAIN], "zz", 2)
        expected = fidelity**2 * f + (1 - fidelity**2) * outputs
        np.testing.assert_allclose(prior.process.values, expected)


def test_wrong_settings_are_refused():
    assert as_prior("none") is None
    assert as_prior("angles") == PredictionPrior()
    with pytest.raises(InputError, match="prior must be one of 'auto', 'none', 'angles'"):
        as_prior("angle")
    for settings in ({"error_rate": 0.6}, {"audit": 2.0}, {"least_audited": -1}):
        with pytest.raises(InputError, match=next(iter(settings))):
            PredictionPrior(**settings)
