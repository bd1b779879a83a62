"""Optional parts: importing one, which are installed, and the command that brings the others."""

import platform
from importlib import import_module, metadata
from typing import Any

from aqka.errors import InputError

EXTRAS = {
    "plot": ("pictures", ("matplotlib",)),
    "parquet": ("Parquet files", ("pyarrow",)),
    "cluster": ("sweeps on a Dask cluster", ("distributed",)),
    "serve": ("a live page about the runs of a folder", ("starlette", "uvicorn")),
    "qiskit": ("any Qiskit circuit, any Qiskit sampler", ("qiskit",)),
    "qasm": ("feature maps as OpenQASM 3 files", ("qiskit", "qiskit-qasm3-import")),
    "aer": ("noisy simulation", ("qiskit", "qiskit-aer")),
    "ibm": ("IBM hardware and fake devices", ("qiskit", "qiskit-ibm-runtime", "qiskit-aer")),
    "qiskit-ml": ("a kernel for Qiskit Machine Learning", ("qiskit", "qiskit-machine-learning")),
    "squlearn": ("a kernel for sQUlearn", ("qiskit", "squlearn")),
    "pennylane": ("PennyLane circuits and devices", ("pennylane", "pennylane-lightning")),
}
"""What each extra is for, and its packages; those for developers are left out."""


def require(module: str, extra: str) -> Any:
    """Import an optional module, or say which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(
            f"{module} is needed here and is not installed: pip install 'aqka[{extra}]'."
        ) from error


def platform_facts() -> dict[str, str]:
    """Return the versions that matter in a report of a problem."""
    packages = ("aqka", "numpy", "scipy", "scikit-learn", "pydantic")
    return {"python": platform.python_version()} | {
        name: _version(name) or "?" for name in packages
    }


def examine() -> list[dict[str, Any]]:
    """Return every optional part, the versions of its packages and what installs the others."""
    found = []
    for name, (purpose, packages) in EXTRAS.items():
        there = {package: version for package in packages if (version := _version(package))}
        missing = [package for package in packages if package not in there]
        command = f"pip install 'aqka[{name}]'" if missing else ""
        one = {"name": name, "purpose": purpose, "installed": there, "missing": missing}
        found.append(one | {"command": command})
    return found


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
