"""Sizes of a split: refused exactly where scikit-learn would, in words of the study file."""

from itertools import product

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from aqka.errors import InputError
from aqka.study.points import check_split_sizes, split_points
from aqka.study.schema import SplitSection
from aqka.study.tables import DataTable
from tests.cli.in_process import call
from tests.study.helpers import small, write_study

SIZES = (2, 3, 5, 10, 17, 20, 30, 0.01, 0.1, 0.34, 0.5, 0.9, 0.99)


def refuses(action):
    try:
        action()
    except (InputError, ValueError):
        return True
    return False


@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_refuses_what_scikit_learn_cannot_split(n_classes):
    y = np.arange(20) % n_classes
    table = DataTable(np.zeros((20, 1)), y, ["x"])
    refused = 0
    for train, test in product((None, *SIZES), SIZES):
        split = SplitSection(train=train, test=test)
        ours = refuses(lambda split=split: check_split_sizes(split, 20, n_classes))
        options = {"train_size": train, "test_size": test, "stratify": y, "random_state": 0}
        theirs = refuses(lambda options=options: train_test_split(np.arange(20), **options))
        assert ours == theirs, split
        refused += ours
        if not ours:
            parts = split_points(table, split)
            expected = train_test_split(np.arange(20), **options)
            assert [sorted(p) for p in parts] == [sorted(p) for p in expected]
    assert 0 < refused < len(SIZES) * (len(SIZES) + 1)


def test_a_study_that_asks_for_too_many_points_is_told_in_its_own_words(
    tmp_path, monkeypatch, capsys
):
    path = write_study(tmp_path, small().replace("train = 12", "train = 600"))
    code, _, err = call(monkeypatch, capsys, "run", path)
    assert code == 2
    assert "the data have 200 points, but split.train is 600, split.test 6" in err
    assert "train_size" not in err
    with pytest.raises(InputError, match=r"split\.test leaves 2 points for 3 classes"):
        check_split_sizes(SplitSection(test=2), 20, 3)
