"""Runs each page's examples in an empty directory, and checks its figures against docs/figures."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from scipy.ndimage import gaussian_filter

FIGURES = Path(__file__).parent / "figures"
WORDS = "Description"  # a field that PNG files have for text
SMOOTHED = 32  # pixels
LEAST_LIKENESS = (
    0.62  # other draws of the same data: 0.69 or more (378 pairs); other data: 0.58 or less
)


@pytest.fixture(autouse=True)
def page_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the page a directory of its own; afterwards compare, or keep, what it has drawn."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Figure, "savefig", _save_with_words)
    yield
    for drawn in sorted(tmp_path.glob("*.png")):
        if "AQKA_DRAW" in os.environ:
            shutil.copy(drawn, FIGURES / drawn.name)
        else:
            check_figure(drawn, FIGURES / drawn.name)


_save = Figure.savefig


def _save_with_words(figure: Figure, target: str, **options: Any) -> None:
    """Save a figure, and in the file what it says and where its axes are."""
    figure.canvas.draw()
    texts = sorted(text.get_text() for text in figure.findobj(Text) if text.get_visible())
    places = [axes.get_position().bounds for axes in figure.findobj(Axes)]
    words = {"texts": [text for text in texts if text], "axes": np.round(places, 2).tolist()}
    _save(figure, target, metadata={WORDS: json.dumps(words)}, **options)


def check_figure(drawn: Path, kept: Path) -> None:
    """Assert that a drawn figure is the kept one, but for the noise in its data.

    Simulated hits depend on digests of real numbers, whose last bits differ between processors:
    another machine draws other hits from the same seed. So size, words and layout must be the
    same, and what is inside the axes alike when it is looked at from afar.
    """
    remedy = "If the new one is right: make pictures, look at it, and commit it."
    other = f"the page draws another docs/figures/{kept.name}"
    assert kept.exists(), f"docs/figures/{kept.name} is missing. {remedy}"
    (picture, words), (kept_picture, kept_words) = read_figure(drawn), read_figure(kept)
    assert words == kept_words, f"{other}: its words or its layout differ. {remedy}"
    assert picture.shape == kept_picture.shape, f"{other}: its size differs. {remedy}"
    for place in words["axes"]:
        alike = likeness(_inside(picture, place), _inside(kept_picture, place))
        assert alike > LEAST_LIKENESS, f"{other}: its data differ ({alike:.2f}). {remedy}"


def likeness(one: np.ndarray, other: np.ndarray) -> float:
    """Return how alike two pictures are from afar: 1 if equal, about 0 if unrelated.

    It is the smallest correlation among brightness and two differences of colours, so that curves
    which have changed places are noticed.
    """
    alike = [1.0]
    for weights in ([1, 1, 1], [1, -1, 0], [0, 1, -1]):
        a, b = (gaussian_filter(picture @ weights, SMOOTHED) for picture in (one, other))
        a, b = a - a.mean(), b - b.mean()
        scale = np.sum(a**2) + np.sum(b**2)
        if scale > 1e-6 * a.size:  # else there is no such colour
            alike.append(2 * np.sum(a * b) / scale)
    return float(min(alike))


def write_figure(picture: np.ndarray, words: dict[str, Any], target: Path) -> None:
    """Write a picture with values from 0 to 1 and what it says."""
    info = PngInfo()
    info.add_text(WORDS, json.dumps(words))
    Image.fromarray((255 * picture).round().astype(np.uint8)).save(target, pnginfo=info)


def read_figure(figure: Path) -> tuple[np.ndarray, dict[str, Any]]:
    """Read a picture, with values from 0 to 1, and what it says."""
    with Image.open(figure) as picture:
        words: dict[str, Any] = json.loads(picture.text.get(WORDS, "{}"))
        return np.asarray(picture.convert("RGB"), dtype=float) / 255, words


def _inside(picture: np.ndarray, place: list[float]) -> np.ndarray:
    """Cut out the axes at a place, which is given in shares of the figure from its lower left."""
    height, width = picture.shape[:2]
    left, bottom, across, up = place
    top, bottom = round((1 - bottom - up) * height), round((1 - bottom) * height)
    return picture[top:bottom, round(left * width) : round((left + across) * width)]
