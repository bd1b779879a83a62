"""Heads on kernels that are known exactly: predictions for held-out points, and a score inside."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.defaults import DEFAULT_C
from aqka.core.problem import Problem
from aqka.insight.fold_scores import has_classes, score
from aqka.maths.metrics import Fold
from aqka.maths.spectrum import Spectrum
from aqka.readouts import labels_of, make_readout
from aqka.readouts.ridge_loo import RIDGE_GRID, loo_residuals


@dataclass(frozen=True, eq=False)
class KernelHead:
    """Predicts from kernels: ridge regression tuned by leave-one-out, or an SVM.

    Attributes
    ----------
    y
        Classes or real targets of all points.
    svm
        Whether it is an SVM, which needs classes.
    C
        Of the SVM.
    """

    y: NDArray[Any]
    svm: bool = False
    C: float = DEFAULT_C

    def predict(
        self, kernel: FloatArray, fold: Fold, rows: FloatArray | None = None
    ) -> NDArray[Any]:
        """Return predictions for the held-out points; ``rows`` are theirs if not the kernel's."""
        train, centre = self._problem(fold.kept)
        inner = kernel[np.ix_(fold.kept, fold.kept)]
        block = (kernel if rows is None else rows)[np.ix_(fold.held, fold.kept)]
        fitted = make_readout("svm" if self.svm else "ridge-loo").fit_kernel(inner, train)
        return self._answers(fitted.decision_function(block), train, centre)

    def judge(self, kernel: FloatArray, points: IntArray) -> float:
        """Return the score of the ridge head by leave-one-out among some points.

        It has not seen any other, so that it may choose between kernels for them.
        """
        problem, centre = self._problem(points)
        spectrum, ridges = Spectrum.of(kernel[np.ix_(points, points)]), np.asarray(RIDGE_GRID)
        residuals = [loo_residuals(spectrum, output, ridges) for output in problem.outputs.T]
        best = int(np.argmin(sum(np.sum(found**2, axis=0) for found in residuals)))
        left_out = problem.outputs - np.stack([found[:, best] for found in residuals], axis=1)
        answers = self._answers(left_out.reshape(problem.y.shape), problem, centre)
        return score(self.y[points], answers, self._classes)[0]

    def choose(self, kernels: list[FloatArray], fold: Fold) -> NDArray[Any]:
        """Return predictions by the kernel that is best among the training points."""
        best = max(kernels, key=lambda kernel: self.judge(kernel, fold.kept))
        return self.predict(best, fold)

    @property
    def _classes(self) -> bool:
        return has_classes(self.y)

    def _problem(self, points: IntArray) -> tuple[Problem, float]:
        targets = self.y[points]
        if self._classes:
            return Problem(targets, C=self.C), 0.0
        centre = float(targets.mean())  # a ridge head has no intercept
        return Problem(targets - centre, C=self.C), centre

    def _answers(self, values: FloatArray, problem: Problem, centre: float) -> NDArray[Any]:
        return labels_of(values, problem.classes) if self._classes else values + centre
