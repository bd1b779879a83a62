"""Estimators in scikit-learn's manner."""

from aqka.estimators.ridge import QuantumRidge, QuantumRidgeClassifier
from aqka.estimators.svc import QuantumSVC

__all__ = ["QuantumRidge", "QuantumRidgeClassifier", "QuantumSVC"]
