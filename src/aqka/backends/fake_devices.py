"""IBM's fake devices: chips as they were calibrated once, simulated in this process."""

from typing import Any

from aqka._util.optional import require
from aqka._util.text import did_you_mean, inert
from aqka.errors import InputError


def fake_device(name: str, argument: str = "device") -> Any:
    """Return IBM's fake device of a name such as ``fake_fez``; ``argument`` is who named it."""
    provider = require("qiskit_ibm_runtime.fake_provider", "ibm")
    known: dict[str, Any] = {}
    for device in vars(provider).values():
        label = getattr(device, "backend_name", None)
        if isinstance(device, type) and isinstance(label, str):
            known[label] = device
    if name not in known:
        raise InputError(
            f"{argument} must be one of IBM's fake ones, such as 'fake_fez': {inert(name)!r} is no "
            f"fake device.{did_you_mean(name, known)}"
        )
    return known[name]()
