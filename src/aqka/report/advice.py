"""What to do after a run; shots are never advised for a kernel that cannot learn."""

from aqka.insight.hindsight import FewerShots
from aqka.report.exact_kernel import ExactKernel
from aqka.report.run_report import RunReport
from aqka.report.verdict import best_plain, can_learn, decide, exact_text, rival_of

SURE = 2.0  # standard errors beyond which a difference is believed
SMALL_GAIN = 0.03  # of accuracy, that is not worth twice the shots
MANY_OPEN = 0.1  # share of test points that are not settled, above which it is worth telling
TRY_OTHERS = "aqka check tries other maps, ranges and numbers of components without a shot"


def advice(report: RunReport) -> list[str]:
    """Return what to do next, in sentences."""
    if report.state != "finished":
        return [_unfinished(report), *_cannot_learn(report)]
    cannot = _cannot_learn(report)
    if cannot:
        return cannot
    plain = _take_the_plain_model(report)
    return plain or [*_more_shots(report), *_other_allocator(report)]


def _unfinished(report: RunReport) -> str:
    left = report.budget - report.table.total
    what = f"{left:,} shots are left" if left else "the test points are to be predicted"
    how = "aqka resume goes on with it."
    if not report.study_text:
        how = "It was begun from Python: call acquire() again with the same arguments."
    return f"The run is not finished ({report.state}): {what}. {how}"


def _cannot_learn(report: RunReport) -> list[str]:
    """Return why no shot is advised, of a kernel that is not known to learn."""
    learns, exact = can_learn(report), report.exact
    if learns is False and isinstance(exact, ExactKernel):
        return [
            "No more shots: even if known exactly, this kernel is not clearly better than guessing "
            f"({exact_text(exact)}). Change the feature map or its range first: {TRY_OTHERS}."
        ]
    if learns is None and decide(report).outcome == "guessing":
        return [
            "No more shots yet: the run is not shown to be better than guessing, and whether its "
            f"kernel can learn is not known here ({exact}). Try it on fewer qubits first: "
            f"{TRY_OTHERS}."
        ]
    return []


def _take_the_plain_model(report: RunReport) -> list[str]:
    """Return what to take instead, where a plain model beats even the exact kernel."""
    plain, exact = best_plain(report), rival_of(report, "exact")
    if plain is None or exact is None or decide(report).outcome != "plain":
        return []
    if exact.score >= plain.score:
        return []
    return [
        f"Take {plain.name} for these data: it has {plain.score:.3f}, and shots could bring this "
        f"kernel to that of the exact one at best, {exact.score:.3f}. To go on with a quantum "
        f"kernel change the feature map first: {TRY_OTHERS}."
    ]


def _more_shots(report: RunReport) -> list[str]:
    found, sentences = report.point_results, []
    half = next((part for part in report.fewer if part.fraction == 0.5), None)
    if half is not None:
        sentences.append(_on_more_shots(half, report.table.n_points))
    exact = rival_of(report, "exact")
    if exact is not None:
        sentences.append(
            f"The most that shots can reach is about the exact kernel's {exact.score:.3f} on these "
            "test points."
        )
    still_open = 0 if found is None else int((~found.settled).sum())
    if found is not None and still_open > MANY_OPEN * len(found.truth):
        sentences.append(
            f"{still_open} test points are not settled: a larger budget.test_shots would settle "
            "more of them."
        )
    return sentences


def _on_more_shots(half: FewerShots, n_points: int) -> str:
    change = f"{half.gain:+.3f} ± {half.gain_error:.3f}"
    if half.gain > SURE * half.gain_error:
        return (
            f"More shots: by cross-validation the second half of the shots still brought {change} "
            "of accuracy, so another doubling is likely to bring some."
        )
    if half.gain + SURE * half.gain_error < SMALL_GAIN:
        return (
            f"Not more shots: the second half of them changed accuracy by {change} "
            "(cross-validated). Another feature map, more training points or another readout are "
            "the likelier ways to gain."
        )
    return (
        f"Whether more shots would help cannot be told from {n_points} points: the second half of "
        f"them changed accuracy by {change} (cross-validated)."
    )


def _other_allocator(report: RunReport) -> list[str]:
    steered = report.steering
    if steered is not None and steered.sure and steered.ratio > 1:
        return ["For the same budget, try the allocator uniform."]
    return []
