import numpy as np
import pytest
from matplotlib.image import imread
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit_ibm_runtime.fake_provider import FakeFez, FakeMarrakesh, FakeTorino

from aqka import InputError
from aqka.backends._tiles.picture import positions
from aqka.backends.tiles import TileRule, find_tiles
from tests.backends._tiles.chips import grid, line, pairs_circuit
from tests.backends._tiles.test_choice import at_peace


@pytest.mark.parametrize(
    ("make", "qubits", "least"),
    [
        *[(FakeFez, 4, 20), (FakeMarrakesh, 4, 20), (FakeTorino, 4, 15)],
        *[(FakeFez, 2, 35), (FakeFez, 6, 12), (FakeFez, 8, 8)],
    ],
)
def test_real_chips_hold_many_tiles(make, qubits, least):
    device = make()
    tiling = find_tiles(pairs_circuit(qubits, device), device)
    at_peace(tiling.places, tiling.calibration, True)
    assert len(tiling) >= least
    assert tiling.mean >= 0.92 * tiling.best
    assert min(place.success for place in tiling.places) >= 0.8 * tiling.best
    assert tiling.median < tiling.best
    edges = {tuple(sorted(edge)) for edge in device.target["cz"]}
    for place in tiling.places:
        for a, b in zip(place.qubits, place.qubits[1:], strict=False):
            error = device.target["cz"][a, b].error
            assert tuple(sorted((a, b))) in edges
            assert error < 0.2  # no dead coupler


def test_rules():
    chip = grid(5, 5, np.random.default_rng(0))
    circuit = pairs_circuit(2, chip)
    strict = find_tiles(circuit, chip)
    close = find_tiles(circuit, chip, TileRule(idle_neighbours=False))
    lax = find_tiles(circuit, chip, TileRule(worst=0.0, mean=0.0))
    assert len(close) > len(strict)
    at_peace(close.places, close.calibration, False)
    assert len(lax) > len(strict)
    assert lax.mean < strict.mean
    two = find_tiles(circuit, chip, 2)
    assert len(two) == 2
    assert two.mean >= strict.mean
    assert len(find_tiles(circuit, chip, 1)) == 1
    assert find_tiles(circuit, chip, 1).mean == strict.best


@pytest.mark.parametrize(
    ("tiles", "message"),
    [
        ("many", "tiles must be 'auto' or a number, got 'many'"),
        (0, "tiles"),
        (2.5, "tiles"),
        (9, r"tiles = 9 is more than chip has: 2 places"),
    ],
)
def test_bad_numbers(tiles, message):
    chip = line(5)
    with pytest.raises(InputError, match=message):
        find_tiles(pairs_circuit(2, chip), chip, tiles)


@pytest.mark.parametrize("name", ["worst", "mean"])
@pytest.mark.parametrize("share", [-0.1, 1.5, "half", True])
def test_bad_shares(name, share):
    with pytest.raises(InputError, match=f"{name} must be a fraction"):
        TileRule(**{name: share})


def test_without_calibration_or_couplers():
    bare = GenericBackendV2(5, noise_info=False)
    with pytest.raises(InputError, match="no errors of its two-qubit gates"):
        find_tiles(pairs_circuit(2, line(5)), bare, 2)


def test_a_tiling_speaks():
    chip = line(8)
    tiling = find_tiles(pairs_circuit(2, chip), chip)
    words = tiling.describe()
    assert words.startswith(
        "3 tiles of 2 qubits on chip (6 of 8 qubits, with their neighbours idle)"
    )
    for place in tiling.places:
        assert "-".join(map(str, place.qubits)) in words


def test_dropping_tiles():
    chip = line(8)
    tiling = find_tiles(pairs_circuit(2, chip), chip)
    names = [place.name for place in tiling.places]
    assert [p.name for p in tiling.without({names[1]}).places] == [names[0], names[2]]
    with pytest.raises(InputError, match="every tile was dropped"):
        tiling.without(set(names))


def test_a_chip_is_drawn_on_its_lattice_with_its_tiles_in_colour(tmp_path):
    device = FakeTorino()
    tiling = find_tiles(pairs_circuit(6, device), device)
    where = positions(tiling.calibration)
    assert len(np.unique(where, axis=0)) == device.num_qubits
    lengths = [np.abs(where[a] - where[b]).sum() for a, b in tiling.calibration.couplers]
    assert set(lengths) == {1.0}
    tiling.draw(tmp_path / "chip.png")
    picture = imread(tmp_path / "chip.png")[..., :3]
    coloured = (np.ptp(picture, axis=2) > 0.2).mean()
    assert coloured > 0.02
    tiling.without({place.name for place in tiling.places[1:]}).draw(tmp_path / "one.png")
    one = (np.ptp(imread(tmp_path / "one.png")[..., :3], axis=2) > 0.2).mean()
    assert 0 < one < coloured


def test_a_chip_without_rows_is_drawn_too(tmp_path):
    ring = GenericBackendV2(5, coupling_map=[[0, 2], [2, 4], [4, 1], [1, 3], [3, 0]], seed=1)
    tiling = find_tiles(pairs_circuit(2, ring), ring)
    where = positions(tiling.calibration)
    gaps = np.linalg.norm(where[:, None] - where, axis=2) + np.eye(5)
    assert gaps.min() > 0.3
    tiling.draw(tmp_path / "ring.svg")
    assert (tmp_path / "ring.svg").stat().st_size > 1000
