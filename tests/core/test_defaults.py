"""Wherever one enters the package, what is not named is the same."""

from inspect import signature

import numpy as np
import pytest

from aqka import (
    Problem,
    QuantumRidge,
    QuantumRidgeClassifier,
    QuantumSVC,
    StatevectorBackend,
    Training,
    acquire,
    train_map,
)
from aqka.allocators import DEFAULT_ALLOCATOR, make_allocator
from aqka.core.problem import DEFAULT_C
from aqka.designs import Pairs, Points
from aqka.estimators import QuantumKernel
from aqka.insight import with_total_interval
from aqka.learners import DEFAULT_LEARNER, make_learner

ENTRANCES = (
    acquire,
    Training,
    Training.fit,
    Problem,
    QuantumRidge,
    QuantumRidgeClassifier,
    QuantumSVC,
    QuantumKernel,
    train_map,
)
POINTS = np.linspace(0.1, 3.0, 8).reshape(4, 2)
DEFAULTS = {"allocator": None, "learner": None, "C": DEFAULT_C, "design": "auto"}
"""None is the default of the design."""


@pytest.mark.parametrize("entrance", ENTRANCES, ids=lambda entrance: entrance.__qualname__)
def test_signatures_agree(entrance):
    parameters = signature(entrance).parameters
    expected = DEFAULTS | ({"design": None} if entrance is Training.fit else {})
    shared = expected.keys() & parameters.keys()
    assert shared
    assert {name: parameters[name].default for name in shared} == {n: expected[n] for n in shared}


def test_a_total_interval_is_by_default_that_of_the_default_head():
    assert signature(with_total_interval).parameters["learner"].default == DEFAULT_LEARNER
    assert Pairs.default_learner == DEFAULT_LEARNER


@pytest.mark.parametrize("design", ["pairs", "points"])
def test_no_allocator_is_the_default(design):
    y, default = [0, 1, 0, 1], make_allocator(DEFAULT_ALLOCATOR)
    options = {"budget": 60, "design": design}
    assert acquire(StatevectorBackend(POINTS), y, **options).allocator == default
    for estimator in (QuantumRidgeClassifier, QuantumSVC):
        assert estimator(**options).fit(POINTS, y).session_.allocator == default
    kept = QuantumKernel(test_budget=0, **options)
    kept.fit(POINTS, y)
    assert kept.session_.allocator == default


def test_studies_agree():
    from aqka.study.method import learner_of
    from aqka.study.schema import MethodSection, parse_study

    fields = MethodSection.model_fields
    assert fields["allocator"].default == DEFAULT_ALLOCATOR
    assert fields["C"].default == DEFAULT_C
    study = parse_study('[data]\nsource = "moons"\n[budget]\ntrain = "2e4 shots"\n')
    assert learner_of(study) == make_learner(DEFAULT_LEARNER)


def test_problems_have_one_ridge():
    from aqka.study.schema import MethodSection

    assert signature(acquire).parameters["ridge"].default == Problem([0, 1]).ridge
    assert MethodSection.model_fields["ridge"].default == Problem([0, 1]).ridge


@pytest.mark.parametrize("estimator", [QuantumRidge, QuantumRidgeClassifier])
@pytest.mark.parametrize("design", [Pairs(), Points()])
def test_a_learner_that_is_not_named_is_the_default_of_the_design(estimator, design):
    y = np.array([0.0, 1.0, 1.0, 0.0])
    plain, named = (
        estimator(budget=200, design=design, learner=learner).fit(POINTS, y)
        for learner in (None, design.default_learner)
    )
    assert plain.head_.regularisation == named.head_.regularisation
    np.testing.assert_array_equal(plain.head_.alpha, named.head_.alpha)
    assert plain.head_.identity == named.head_.identity
