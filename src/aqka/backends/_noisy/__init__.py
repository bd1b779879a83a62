"""Exact noisy kernels in the Pauli basis."""
