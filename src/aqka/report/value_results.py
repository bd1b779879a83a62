"""The test points of a regression, from its counts: values, intervals, and how good they are."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.text import inert
from aqka.insight.intervals import with_total_interval
from aqka.report.chart import Chart, Scale
from aqka.report.point_results import REDRAWN_TRAININGS
from aqka.report.run_rivals import plain_predictions_of
from aqka.report.value_rivals import ValueRival, rival_words, value_rivals
from aqka.report.verdict import Verdict
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.value_prediction import ValuePrediction
from aqka.study.method import readout_of
from aqka.study.results import ValueScores
from aqka.study.study_run import StudyRun

SURE = 2.0  # standard errors beyond which a gain is believed
MOST_DRAWN = 300
WORST_POINTS = 10
HEADER = ("point", "target", "predicted", "90 %, test shots", "90 %, training shots too", "shots")


@dataclass(frozen=True, eq=False)
class ValueResults:
    """Test points of a regression in their order, in the units of the target.

    Attributes
    ----------
    ids, truth, value
        What the points are called, their targets, and what was predicted.
    low, high
        90 % interval of the value from the test shots, the head taken as given.
    total_low, total_high
        Interval that counts the training shots too; None where it is not known.
    shots
        Shots spent on each point.
    scores
        How good the values are.
    rivals
        Other models on the same points.
    """

    ids: list[str]
    truth: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    total_low: FloatArray | None
    total_high: FloatArray | None
    shots: IntArray
    scores: ValueScores
    rivals: list[ValueRival]


def value_results(run: StudyRun, *, total: bool) -> ValueResults | None:
    """Return the test points of a regression; None of classes, and before they are predicted.

    ``total`` asks for the intervals that count the training shots too.
    """
    found, points = run.values, run.points
    if found is None:
        return None
    if total and isinstance(found, ValuePrediction):  # of points it is not known
        readout = readout_of(run.study)
        assert isinstance(run.session, Acquisition)
        found = with_total_interval(found, run.session, readout, repetitions=REDRAWN_TRAININGS)
    mean = float(points.train_labels.mean())
    plain, n_plain = plain_predictions_of(run)
    names = points.origin.test_ids if points.origin is not None else map(str, range(len(found.f)))
    return ValueResults(
        ids=[inert(name) for name in names],
        truth=points.test_labels,
        value=found.f,
        low=found.low,
        high=found.high,
        total_low=found.total_low,
        total_high=found.total_high,
        shots=found.shots,
        scores=ValueScores.of(points.test_labels, found.f, mean),
        rivals=value_rivals(
            points.test_labels, found.f, plain, n_plain, mean, len(points.train_labels)
        ),
    )


def decide_values(found: ValueResults) -> Verdict:
    """Return what became of a regression: better than the training points' mean, or not."""
    scores = found.scores
    text = (
        f"root mean square error {scores.rmse:.4g} ± {scores.rmse_error:.2g} on "
        f"{len(found.truth)} test points (R² {scores.r2:.2f}), the training points' mean "
        f"{scores.mean_rmse:.4g}."
    )
    if scores.gain > SURE * scores.gain_error:
        return Verdict("learnt", "Learnt", text)
    return Verdict("guessing", "Not shown to be better than guessing", text)


def value_words(found: ValueResults) -> str:
    """Return how accurate a regression is, in words."""
    inside = float(np.mean((found.low <= found.truth) & (found.truth <= found.high)))
    reason = decide_values(found).reason
    return (
        f"{reason[0].upper()}{reason[1:]} Half of the errors are below "
        f"{np.median(np.abs(found.value - found.truth)):.4g}. {inside:.0%} of the targets lie "
        "within their point's interval, which is for what endless test shots would give and not "
        f"for the target.{rival_words(found.rivals)}"
    )


def value_tiles(found: ValueResults) -> list[tuple[str, str]]:
    """Return the large figures of a regression."""
    scores = found.scores
    return [
        (f"{scores.rmse:.4g}", f"root mean square error, ± {scores.rmse_error:.2g}"),
        (f"{scores.mean_rmse:.4g}", "that of the training points' mean"),
        (f"{scores.r2:.3f}", "R²"),
    ]


def values_chart(found: ValueResults) -> Chart:
    """Draw predicted values against the targets, with their intervals."""
    order = np.argsort(found.truth, kind="stable")
    drawn = order[np.unique(np.linspace(0, len(order) - 1, MOST_DRAWN).astype(int))]
    ends = [*found.truth, *found.low[drawn], *found.high[drawn]]
    scale = Scale.around([float(v) for v in ends])
    chart = Chart(
        "Predicted values",
        "Predicted values against targets",
        scale,
        scale,
        "target",
        "predicted",
        note="On the line a prediction is its target.",
    )
    line = [scale.low, scale.high]
    chart.add_line(line, line, "c4 dashed")
    chart.add_key("c4 dashed", "predicted = target")
    chart.add_key("c5", "90 %, test shots")
    for k in drawn:
        x, y = float(found.truth[k]), float(found.value[k])
        chart.add_interval(x, float(found.low[k]), float(found.high[k]), "c5")
        chart.add_dot(x, y, "c2", f"{found.ids[k]}: {y:.4g}, target {x:.4g}", 2.6)
    return chart


def worst_points(found: ValueResults) -> list[tuple[str, ...]]:
    """Return the points farthest from their targets, as rows of a table."""
    worst = np.argsort(-np.abs(found.value - found.truth), kind="stable")[:WORST_POINTS]
    return [
        (
            found.ids[k],
            f"{found.truth[k]:.4g}",
            f"{found.value[k]:.4g}",
            f"{found.low[k]:.4g} to {found.high[k]:.4g}",
            "–"
            if found.total_low is None or found.total_high is None
            else f"{found.total_low[k]:.4g} to {found.total_high[k]:.4g}",
            f"{found.shots[k]:,}",
        )
        for k in worst
    ]
