"""Counts of known states, drawn from the probabilities that Qiskit has for them."""

import numpy as np
from qiskit import QuantumCircuit
from qiskit.quantum_info import Operator

from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable


def basis_change(letters):
    """Qiskit's circuit before a measurement in a Pauli setting, as a matrix."""
    circuit = QuantumCircuit(len(letters))
    for qubit, letter in enumerate(letters):
        if letter == 1:
            circuit.sdg(qubit)
        if letter in (0, 1):
            circuit.h(qubit)
    return Operator(circuit).data


def probabilities(states, settings, depolarised=0.0):
    """Probabilities of all outcomes, points × settings × outcomes."""
    turned = np.stack([states @ basis_change(letters).T for letters in settings], axis=1)
    p = np.abs(turned) ** 2
    p /= p.sum(axis=2, keepdims=True)
    return (1 - depolarised) * p + depolarised / p.shape[2]


def measured(states, settings, shots, seed, depolarised=0.0):
    """A table of ``shots`` shots for each state, spread over the settings."""
    p = probabilities(states, settings, depolarised)
    plan = even_plan(np.arange(len(states)), settings, shots)
    table = PointTable(len(states), settings)
    counts = np.random.default_rng(seed).multinomial(plan.shots, p[plan.points, plan.settings])
    table.add(plan, OutcomeCounts.of_dense(counts))
    return table
