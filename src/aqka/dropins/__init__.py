"""A :class:`~aqka.QuantumKernel` where Qiskit Machine Learning and sQUlearn expect their own."""
