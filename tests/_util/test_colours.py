"""Colours live in one place, and can be told from what they are drawn on."""

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import aqka
from aqka._util import colours

PAGES = ("LIGHT_PAGE", "DARK_PAGE", "PRINTED_PAGE")


def luminance(colour):
    """Relative luminance as the Web Content Accessibility Guidelines define it."""
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(one, two):
    dark, light = sorted((luminance(one), luminance(two)))
    return (light + 0.05) / (dark + 0.05)


def test_no_other_file_names_a_colour():
    room = Path(aqka.__file__).parent
    number = re.compile(r"#(?:[0-9a-f]{6}|[0-9a-f]{3})\b|\brgb\(\s*\d", re.IGNORECASE)
    files = [file for kind in ("py", "css", "js", "html") for file in room.rglob(f"*.{kind}")]
    assert {file.suffix for file in files} == {".py", ".css", ".js", ".html"}
    found = [file.name for file in files if number.search(file.read_text())]
    assert found == ["colours.py"]


@pytest.mark.parametrize("name", PAGES)
def test_everything_stands_out_from_the_paper(name):
    page = getattr(colours, name)
    for background in ("paper", "panel"):
        assert contrast(page["ink"], page[background]) > 7
        assert contrast(page["soft"], page[background]) > 4.5
    for curve in ("c1", "c2", "c3", "c4"):
        assert contrast(page[curve], page["paper"]) > 3


def test_pages_and_figures_share_the_heat_map():
    scale = mpl.colormaps[colours.HEAT_MAP]
    places = np.linspace(0, 1, len(colours.HEAT_MAP_STOPS))
    assert np.rint(scale(places)[:, :3] * 255).tolist() == [[*s] for s in colours.HEAT_MAP_STOPS]
