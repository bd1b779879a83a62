import pytest

from aqka.errors import InputError
from aqka_research.reproduce.reproduction import set_up
from aqka_research.spending import all_rows
from aqka_research.tasks import planted_sparse


def test_protocols_differ_and_unknown_ones_are_refused(tmp_path):
    task = planted_sparse(40, 30, 4, seed=2)
    paper, fair = (all_rows(task, ["aqka"], [2000], p, seed=0)[0] for p in ("paper", "fair"))
    assert fair["mse"] < paper["mse"]  # the fixed ridge of 0.01 ignores the shot noise
    with pytest.raises(InputError, match="protocol must be"):
        set_up("synthetic", tmp_path, protocol="practical")
    with pytest.raises(InputError, match="Did you mean 'synthetic'"):
        set_up("sinthetic", tmp_path)
