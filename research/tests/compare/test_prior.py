"""Predictions without shots: what is answered, what it costs, and the page."""

from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

from aqka_research.commands.compare import app
from aqka_research.compare.prior import compare_priors, measure, prior_tasks
from aqka_research.compare.prior_findings import (
    AIMS,
    ALONE,
    COMBINED,
    METHODS,
    PLAIN,
    PriorFindings,
)
from aqka_research.compare.prior_page import dearer, prior_blocks, verdicts
from aqka_research.suite import HALVES, SUITE
from aqka_research.suite_quantum import CANDIDATES
from aqka_research.sweep.cells import run_cells

NATURAL = "iris, RY-CZ 2 qubits, 60 points, half width, 50% positive"
LABELLED = next(t.name for t in CANDIDATES.values() if t.qubits == 3 and t.points == 60)
LEVELS = [16, 128]


@pytest.fixture(scope="module")
def found():
    groups = {"natural": [NATURAL], "quantum-labelled": [LABELLED]}
    return compare_priors(groups, 2, levels=LEVELS, cells_of=partial(run_cells, workers=1))


def test_the_tasks_are_those_of_the_half_and_enough_of_them():
    for half in HALVES:
        groups = prior_tasks(half)
        assert {name: len(names) >= 6 for name, names in groups.items()} == dict.fromkeys(
            ("natural", "quantum-labelled"), True
        )
        for name in groups["natural"]:
            assert SUITE[name].half == half
        assert all(CANDIDATES[name].half == half for name in groups["quantum-labelled"])
        noisy = prior_tasks(half, "fake_fez")
        assert all(CANDIDATES[name].qubits <= 3 for name in noisy["quantum-labelled"])


def test_cells_follow_from_their_seed_and_count_what_they_say(found):
    assert measure({"task": NATURAL, "seed": 1, "levels": LEVELS}) == found.by_task[NATURAL][1]
    for result in found.by_task[NATURAL]:
        for row in result["levels"]:
            assert 0 <= row["wrong"] <= row["free"] <= result["test points"]
            assert all(0 <= f["covered"] <= 1 for f in row["f"].values())
    easy = found.settled("natural")[0]
    assert easy.share > 0.7  # a smooth map on data that are easy to tell apart
    assert easy.wrong_share < 0.1


def made(plain, both, free):
    """One task of 10 training and 20 test points, with given agreement at two levels."""

    def row(shots, a, b, f):
        agreement = dict.fromkeys(METHODS, b) | {PLAIN: a}
        scores = {m: {"agreement": v, "accuracy": v} for m, v in agreement.items()}
        return {"shots": shots, "free": f, "wrong": 0, "not exact": 0, **scores}

    control = {"exact": 0.95, "accuracy": {"GP": 0.9, "majority class": 0.5}}
    control["agreement"] = {"GP": 0.92, "SVM": 0.9, "majority class": 0.5}
    levels = [row(*one) for one in zip((16, 64), plain, both, free, strict=True)]
    result = {"points": 10, "test points": 20, "control": control, "levels": levels}
    return PriorFindings({"quantum-labelled": ["task"]}, {"task": [result, result]})


def test_total_shots_count_training_open_points_and_the_audit():
    findings = made([0.5, 0.9], [0.5, 0.9], [10, 10])
    saving = findings.savings("quantum-labelled", AIMS[0], 1000)[0]
    assert saving.shots[PLAIN] == pytest.approx(64 * 1010)
    # Half of 1,000 points are answered, and 25 of the answers measured all the same.
    assert saving.shots[COMBINED] == pytest.approx(64 * (10 + 500 + 25))
    assert saving.ratio(COMBINED) == pytest.approx(1010 / 535)
    few = findings.savings("quantum-labelled", AIMS[0], 100)[0]
    assert few.shots[COMBINED] == pytest.approx(64 * (10 + 50 + 10))
    assert not saving.unreached
    assert saving.shots[ALONE] == pytest.approx(64 * 10)  # no shot on any new point


def test_aims_that_are_not_reached_cost_the_most_that_was_tried():
    findings = made([0.5, 0.8], [0.5, 0.9], [0, 0])
    saving = findings.savings("quantum-labelled", AIMS[0], 100)[0]
    assert saving.unreached == {PLAIN}
    assert saving.shots[PLAIN] == pytest.approx(64 * 110)
    # Accuracy within a point of the exact kernel's 95 %.
    accuracy = made([0.5, 0.94], [0.94, 0.94], [0, 0]).savings("quantum-labelled", AIMS[2], 100)[0]
    assert accuracy.ratio(COMBINED) == pytest.approx(4)
    assert findings.control_reaches("task", AIMS[0])
    assert not findings.control_reaches("task", AIMS[2])


def test_a_saving_that_is_no_lower_bound_does_not_reach_its_target():
    neither = made([0.5, 0.8], [0.5, 0.8], [19, 19])
    text, reached = verdicts(neither)[0]
    assert "need ~ " in text
    assert neither.savings("quantum-labelled", AIMS[0], 1000)[0].ratio(COMBINED) > 2
    assert not reached


def test_a_prior_that_costs_is_seen():
    assert not dearer(made([0.5, 0.9], [0.5, 0.9], [10, 10]))
    assert dearer(made([0.9, 0.9], [0.5, 0.9], [0, 0]))


def test_the_page_says_what_holds(found):
    text = "\n\n".join(prior_blocks(found, "confirmation"))
    for verdict, reached in verdicts(found):
        assert f"- {verdict}: {'reached' if reached else '**not reached**'}." in text
    assert "- At 1,000 new points, natural tasks need " in text
    assert NATURAL in text
    assert LABELLED in text
    # What is written of the default is what the library does by default.
    assert "targets are reached; by default every point is measured unless a prior is named" in text
    assert "| classical agrees | majority agrees | accuracy: classical / majority / exact |" in text


def test_on_a_device_endless_shots_are_very_many():
    cell = {"task": NATURAL, "seed": 0, "levels": [128], "device": "fake_fez"}
    row = measure(cell)["levels"][0]
    assert row[PLAIN]["agreement"] > 0.7
    assert row["free"] > 20
    assert np.isfinite(row["f"][COMBINED]["error"])


def test_two_comparisons_at_once_are_refused():
    done = CliRunner().invoke(app, ["--total", "--prior"])
    assert done.exit_code == 2
    assert "leave one out" in done.output
