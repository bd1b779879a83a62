"""Wherever one enters the package, what is not named is the same."""

from inspect import signature

import numpy as np
import pytest

from aqka import (
    MatrixBackend,
    Problem,
    QuantumRidge,
    QuantumRidgeClassifier,
    QuantumSVC,
    Training,
    acquire,
)
from aqka.allocators import make_allocator
from aqka.core.defaults import DEFAULT_ALLOCATOR, DEFAULT_C, DEFAULT_READOUT
from aqka.dropins import ShotKernel
from aqka.insight import with_total_interval
from aqka.readouts import make_readout
from aqka.study.method import readout_of
from aqka.study.schema import MethodSection, parse_study

BOTH_DESIGNS = (acquire, QuantumRidge, QuantumRidgeClassifier, QuantumSVC, ShotKernel)
"""Entrances to pairs and points: where no allocator is named it is the design's."""
FIT_BOTH = (QuantumRidge, QuantumRidgeClassifier)
"""Estimators whose readout, where none is named, is the design's: of pairs the default one."""
ENTRANCES = (
    acquire,
    Training,
    Training.fit,
    Problem,
    QuantumRidge,
    QuantumRidgeClassifier,
    QuantumSVC,
    ShotKernel,
    with_total_interval,
)
POINTS = np.linspace(0.1, 3.0, 8).reshape(4, 2)
DEFAULTS = {"allocator": DEFAULT_ALLOCATOR, "readout": DEFAULT_READOUT, "C": DEFAULT_C}


@pytest.mark.parametrize("entrance", ENTRANCES, ids=lambda entrance: entrance.__qualname__)
def test_signatures_agree(entrance):
    parameters = signature(entrance).parameters
    expected = DEFAULTS | ({"allocator": None} if entrance in BOTH_DESIGNS else {})
    expected |= {"readout": None} if entrance in FIT_BOTH else {}
    shared = expected.keys() & parameters.keys()
    assert shared
    assert {name: parameters[name].default for name in shared} == {n: expected[n] for n in shared}


def test_no_allocator_is_the_default():
    kernel = np.eye(4)
    y = [0, 1, 0, 1]
    default = make_allocator(DEFAULT_ALLOCATOR)
    assert acquire(MatrixBackend(kernel), y, 60).allocator == default
    assert QuantumRidgeClassifier(budget=60).fit(POINTS, y).session_.allocator == default
    assert QuantumSVC(budget=60).fit(POINTS, y).session_.allocator == default
    kept = ShotKernel(budget=60, test_budget=0, y=y)
    kept.matrix(POINTS)
    assert kept.session_.allocator == default


def test_studies_agree():
    fields = MethodSection.model_fields
    assert fields["allocator"].default == DEFAULT_ALLOCATOR
    assert fields["C"].default == DEFAULT_C
    study = parse_study('[data]\nsource = "moons"\n[budget]\ntrain = "2e4 shots"\n')
    assert readout_of(study) == make_readout(DEFAULT_READOUT)


def test_problems_have_one_ridge():
    assert signature(acquire).parameters["ridge"].default == Problem([0, 1]).ridge
    assert MethodSection.model_fields["ridge"].default == Problem([0, 1]).ridge


@pytest.mark.parametrize("estimator", FIT_BOTH)
def test_a_readout_that_is_not_named_is_the_default_of_pairs(estimator):
    y = np.array([0.0, 1.0, 1.0, 0.0])
    plain, named = (
        estimator(budget=200, readout=readout).fit(POINTS, y) for readout in (None, DEFAULT_READOUT)
    )
    assert plain.head_.regularisation == named.head_.regularisation
    np.testing.assert_array_equal(plain.head_.alpha, named.head_.alpha)
