"""The rivals of a study's run: its exact kernel, and plain models on the user's own columns."""

from typing import Any

from numpy.typing import NDArray

from aqka.insight.exact_kernels import FeatureMap
from aqka.report.exact_kernel import ExactKernel, exact_kernel
from aqka.report.point_results import PointResults
from aqka.report.rivals import Rival, plain_predictions, rivals
from aqka.study.study_run import StudyRun


def exact_kernel_of(run: StudyRun, feature_map: "FeatureMap | None") -> ExactKernel | str:
    """Return the kernel of a run without noise, or why it is not known."""
    if feature_map is None:
        return "its feature map cannot be read here"
    points, method = run.points, run.study.method
    return exact_kernel(
        feature_map,
        points.train,
        points.test,
        points.train_labels,
        svm=method.readout == "svm",
        C=method.C,
        repetitions=run.study.feature_map.reps,
    )


def rivals_of(run: StudyRun, found: PointResults, exact: ExactKernel | str) -> list[Rival]:
    """Return other models on the test points; plain ones see the user's own columns."""
    points, (plain, n_plain) = run.points, plain_predictions_of(run)
    return rivals(found.right, found.guess_right, points.test_labels, exact, plain, n_plain)


def plain_predictions_of(run: StudyRun) -> tuple[dict[str, NDArray[Any]], int]:
    """Return what plain models predict for a run's test points, and how many points taught them."""
    points, origin = run.points, run.points.origin
    train, test = points.train, points.test
    if origin is not None and origin.train_columns is not None and origin.test_columns is not None:
        train, test = origin.train_columns, origin.test_columns
    return plain_predictions(train, test, points.train_labels)
