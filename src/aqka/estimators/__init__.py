"""Estimators and transformers in scikit-learn's manner."""

from aqka.estimators.kernel import QuantumFeatures, QuantumKernel
from aqka.estimators.models import QuantumRidge, QuantumRidgeClassifier, QuantumSVC

__all__ = [
    "QuantumFeatures",
    "QuantumKernel",
    "QuantumRidge",
    "QuantumRidgeClassifier",
    "QuantumSVC",
]
