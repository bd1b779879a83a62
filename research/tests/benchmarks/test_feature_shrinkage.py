"""Ways to treat features, compared row by row."""

from aqka_research.benchmarks import feature_shrinkage
from aqka_research.figures.page import PageRun


def test_better_and_worse_rows_are_counted_from_paired_differences(tmp_path, monkeypatch):
    def known(cell):
        logistic = [0.8, 0.8, 0.9, 0.7, 0.8 + 0.01 * (-1) ** cell["seed"]]
        return {"logistic": logistic, "SVM": [0.8] * 5}

    run = PageRun(tmp_path / "models.md", tmp_path, "tiny", 1)
    monkeypatch.setattr(PageRun, "cells", lambda self, function, cells: [known(c) for c in cells])
    monkeypatch.setattr(feature_shrinkage, "_free", lambda *_: ["0.900", "0.600"])
    every, compared = feature_shrinkage.shrinkage_tables(run)
    assert every.count("| 0.900 | 0.600 |") == 4
    assert "| Wiener, beside shrink=True | 2 to 8 qubits | 2 of 4 | 0 of 4 | +0.050 |" in compared
    assert "beside as measured | 2 to 8 qubits | 0 of 4 | 2 of 4 | -0.050 |" in compared
    assert "StandardScaler, beside shrink=True | 2 to 8 qubits | 0 of 4 | 0 of 4 |" in compared


def test_data_of_many_columns_have_classical_models_beside_them(tmp_path):
    run = PageRun(tmp_path / "models.md", tmp_path, "tiny", 1)
    best, majority = map(float, feature_shrinkage._free(run, ["breast cancer"], range(1)))
    assert 0.5 <= majority < best
