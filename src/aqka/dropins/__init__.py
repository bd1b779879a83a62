"""Kernels that stand where Qiskit Machine Learning and PennyLane expect one of their own."""

from aqka.dropins.shot_kernel import ShotKernel

__all__ = ["ShotKernel"]
