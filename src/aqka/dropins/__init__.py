"""A :class:`~aqka.QuantumKernel` where Qiskit Machine Learning and PennyLane expect their own."""
