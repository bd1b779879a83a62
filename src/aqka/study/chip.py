"""The chip of a study, and the circuit as transpiled for it, before anything is run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka.backends import RuntimeBackend
from aqka.errors import InputError
from aqka.study.backends import ibm_device
from aqka.study.directory import prepare
from aqka.study.schema import BackendSection

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


def chip_of(
    study: Path | None, device: str | None = None, n_qubits: int = 4
) -> "tuple[Any, QuantumCircuit]":
    """Return a device and a transpiled fidelity circuit: of a study, or of the ZZ map.

    The device is made or asked for its calibration; nothing is submitted.
    """
    section, points, circuit = BackendSection(name="ibm", device=device), np.zeros(n_qubits), None
    if study is not None:
        prepared = prepare(study)
        section, circuit = prepared.study.backend, prepared.circuit
        points = prepared.points.train[0]
        if section.name != "ibm":
            raise InputError(
                f"backend.name is {section.name!r}, which has no chip; tiles are for 'ibm', for "
                "example with device = 'fake_fez'."
            )
    chip = ibm_device(section)
    return chip, RuntimeBackend(chip, points[np.newaxis], circuit).circuit
