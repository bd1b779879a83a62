"""A kernel of random states, and what global depolarising noise makes of it."""

import numpy as np

QUBITS = 3
FLOOR = 1 / 8


def true_kernel(n=8, seed=0):
    states = np.random.default_rng(seed).normal(size=(n, 2**QUBITS))
    states /= np.linalg.norm(states, axis=1, keepdims=True)
    return np.clip((states @ states.T) ** 2, 0, 1)


def depolarised(kernel, survival):
    p = np.sqrt(np.outer(survival, survival))
    return p * kernel + (1 - p) * FLOOR
