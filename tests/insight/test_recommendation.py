"""Which sentence which scores lead to."""

from dataclasses import fields

import numpy as np
import pytest

from aqka.insight.fold_scores import FoldScores
from aqka.insight.recommendation import Preflight, recommend, settings_text
from aqka.insight.scan import Candidate, Scan

WOBBLE = 0.01 * np.array([1, -1] * 5)[:, None]


def model(name, mean, wobble=1.0):
    return FoldScores(name, mean + wobble * WOBBLE, n_folds=5)


def evidence(own=0.9, best=0.9, plain=0.9, forecast=None, guess=0.5, changes=None, nested=None):
    tried = [{}, changes or {}, *[{"map": "other"}] * 18]
    candidates = [Candidate(settings, np.zeros((1, 1)), "z") for settings in tried]
    # The user's own settings win where nothing is to be changed.
    means = [own, own + bool(changes), *[0.0] * 18]
    scores = [model("settings", mean) for mean in means]
    found = dict.fromkeys(field.name for field in fields(Preflight))
    return Preflight(
        **found
        | {
            "metrics": ("balanced accuracy", "accuracy"),
            "own": model("exact kernel", own),
            "winner": model("best settings, exact", best),
            "plain": [model("RBF SVM", plain, wobble=-1.0), model("logistic regression", 0.5)],
            "guessing": model("majority class", guess, wobble=0.0),
            "scan": Scan(
                candidates, scores, model("best settings, nested", nested or best, wobble=2.0)
            ),
            "forecast": None if forecast is None else model("at this budget", forecast),
            "training": (),
        }
    )


@pytest.mark.parametrize(
    ("found", "decision", "words"),
    [
        (evidence(own=0.9, plain=0.8), "buy", "clearly better than any plain model's (RBF SVM"),
        (evidence(own=0.9, plain=0.9), "buy", "only to study this kernel"),
        (evidence(own=0.9, plain=0.98), "don't", "RBF SVM has a balanced accuracy of 0.98"),
        (evidence(own=0.5, best=0.505, plain=0.5), "don't", "look at the data first"),
        (evidence(own=0.5, best=0.505, plain=0.9), "don't", "RBF SVM has 0.90"),
        (
            evidence(own=0.7, best=0.9, plain=0.9, changes={"range": [0.0, 1.5]}),
            "change",
            "Change this first: range = [0.0, 1.5]; the balanced accuracy is then 0.90",
        ),
        (evidence(own=0.7, best=0.9, plain=0.98, changes={"map": "z"}), "don't", "0.98"),
        (evidence(own=0.5, best=0.7, plain=0.6, changes={"map": "z"}), "change", 'map = "z"'),
        (
            evidence(own=0.7, best=0.9, nested=0.68, plain=0.9, changes={"map": "z"}),
            "don't",
            "no others of 20 settings are better with these shots",
        ),
        (
            evidence(own=0.9, best=0.95, nested=0.89, plain=0.8, changes={"map": "z"}),
            "buy",
            "clearly better than any plain",
        ),
        (evidence(own=0.9, plain=0.8, forecast=0.7), "change", "raise the budget"),
        (evidence(own=0.54, plain=0.5, forecast=0.5), "change", "raise the budget"),
        (evidence(own=0.9, plain=0.8, forecast=0.88), "buy", "with these shots 0.88"),
    ],
)
def test_the_first_rule_that_holds_decides(found, decision, words):
    advice = recommend(found)
    assert advice.decision == decision
    assert words in advice.sentence
    assert advice.sentence.count(". ") == 0  # one sentence


def test_a_difference_within_its_error_decides_nothing():
    noisy = evidence(own=0.9, plain=0.9)
    noisy.plain[0].values[:] = 0.95 + 0.1 * np.array([1, -1] * 5)[:, None]
    assert recommend(noisy).decision == "buy"


def test_settings_are_shown_as_a_study_file_has_them():
    settings = {"map": "z", "range": [0.0, 1.5]}
    assert settings_text(settings) == 'map = "z", range = [0.0, 1.5]'
