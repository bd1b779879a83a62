"""A feature map of our own, as circuit, file and study."""

import io

from qiskit import QuantumCircuit, qpy
from qiskit.circuit import ParameterVector

from tests.study.helpers import small, write_study

MAP = '[feature_map]\nmap = "{}"\n'


def encoder():
    x = ParameterVector("x", 2)
    circuit = QuantumCircuit(2)
    for k in range(2):
        circuit.ry(x[k], k)
    circuit.cx(0, 1)
    circuit.rz(2 * x[0] * x[1], 1)
    return circuit


def with_map(directory, name, **settings):
    text = small(backend="statevector", **settings)
    text = text.replace("[feature_map]\nqubits = 2\n", MAP.format(name))
    return write_study(directory, text)


def qpy_bytes(circuit, **options):
    stream = io.BytesIO()
    qpy.dump(circuit, stream, **options)
    return stream.getvalue()
