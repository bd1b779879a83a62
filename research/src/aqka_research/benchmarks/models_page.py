"""The page of models on measured kernels and features; it needs sQUlearn."""

from importlib.metadata import version

from aqka_research.benchmarks.feature_shrinkage import shrinkage_table
from aqka_research.benchmarks.squlearn_models import N_NEW, N_TRAIN, sections
from aqka_research.benchmarks.target_coverage import coverage_table
from aqka_research.figures.page import PageRun


def page(run: PageRun) -> list[str]:
    """Measure, and write the page."""
    agreement, with_shots = sections(run)
    return [
        "# Models on measured kernels and features",
        f"## Beside sQUlearn {version('squlearn')}",
        "The same models on exact kernels, with ridge, σ and C fixed alike. Times are those of "
        "kernel, fit and prediction on one thread; read the ratios.",
        agreement,
        f"At equal shots: root mean square error of {N_NEW} new targets whose deviation is about "
        f"1, after training on {N_TRAIN} points. sQUlearn measures every pair with the shots "
        "named; `QuantumRidge` has as many in all, for training and new points. sQUlearn's α, σ "
        "and C are the best in hindsight of six, but for the default α = 10⁻⁶; `QuantumRidge` "
        "chooses its ridge by the training points. QKRR and QSVR have the kernel with "
        '`regularization="thresholding"`; QGPR also measures the new points among themselves, '
        "which is not counted.",
        with_shots,
        "## Intervals of targets",
        "The share of new targets within the 90 % interval of `predict(X, budget=…, "
        "return_std=True)`, with the same shots on every training and every new point, or as many "
        "in all on pairs: the suite's 15 regressions of 2 to 8 qubits. No choice about the "
        "intervals was made on any of them. Targets that are bounded, such as waves, are covered "
        "more often than a normal law would.",
        coverage_table(run),
        "## Shrinking features",
        "Accuracy of models on measured features, and what changes with them (± a standard error "
        "over tasks): `shrink=True`, the Wiener filter of all features together, a "
        "`StandardScaler` behind features as measured or shrunk. Tasks of 2 to 8 qubits are the "
        "development half's with classes; 30 and 61 qubits are breast cancer and digits with the "
        "ZZ map.",
        shrinkage_table(run),
        "The Wiener filter is nowhere ahead of `shrink=True` by more than its error, and behind it "
        "where qubits are few, so `QuantumFeatures` does not offer it. A `StandardScaler` costs "
        "accuracy on many qubits, shrunk or not.",
    ]
