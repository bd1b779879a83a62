"""Runs against the first of them."""

from dataclasses import replace

import numpy as np
import pytest

from aqka import InputError
from aqka.report.comparison import comparison_sentences
from aqka.report.comparison_page import comparison_page
from aqka.report.write_report import collect


def test_a_comparison_pairs_the_same_points(report, tmp_path):
    found = report.point_results
    other = replace(report, point_results=replace(found, right=~found.right))
    [sentence] = comparison_sentences([report, other])
    each = (~found.right).astype(float) - found.right
    assert f"{each.mean():+.3f} ± {np.std(each) / np.sqrt(6):.3f} point by point" in sentence
    [elsewhere] = comparison_sentences([report, replace(other, data="others")])
    assert "on different test points" in elsewhere
    assert "right on the same points" in comparison_sentences([report, report])[0]
    one = found.right.copy()
    one[0] = ~one[0]
    close = replace(report, point_results=replace(found, right=one))
    assert "cannot be told" in comparison_sentences([report, close])[0]
    page = comparison_page([report, replace(report, settings={"method.allocator": "leverage"})])
    assert "method.allocator" in page
    with pytest.raises(InputError, match="at most 6"):
        collect([tmp_path] * 7)
