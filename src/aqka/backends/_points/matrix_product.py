"""Counts of points of many qubits, drawn by Aer's matrix-product states.

Time and memory grow with the number of qubits and with the entanglement between neighbours (the
bond dimension), not with 2^n: fifty qubits in a line with a layer or two of neighbouring gates are
easy, a deep circuit of twenty is not.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.optional import require
from aqka.backends._points.circuit import point_circuit, setting_angles
from aqka.backends._points.draw import as_numbers, count_bits
from aqka.backends.circuits import as_data
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import PointPlan
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

MAX_BOND = 256
"""Where a state needs a larger bond dimension, drawing is cut off there and no longer exact."""


def draw_by_matrix_product(
    feature_map: "QuantumCircuit", X: ArrayLike, plan: PointPlan, random: Generator
) -> OutcomeCounts:
    """Return outcomes of every row of a plan, without noise.

    Parameters
    ----------
    feature_map
        The circuit; its parameters, by name, are the columns of ``X``.
    X
        Data, one row per point.
    plan
        Points, settings and shots.
    random
        All that is random comes from it.
    """
    data = as_data(X)
    if feature_map.num_qubits != plan.n_qubits or feature_map.num_parameters != data.shape[1]:
        raise InputError(
            f"feature_map must have the {plan.n_qubits} qubits of the plan and a parameter for "
            f"each of {data.shape[1]} columns of X, got {feature_map.num_qubits} qubits and "
            f"{feature_map.num_parameters} parameters."
        )
    asked = point_circuit(feature_map)
    circuit, parameters = _transpiled(asked), list(asked.parameters)
    columns = [parameters.index(parameter) for parameter in circuit.parameters]
    letters = plan.letters[plan.settings]
    values = np.hstack([data[plan.points], setting_angles(letters)])[:, columns]
    rows, outcomes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for shots in np.unique(plan.shots[plan.shots > 0]):  # one run for all rows of equal shots
        which = np.flatnonzero(plan.shots == shots)
        seen = _run(circuit, values[which], int(shots), int(random.integers(2**62)))
        rows.append(np.repeat(which, shots))
        outcomes.append(seen.reshape(-1))
    return count_bits(np.concatenate(rows), np.concatenate(outcomes))


def _transpiled(circuit: "QuantumCircuit") -> "QuantumCircuit":
    qiskit, aer = require("qiskit", "qiskit"), require("qiskit_aer", "aer")
    simulator = aer.AerSimulator(method="matrix_product_state")
    sent: QuantumCircuit = qiskit.transpile(
        circuit, simulator, optimization_level=1, seed_transpiler=0
    )
    sent.global_phase = 0  # it means nothing to outcomes
    return sent


def _run(circuit: "QuantumCircuit", values: FloatArray, shots: int, seed: int) -> IntArray:
    """Return the outcomes of each row's shots as numbers."""
    primitives = require("qiskit_aer.primitives", "aer")
    options = {
        "method": "matrix_product_state",
        "matrix_product_state_max_bond_dimension": MAX_BOND,
        "max_parallel_threads": 1,  # beside other work more of them wait for each other
    }
    sampler = primitives.SamplerV2(seed=seed, options={"backend_options": options})
    result = sampler.run([(circuit, values)], shots=shots).result()[0]
    return as_numbers(result.data.meas.array)
