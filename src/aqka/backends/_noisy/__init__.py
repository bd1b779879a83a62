"""Noise: of a device on the qubits in use, and exact noisy kernels in the Pauli basis."""
