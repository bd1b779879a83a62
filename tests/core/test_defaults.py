"""Wherever one enters the package, what is not named is the same."""

from inspect import signature

import pytest

from aqka import (
    Acquisition,
    Problem,
    QuantumRidge,
    QuantumRidgeClassifier,
    QuantumSVC,
    acquire,
)
from aqka.core.defaults import DEFAULT_ALLOCATOR, DEFAULT_C, DEFAULT_READOUT
from aqka.dropins import ShotKernel
from aqka.insight import with_total_interval
from aqka.readouts import make_readout
from aqka.study.method import readout_of
from aqka.study.schema import MethodSection, parse_study

ENTRANCES = (
    acquire,
    Acquisition,
    Acquisition.fit,
    Problem,
    QuantumRidge,
    QuantumRidgeClassifier,
    QuantumSVC,
    ShotKernel,
    with_total_interval,
)
DEFAULTS = {"allocator": DEFAULT_ALLOCATOR, "readout": DEFAULT_READOUT, "C": DEFAULT_C}


@pytest.mark.parametrize("entrance", ENTRANCES, ids=lambda entrance: entrance.__qualname__)
def test_signatures_agree(entrance):
    parameters = signature(entrance).parameters
    shared = DEFAULTS.keys() & parameters.keys()
    assert shared
    assert {name: parameters[name].default for name in shared} == {n: DEFAULTS[n] for n in shared}


def test_studies_agree():
    fields = MethodSection.model_fields
    assert fields["allocator"].default == DEFAULT_ALLOCATOR
    assert fields["C"].default == DEFAULT_C
    study = parse_study('[data]\nsource = "moons"\n[budget]\ntrain = "2e4 shots"\n')
    assert readout_of(study) == make_readout(DEFAULT_READOUT)


def test_problems_have_one_ridge():
    assert signature(acquire).parameters["ridge"].default == Problem([0, 1]).ridge
    assert MethodSection.model_fields["ridge"].default == Problem([0, 1]).ridge
