"""The nouns: plans, tables of counts, priors, how counts are read, the problem."""

from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks, ShotPlan
from aqka.core.problem import Problem
from aqka.core.reading import FAIR, PAPER, Reading

__all__ = ["FAIR", "PAPER", "Landmarks", "PairTable", "Problem", "Reading", "ShotPlan"]
