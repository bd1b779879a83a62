"""Reports with the evidence that a test needs."""

from dataclasses import replace

from aqka.maths.metrics import PairedShares
from aqka.report.tested import Rival
from aqka.study.results import ExactKernel


def exact_kernel(score):
    """An exact kernel with a score among the training points; guessing has 0.5."""
    return ExactKernel("", None, 60, score > 0.6, f"accuracy {score} by cross-validation")


def rival(name, kind, score, ours_alone, alone, trials=1, learnt=True):
    """A rival that is right on ``alone`` points where the run is not, and the other way round."""
    against = PairedShares(40, ours_alone, alone)
    ends = score - 0.1, score + 0.1
    detail = f"{alone} : {ours_alone}"
    return Rival(name, kind, score, ends, against, 60, learnt, trials, detail)


def with_evidence(report, *, guess=(12, 0), plain=(3, 4), exact=(1, 1), kernel=0.9):
    """The report with rivals given by (the run alone is right, the rival alone is)."""
    rivals = [
        rival("exact kernel", "exact", 0.85, *exact, learnt=kernel > 0.6),
        rival("RBF SVM", "plain", 0.9, *plain, trials=3),
        rival("majority class", "guessing", 0.5, *guess, learnt=False),
    ]
    return replace(report, exact=exact_kernel(kernel), rivals=rivals)
