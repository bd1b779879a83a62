"""What the page's script gets to paint."""

import base64
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from aqka.core.pairs import PairTable
from aqka.core.plans import ShotPlan
from aqka.core.tolerance import Tolerance
from aqka.report import measured as module
from aqka.report.measured import heat_maps

TYPES = {"u1": "<u1", "u2": "<u2", "f4": "<f4", "f8": "<f8"}


def unpack(packed):
    return np.frombuffer(base64.b64decode(packed["base64"]), TYPES[packed["type"]])


def lower_triangle(matrix):
    return matrix[np.tril_indices(len(matrix))]


def test_every_pair_is_there_sorted_by_class(report):
    table, data = report.table, heat_maps(report)[1]
    order = np.argsort(np.array(report.labels), kind="stable")
    assert data["order"] == order.tolist()
    assert data["labels"] == sorted(report.labels)
    for name, counts in (("shots", table.shots), ("hits", table.hits)):
        matrix = table.square(counts.astype(float), known_diagonal=0.0)[np.ix_(order, order)]
        assert unpack(data[name]).tolist() == lower_triangle(matrix).tolist()
    largest = unpack(data["sensitivity"]).max()
    assert largest == 1


@pytest.mark.parametrize(("most", "kind"), [(255, "u1"), (256, "u2"), (65_536, "f8")])
def test_counts_take_the_smallest_type_that_holds_them(report, most, kind):
    table = deepcopy(report.table)
    table.shots[0] = most
    measured = replace(report.measured, table=table, shots=table.shots)
    packed = heat_maps(replace(report, measured=measured))[1]["shots"]
    assert packed["type"] == kind
    assert unpack(packed).max() == most


def test_shares_of_hits_are_not_rounded(report):
    table = PairTable(report.table.n_points, bits=2)
    flips = np.tile([1, 0, 2], (table.n_pairs, 1))
    table.add(ShotPlan(*table.pairs(), flips.sum(axis=1), bits=2), flips)
    table.tolerance, table.hits = Tolerance(2, 0.5, 0.3), flips @ [1, 0.5, 0.25]
    measured = replace(report.measured, table=table, shots=table.shots)
    data = heat_maps(replace(report, measured=measured))[1]
    assert unpack(data["hits"]).max() == 1.5
    assert data["spread"] == 0.3
    assert heat_maps(report)[1]["spread"] == 1


def test_without_sensitivities_there_is_no_map_of_them(report):
    assert list(heat_maps(report)[0]) == ["shots", "kernel", "sensitivity"]
    for nothing in (None, np.zeros_like(report.measured.sensitivity)):
        measured = replace(report.measured, sensitivity=nothing)
        panels, data = heat_maps(replace(report, measured=measured))
        assert list(panels) == ["shots", "kernel"]
        assert "sensitivity" not in data


def test_many_points_are_summed_in_blocks(report, monkeypatch):
    monkeypatch.setattr(module, "MAX_CELLS_ACROSS", 5)
    data = heat_maps(report)[1]
    assert data["step"] == 3  # 12 points in 4 blocks
    shots = unpack(data["shots"])
    assert shots.size == 10
    diagonal = shots[[0, 2, 5, 9]].sum()  # a block on the diagonal holds each of its pairs twice
    assert diagonal + 2 * (shots.sum() - diagonal) == 2 * report.table.total
