"""Noisy kernels beside Qiskit Machine Learning's kernel on Aer, in one run."""

from collections.abc import Callable

import numpy as np
from qiskit_aer.primitives import SamplerV2
from qiskit_machine_learning.kernels import FidelityQuantumKernel
from qiskit_machine_learning.state_fidelities import ComputeUncompute
from threadpoolctl import threadpool_limits

from aqka._util.arrays import FloatArray
from aqka.backends.aer import AerBackend, depolarising_noise
from aqka.backends.feature_maps import built_in_map
from aqka.core import ShotPlan
from aqka_research.benchmarks.bars import Bar, faster, fastest
from aqka_research.figures.page import PageRun

POINTS, QUBITS, SHOTS = 100, 4, 100
REPEATS = 2  # the reference takes a minute


def data(n_points: int, n_qubits: int) -> FloatArray:
    """Return points as angles, one qubit a feature."""
    return np.random.default_rng(0).uniform(0, 2 * np.pi, (n_points, n_qubits))


def every_pair(n_points: int) -> ShotPlan:
    """Return the plan of the same shots for every pair, the diagonal included."""
    rows, cols = np.triu_indices(n_points)
    return ShotPlan(rows, cols, np.full(len(rows), SHOTS))


def reference(X: FloatArray) -> Callable[[], object]:
    """Return FidelityQuantumKernel's work with the same noise, method and single thread."""
    sampler = SamplerV2(
        default_shots=SHOTS,
        seed=1,
        options={
            "backend_options": {
                "noise_model": depolarising_noise(),
                "method": "density_matrix",
                "max_parallel_threads": 1,
            }
        },
    )
    # Its circuits hold the map as one block, which Aer does not know.
    kernel = FidelityQuantumKernel(
        feature_map=built_in_map("zz", QUBITS).decompose(),
        fidelity=ComputeUncompute(sampler=sampler),
        evaluate_duplicates="all",
        enforce_psd=False,
    )
    return lambda: kernel.evaluate(X)


def run(backend: AerBackend, plan: ShotPlan) -> None:
    """Run all shots of a plan."""
    backend.collect(backend.submit(plan, "benchmark"))


def measure(run: PageRun) -> list[Bar]:
    """Measure everything."""
    if run.size == "tiny":
        return []
    with threadpool_limits(1):
        return _measure(run.pick(POINTS, 8, 8))


def _measure(n_points: int) -> list[Bar]:
    X, plan, noise = data(n_points, QUBITS), every_pair(n_points), depolarising_noise()
    AerBackend(X[:2], noise=noise).kernel()  # imports and first calls are not the subject
    ready = iter([AerBackend(X, noise=noise) for _ in range(REPEATS)])  # each keeps its kernel
    other, whole, compiled = fastest(
        [
            reference(X),
            lambda: run(AerBackend(X, noise=noise), plan),
            lambda: run(next(ready), plan),
        ],
        REPEATS,
    )
    large = data(30, 8)
    (eight,) = fastest([lambda: run(AerBackend(large, noise=noise), every_pair(30))], repeats=3)
    what = f"{n_points} points, {QUBITS} qubits, 1 %/4 % depolarising, {SHOTS} shots a pair"
    beside = f"FidelityQuantumKernel on Aer, which takes {other:.3g} s"
    return [
        Bar(
            f"{what}: exact noisy kernel, transpiling included",
            f"{whole * 1e3:.0f} ms, {faster(other / whole)} than {beside}",
            "≥ 1,000 ×",
            other / whole >= 1000,
        ),
        Bar(
            f"{what}: exact noisy kernel, circuit transpiled and compiled beforehand",
            f"{compiled * 1e3:.0f} ms, {faster(other / compiled)}",
            "≥ 1,000 ×",
            other / compiled >= 1000,
        ),
        Bar(
            "30 points, 8 qubits: exact noisy kernel, transpiling included",
            f"{eight:.2f} s",
            "≤ 2 s",
            eight <= 2,
        ),
    ]
