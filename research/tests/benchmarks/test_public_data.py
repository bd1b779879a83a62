"""Public data of others: they are not part of the project, so most of this runs where they are."""

import os

import numpy as np
import pytest

from aqka.core.tolerance import best_weight, tolerant
from aqka.errors import InputError
from aqka.insight.exact_kernels import linear_share
from aqka_research.benchmarks import public_data, public_pairs
from aqka_research.benchmarks.public_projections import Judge, Projections, weighted

needs_data = pytest.mark.skipif(
    not os.environ.get(public_data.VARIABLE),
    reason=f"{public_data.VARIABLE} names no folder of public data",
)


def test_without_a_folder_the_benchmark_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.delenv(public_data.VARIABLE, raising=False)
    with pytest.raises(InputError, match=public_data.VARIABLE):
        public_data.folder()
    monkeypatch.setenv(public_data.VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match="no folder ibm-60-qubits"):
        public_data.folder()


@needs_data
def test_projections_have_their_inputs_in_them():
    data = Projections.load(public_data.folder() / "ibm-60-qubits")
    assert data.states.expectations.shape == (246, 180)
    assert data.inputs.sum(axis=1).tolist() == [4.0] * 246
    assert linear_share(data.inputs, data.states) == pytest.approx(0.8, abs=0.02)
    judge = Judge(data.y, repeats=1)
    assert judge.shares(judge.predictions(weighted(data.states))).mean() > 0.65


@needs_data
def test_flipped_bits_say_what_all_zeros_do_not():
    flips = public_pairs.load_flips(public_data.folder() / "eon-100-qubits")
    assert flips.shape == (30, 30, 500)
    seen = public_pairs.histograms_of(flips[np.triu_indices(30, 1)][:, :20], public_pairs.QUBITS)
    y = np.repeat(["a", "b", "c"], public_pairs.CLASSES)
    zero, near = (
        public_pairs.left_out_accuracy(public_pairs.square(tolerant(seen, w)[0], 30), y)
        for w in (0.0, best_weight(seen))
    )
    assert near > 0.85 > zero
