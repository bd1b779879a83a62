"""The page of models on measured kernels and features; it needs sQUlearn."""

from importlib.metadata import version

from aqka_research.benchmarks.feature_shrinkage import shrinkage_tables
from aqka_research.benchmarks.squlearn_models import N_NEW, N_TRAIN, sections
from aqka_research.benchmarks.target_coverage import coverage_table, regressions
from aqka_research.figures.page import PageRun


def page(run: PageRun) -> list[str]:
    """Measure, and write the page."""
    agreement, with_shots = sections(run)
    every, gains = shrinkage_tables(run)
    tasks = regressions()
    qubits = [task.features for task in tasks]
    return [
        "# Models on measured kernels and features",
        f"## Beside sQUlearn {version('squlearn')}",
        "Both with the same ridge, σ and C, on exact kernels. Times cover kernel, fit and "
        "prediction on one thread; compare the ratios.",
        agreement,
        f"At equal shots, on development tasks: root mean square error of {N_NEW} new targets "
        f"whose standard deviation is about 1, after training on {N_TRAIN} points. sQUlearn "
        "measures every pair with the shots named; `QuantumRidge` has as many in all, for training "
        "and new points. sQUlearn's α, σ and C are the best of six in hindsight, except where the "
        "default α = 10⁻⁶ is shown; `QuantumRidge` chooses its ridge from the training points. "
        'QKRR and QSVR have the kernel with `regularization="thresholding"`; QGPR also measures '
        "the new points among themselves, which is not counted. The last three columns need no "
        "shots: a classical kernel ridge (RBF), tuned within the training points; the ridge on the "
        "exact kernel; the mean.",
        with_shots,
        "## Intervals of targets",
        "The share of new targets within the 90 % interval of `predict(X, budget=…, "
        "return_std=True)`, with the same shots on every training and every new point, or as many "
        f"in all on pairs: the suite's {len(tasks)} regressions of {min(qubits)} to {max(qubits)} "
        "qubits, ± a standard error over tasks. Bounded targets, such as waves, may be "
        "covered more often than normal ones.",
        coverage_table(run),
        "## Shrinking features",
        "Accuracy of models on measured features, and the change (± a standard error over tasks "
        "and seeds) with `shrink=True`, with the Wiener filter of all features together, and with "
        "a `StandardScaler` after measured or shrunk features. Tasks of 2 to 8 qubits are the "
        "development half's with classes; 30 and 61 qubits are breast cancer and digits with the "
        "ZZ map. The last two columns need no shots: the best classical model on the same columns "
        "([of four](classical.md), or of three, without the Gaussian process, at 30 and 61 qubits; "
        "for each task in hindsight) and the majority class.",
        every,
        "The number of rows above in which one way beats another, or loses to it, by more than two "
        "standard errors of the paired differences, and the mean difference:",
        gains,
    ]
