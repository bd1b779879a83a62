"""The chip of a study, and the circuit as transpiled for it, before anything is run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka.backends import RuntimeBackend
from aqka.backends.tiles import find_tiles
from aqka.errors import InputError
from aqka.study.backend_section import BackendSection
from aqka.study.backends import ibm_device
from aqka.study.directory import Prepared, prepare

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


def chip_of(
    study: Path | None, device: str | None = None, n_qubits: int = 4
) -> "tuple[Any, QuantumCircuit]":
    """Return a device and a transpiled fidelity circuit: of a study, or of the ZZ map.

    The device is made or asked for its calibration; nothing is submitted.
    """
    if study is not None:
        return _chip(prepare(study))
    chip = ibm_device(BackendSection(name="ibm", device=device))
    return chip, RuntimeBackend(chip, np.zeros((1, n_qubits))).circuit


def _chip(prepared: Prepared) -> "tuple[Any, QuantumCircuit]":
    section = prepared.study.backend
    if section.name != "ibm":
        raise InputError(
            f"backend.name is {section.name!r}, which has no chip; tiles are for 'ibm', for "
            "example with device = 'fake_fez'."
        )
    chip = ibm_device(section)
    return chip, RuntimeBackend(chip, prepared.points.train[:1], prepared.circuit).circuit


def count_tiles(prepared: Prepared) -> int:
    """Return how many tiles a study runs on; where it says ``auto`` the device is asked."""
    wanted = prepared.study.backend.tiles
    if wanted != "auto":
        return wanted
    chip, circuit = _chip(prepared)
    return len(find_tiles(circuit, chip))
