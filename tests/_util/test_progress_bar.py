"""Progress where somebody watches: a terminal, a notebook, a log."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from aqka import (
    MatrixBackend,
    QuantumRidge,
    QuantumRidgeClassifier,
    QuantumSVC,
    acquire,
    predict,
    show_progress,
)
from aqka._util.progress_bar import in_notebook, progress_bar
from tests.conftest import make_kernel, make_labels

X = np.random.default_rng(0).uniform(0, 3, (8, 2))
Y = np.arange(8) % 2


def test_a_log_gets_a_line_a_round(capsys):
    session = acquire(MatrixBackend(make_kernel(8)), make_labels(8), 1000, "aqka", verbose=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == session.round > 1
    assert lines[0].endswith("of 1,000 shots, 1 round")
    assert lines[-1] == f"1,000 of 1,000 shots, {session.round} rounds"


def test_nobody_is_told_who_did_not_ask(capsys):
    session = acquire(MatrixBackend(make_kernel(8)), make_labels(8), 1000)
    predict(session.fit(), MatrixBackend(make_kernel(8)[:2], rectangular=True), 100)
    with progress_bar("pieces", 3) as bar:
        bar.advance()
        bar.describe("others")
    assert capsys.readouterr() == ("", "")
    assert bar.words == "1 of 3 others"


@pytest.mark.parametrize("kind", [QuantumRidgeClassifier, QuantumSVC, QuantumRidge])
def test_a_fit_shows_its_rounds_and_calls_back(kind, capsys):
    seen = []
    targets = Y if kind is not QuantumRidge else X[:, 0]
    model = kind(budget=600)
    with show_progress():
        model.fit(X, targets, on_round=lambda session: seen.append(session.shots_spent))
    assert seen[-1] == 600
    assert seen == sorted(set(seen))
    assert len(capsys.readouterr().err.splitlines()) == len(seen)
    with show_progress():
        model.predict(X[:2], budget=100)
    assert "of 100 shots" in capsys.readouterr().err
    model.predict(X[:2], budget=100)
    assert capsys.readouterr().err == ""


def test_a_fitted_estimator_does_not_keep_the_callback():
    import pickle

    model = QuantumRidgeClassifier(budget=600).fit(X, Y, on_round=lambda session: None)
    assert pickle.loads(pickle.dumps(model)).shots_used_ == 600


def test_a_terminal_gets_one_line_that_is_redrawn(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("shots", 10) as bar:
        bar.describe("settings")
        bar.reach(7)
    text = capsys.readouterr().err
    assert "7/10" in text
    assert "settings" in text


def test_a_notebook_gets_one_output_that_is_redrawn(monkeypatch):
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html)

    def display(html, display_id):
        shown.append(html)
        return Handle()

    shell = SimpleNamespace(kernel=object())
    fake = SimpleNamespace(get_ipython=lambda: shell, __spec__=None)
    assert not in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", fake)
    jupyter = SimpleNamespace(display=display, HTML=str, __spec__=None)
    monkeypatch.setitem(sys.modules, "IPython.display", jupyter)
    assert in_notebook()
    with progress_bar("<shots>", 1000) as bar:
        bar.reach(500)
    assert len(shown) == 2
    assert "value='500' max='1000'" in shown[1]
    assert "500 of 1,000 &lt;shots&gt;" in shown[1]
