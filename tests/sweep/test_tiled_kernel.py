import numpy as np
import pytest

from aqka.backends import StatevectorBackend
from aqka.backends.statevector import zz_kernel, zz_states
from aqka.errors import InputError
from aqka.sweep.tiled_kernel import tiled_kernel


@pytest.fixture
def points() -> np.ndarray:
    return np.random.default_rng(5).uniform(0, np.pi, (103, 3))


@pytest.mark.parametrize(("tile", "workers"), [(1000, 1), (25, 1), (40, 2)])
def test_tiles_make_the_direct_kernel(tmp_path, points, tile, workers):
    tiled = tiled_kernel(zz_states(points), tmp_path / "k.npy", tile=tile, workers=workers)
    np.testing.assert_allclose(tiled, zz_kernel(points), atol=1e-13)
    np.testing.assert_array_equal(tiled, tiled.T)
    np.testing.assert_array_equal(np.diagonal(tiled), 1.0)
    np.testing.assert_array_equal(np.load(tmp_path / "k.npy"), tiled)


def test_any_feature_map(tmp_path, points):
    from qiskit.circuit.library import pauli_feature_map

    backend = StatevectorBackend(points, pauli_feature_map(3, reps=1, paulis=["Y", "ZZ"]))
    tiled = tiled_kernel(backend.states(), tmp_path / "k.npy", tile=30, workers=1)
    np.testing.assert_allclose(tiled, backend.kernel(), atol=1e-13)


def test_single_precision_is_that_close(tmp_path, points):
    tiled = tiled_kernel(zz_states(points), tmp_path / "k.npy", tile=50, workers=1, dtype="float32")
    assert tiled.dtype == np.float32
    np.testing.assert_allclose(tiled, zz_kernel(points), atol=1e-7)


def test_a_stopped_kernel_goes_on_with_the_missing_tiles(tmp_path, points):
    states, path = zz_states(points), tmp_path / "k.npy"
    seen = []

    def stop(done: int, total: int) -> None:
        seen.append(done)
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tiled_kernel(states, path, tile=25, workers=1, on_tile=stop)
    lines = path.with_suffix(".tiles.jsonl").read_text().splitlines()
    assert len(lines) == 4
    tiled = tiled_kernel(states, path, tile=25, workers=1, on_tile=lambda *_: None)
    assert len(path.with_suffix(".tiles.jsonl").read_text().splitlines()) == 15
    np.testing.assert_allclose(tiled, zz_kernel(points), atol=1e-13)


def test_a_deleted_kernel_is_computed_again(tmp_path, points):
    path = tmp_path / "k.npy"
    first = np.array(tiled_kernel(zz_states(points), path, workers=1))
    path.unlink()
    np.testing.assert_array_equal(tiled_kernel(zz_states(points), path, workers=1), first)


def test_what_cannot_work_is_refused(tmp_path, points):
    states, path = zz_states(points), tmp_path / "k.npy"
    tiled_kernel(states, path, workers=1)
    with pytest.raises(InputError, match="something else"):
        tiled_kernel(states[::-1], path, workers=1)
    with pytest.raises(InputError, match="dtype float64"):
        tiled_kernel(states, path, workers=1, dtype="float32")
    with pytest.raises(InputError, match=r"end in \.npy"):
        tiled_kernel(states, tmp_path / "k.csv", workers=1)
    with pytest.raises(InputError, match="StatevectorBackend"):
        tiled_kernel(points, tmp_path / "other.npy", workers=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="dtype must be"):
        tiled_kernel(states, tmp_path / "other.npy", dtype="float16")  # type: ignore[arg-type]
