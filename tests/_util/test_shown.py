"""Objects that describe themselves: short, escaped, with a picture that is the numbers."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from aqka import MatrixBackend, Problem, acquire, predict, quote
from aqka._util.colours import HEAT_MAP_STOPS
from aqka._util.shown import Shown, heat_map_png
from aqka.core import PairTable
from aqka.planning import Wish
from aqka.sessions import Predicting, Training
from tests.conftest import make_kernel


class Hostile(Shown):
    def _figures(self):
        return {"<b>name</b>": "<script>alert(1)</script>\n" + "x" * 200, "shots": 1234567}


@pytest.fixture(scope="module")
def objects():
    kernel, y = make_kernel(8), np.array(["<i>a</i>", "b"] * 4)
    session = acquire(MatrixBackend(kernel), y, 800, "aqka")
    head = session.fit()
    test = MatrixBackend(kernel[:3], rectangular=True)
    found = predict(head, test, 3000)
    points = Training(Problem([0, 1]), 12, design="points", n_qubits=1)
    return {
        "session": session,
        "prediction session": Predicting(head, 3, 100),
        "prediction": found,
        "table": session.table,
        "block": found.table,
        "quote": quote(150, "$20", rate=96, queue=5, wish=Wish(design="pairs")),
        "session of points": points,
        "table of points": points.table,
    }


def test_they_are_short_and_say_what_they_hold(objects):
    texts = {name: repr(one) for name, one in objects.items()}
    for text in texts.values():
        assert len(text) < 200
        assert "\n" not in text
        assert "array" not in text
    assert texts["session"].startswith("<Training: points 8, pairs 28, shots 800 of 800")
    assert "shots 0 of 100" in texts["prediction session"]
    assert "classes <i>a</i>, b" in texts["prediction"]
    assert "pairs 28, shots 800" in texts["table"]
    assert "points 2, settings 3, qubits 1, shots 0" in texts["table of points"]
    assert texts["session of points"].startswith("<Training: points 2, settings")
    assert "settings 3" in texts["session of points"]
    assert re.search(r"<Quote: points 150, shots [\d,]+, .*cost 20\.00 USD>", texts["quote"])


def test_a_notebook_gets_a_table_in_which_every_text_is_text(objects):
    for one in objects.values():
        page = one._repr_html_()
        assert page.count("<table>") == page.count("</table>") == 1
        assert "<i>" not in page
    page = Hostile()._repr_html_()
    assert "<script" not in page
    assert "&lt;b&gt;name&lt;/b&gt;" in page
    assert "1,234,567" in page
    assert len(page) < 600


def picture_in(page):
    data = re.search(r"data:image/png;base64,([^']+)", page)[1]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))


def test_the_picture_is_the_kernel(objects):
    session = objects["session"]
    kernel = session.problem.reading.kernel(session.table)
    pixels = picture_in(session._repr_html_()).astype(float)
    stops = np.array(HEAT_MAP_STOPS, dtype=float)
    places = np.linspace(0, 1, len(stops))
    expected = np.stack([np.interp(kernel, places, stops[:, c]) for c in range(3)], axis=2)
    assert np.abs(pixels - expected).max() <= 0.5
    assert "<img" in objects["session"]._repr_html_()
    assert "<img" not in objects["quote"]._repr_html_()


def test_a_large_matrix_is_a_small_picture_and_bad_numbers_are_drawn():
    numbers = np.full((1000, 30), np.nan)
    numbers[0, 0] = 7.0
    picture = Image.open(io.BytesIO(heat_map_png(numbers)))
    assert picture.size == (30, 250)
    assert picture.getpixel((0, 0)) == HEAT_MAP_STOPS[-1]
    assert picture.getpixel((1, 1)) == HEAT_MAP_STOPS[0]


def test_nothing_is_measured_yet_and_it_is_shown():
    assert "unseen 3" in repr(PairTable(3))
    assert "rounds 0 of" in Training(Problem([0, 1, 0]), 30)._repr_html_().replace("</th><td>", " ")
