"""The kernel from counts of pairs, completed where the allocator left rows to reconstruct."""

from aqka._util.arrays import FloatArray
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks
from aqka.core.problem import Problem
from aqka.maths.spectrum import reconstruct


def estimate_kernel(
    table: PairTable, problem: Problem, landmarks: Landmarks | None = None
) -> FloatArray:
    """Return K-hat as the problem's reading has it, completed by Nyström where landmarks are given.

    It is symmetric but need not be positive semi-definite.
    """
    kernel = problem.reading.kernel(table)
    return kernel if landmarks is None else reconstruct(kernel, landmarks, problem.ridge)
