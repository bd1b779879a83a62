"""Tiles on fake Herons: how many, how good, what they save, and how true the tiled kernel is."""

from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends import AerBackend, JobShape, RuntimeBackend, StatevectorBackend
from aqka.backends._noisy.models import used_qubits
from aqka.backends._tiles.deal import Deal
from aqka.backends._tiles.places import Place, find_places
from aqka.backends.diagonal import mitigate_depolarising
from aqka.backends.runtime import fake_device
from aqka.backends.tiles import TileRule, Tiling, find_tiles
from aqka_research.figures.page import PageRun
from aqka_research.markdown import table
from aqka_research.sweep.store import Cell, Result, stable_name

DEVICES = ("fake_fez", "fake_marrakesh", "fake_torino")
QUBITS = (2, 4, 6, 8)
LEAST = {"fake_fez": 20, "fake_marrakesh": 20, "fake_torino": 15}  # tiles of 4 qubits
PAIRS, SHOTS = 5000, 100
POINTS, SEED = 24, 0
COPIES = 4  # tiles that a pair's shots come from


def points(n_qubits: int) -> FloatArray:
    """Return points whose kernel is neither flat nor the identity."""
    return np.random.default_rng(SEED).uniform(0, np.pi / 2, (POINTS, n_qubits))


def executions(tiling: Tiling) -> tuple[int, int]:
    """Return the executions of a plan of 5,000 pairs of 100 shots, without and with tiles."""
    shots = np.full(PAIRS, SHOTS)
    plain = sum(len(c.plan_rows) * c.shots for c in JobShape().layout(shots).chunks())
    tiled = sum(
        -(-len(c.plan_rows) // len(tiling)) * c.shots
        for c in JobShape().layout(shots, tiles=len(tiling)).chunks()
    )
    return plain, tiled


def layout_at(place: Place, circuit: Any) -> list[int]:
    """Return the qubits that a transpiled circuit's own qubits stand on at a place."""
    used = used_qubits(circuit)
    stood = circuit.layout.initial_index_layout(filter_ancillas=True)
    return [place.qubits[used.index(qubit)] for qubit in stood]


def kernel_at(place: Place, circuit: Any, device: Any, X: FloatArray) -> FloatArray:
    """Return the exact noisy kernel of one place, transpiled for it by itself."""
    return AerBackend(X, noise=device, initial_layout=layout_at(place, circuit)).kernel()


def error(noisy: FloatArray, exact: FloatArray) -> float:
    """Return the root mean square error of the pairs."""
    above = np.triu_indices(len(exact), 1)
    return float(np.sqrt(np.mean((noisy - exact)[above] ** 2)))


def dealt(values: FloatArray) -> FloatArray:
    """Return what the pairs measure that are dealt to tiles, each to several: tiles by pairs."""
    rows, cols = np.triu_indices(POINTS)
    pairs = np.repeat(np.arange(len(rows)), COPIES)
    tiles = Deal.of(len(values), 0, "benchmark").slots(pairs, 0) % len(values)
    found = np.zeros((POINTS, POINTS))
    np.add.at(found, (rows[pairs], cols[pairs]), values[tiles, rows[pairs], cols[pairs]] / COPIES)
    return found


def survival(kernel: FloatArray, n_qubits: int) -> float:
    """Return the survival probability that a kernel's diagonal shows."""
    floor = 0.5**n_qubits
    return float((np.mean(np.diag(kernel)) - floor) / (1 - floor))


def corrected(kernel: FloatArray, n_qubits: int) -> FloatArray:
    """Return the kernel without the depolarising noise that its own diagonal shows."""
    return mitigate_depolarising(kernel, survival(kernel, n_qubits), n_qubits)


def corrected_by_tile(kernels: FloatArray, n_qubits: int) -> FloatArray:
    """Return the dealt kernel, each pair corrected by the survival of its own tiles."""
    each = np.array([np.full_like(k, survival(k, n_qubits)) for k in kernels])
    mixed = dealt(each)
    mixed[mixed == 0] = 1.0  # below the diagonal, which nobody looks at
    return mitigate_depolarising(dealt(kernels), mixed, n_qubits)


def measure_errors(device: Any, n_qubits: int, tiling: Tiling, circuit: Any) -> tuple[str, ...]:
    """Return a row of the table of errors."""
    X = points(n_qubits)
    exact = StatevectorBackend(X).kernel()
    every = find_places(tiling.shape, tiling.calibration)
    best, median = (kernel_at(every[k], circuit, device, X) for k in (0, len(every) // 2))
    tiles = np.array([kernel_at(place, circuit, device, X) for place in tiling.places])
    kernels = (dealt(tiles), best, median)
    plain = [f"{error(kernel, exact):.4f}" for kernel in kernels]
    better = [corrected_by_tile(tiles, n_qubits)]
    better += [corrected(kernel, n_qubits) for kernel in kernels]
    figures = [f"{error(kernel, exact):.4f}" for kernel in better]
    return (device.name, str(n_qubits), str(len(tiling)), *plain, *figures)


@stable_name("benchmarks.tiles:measure")
def measure(cell: Cell) -> Result:
    """Return a row of each table, for one device and number of qubits."""
    device, n_qubits = fake_device(cell["device"]), cell["qubits"]
    circuit = RuntimeBackend(device, points(n_qubits)).circuit
    tiling = find_tiles(circuit, device)
    plain, tiled = executions(tiling)
    worst = min(place.success for place in tiling.places)
    row = (device.name, str(n_qubits), str(len(tiling)))
    shares = [f"{part / tiling.best:.1%}" for part in (tiling.mean, worst, tiling.median)]
    saved = (f"{plain:,}", f"{tiled:,}", f"{plain / tiled:.1f} ×")
    return {
        "found": (*row, f"{tiling.best:.3f}", *shares, *saved),
        "errors": measure_errors(device, n_qubits, tiling, circuit),
    }


def page(run: PageRun) -> list[str]:
    """Measure, and write the page."""
    devices, qubits = run.pick((DEVICES, QUBITS), (DEVICES, (2,)), (DEVICES[:1], (2,)))
    run.seeds.add(SEED)
    rule = TileRule()
    found = run.cells(measure, [{"device": d, "qubits": n} for d in devices for n in qubits])
    return [
        "# Tiles on fake Herons",
        "Calibrations are those that come with qiskit-ibm-runtime; they have no crosstalk.",
        "## Number, quality and savings",
        f"Neighbours of used qubits stay idle; no tile's success is below {rule.worst:.0%} of the "
        f"best place's, and the mean is at least {rule.mean:.0%} of it. Success is the estimate "
        "for one execution of the fidelity circuit of the ZZ map, and executions are those of "
        f"{PAIRS:,} pairs of {SHOTS} shots.",
        table(
            (
                "device",
                "qubits",
                "tiles",
                "best place",
                "mean of tiles",
                "worst tile",
                "median place",
                "executions",
                "with tiles",
                "times fewer",
            ),
            [one["found"] for one in found],
        ),
        "## How accurate the kernel is",
        "Root mean square error of the exact noisy kernel against the exact one, over all pairs "
        f"of {POINTS} random points, without shot noise; each pair's shots come from {COPIES} "
        "tiles. *Corrected*: by the depolarising rate that the diagonal shows, either pair by pair "
        "with the rates of its own tiles, or with one rate for all.",
        table(
            (
                "device",
                "qubits",
                "tiles",
                "tiled",
                "best place",
                "median place",
                "tiled, corrected by tile",
                "tiled, by one rate",
                "best, corrected",
                "median, corrected",
            ),
            [one["errors"] for one in found],
        ),
    ]
