"""Runs each page's examples in an empty directory, and checks its figures against docs/figures."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

FIGURES = Path(__file__).parent / "figures"
TOLERANCE = 12.0  # root mean square of grey levels; another data set or layout is far above


@pytest.fixture(autouse=True)
def page_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the page a directory of its own; afterwards compare, or keep, what it has drawn."""
    monkeypatch.chdir(tmp_path)
    yield
    for drawn in sorted(tmp_path.glob("*.png")):
        if "AQKA_DRAW" in os.environ:
            shutil.copy(drawn, FIGURES / drawn.name)
        else:
            check_figure(drawn, FIGURES / drawn.name)


def check_figure(drawn: Path, kept: Path) -> None:
    """Assert that a drawn figure is the kept one, but for what versions of fonts and BLAS do."""
    from matplotlib.testing.compare import compare_images

    remedy = "If the new one is right: AQKA_DRAW=1 pytest docs, look at it, and commit it."
    assert kept.exists(), f"docs/figures/{kept.name} is missing. {remedy}"
    difference = compare_images(str(kept), str(drawn), tol=TOLERANCE)
    assert difference is None, f"the page draws another docs/figures/{kept.name}. {remedy}"
