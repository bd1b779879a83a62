"""Estimators and transformers in scikit-learn's manner."""

from aqka.estimators.kernel import QuantumFeatures, QuantumKernel
from aqka.estimators.ridge import QuantumRidge, QuantumRidgeClassifier
from aqka.estimators.svc import QuantumSVC

__all__ = [
    "QuantumFeatures",
    "QuantumKernel",
    "QuantumRidge",
    "QuantumRidgeClassifier",
    "QuantumSVC",
]
