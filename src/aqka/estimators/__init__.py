"""Estimators in scikit-learn's manner."""

from aqka.estimators.estimators import QuantumRidge, QuantumRidgeClassifier, QuantumSVC

__all__ = ["QuantumRidge", "QuantumRidgeClassifier", "QuantumSVC"]
