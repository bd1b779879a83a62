"""BackendFactory: a backend for each data set, with options that stay the same."""

import sys
from inspect import signature
from typing import Any

from aqka.backends.aer import AerBackend, depolarising_noise
from aqka.backends.base import Backend
from aqka.backends.many_qubits import LightConeBackend
from aqka.backends.pennylane import PennylaneBackend
from aqka.backends.runtime import RuntimeBackend
from aqka.backends.statevector import StatevectorBackend
from aqka.errors import InputError

STATEVECTOR = "statevector"
_CLASSES: dict[str, Any] = {
    STATEVECTOR: StatevectorBackend,
    "light-cone": LightConeBackend,
    "aer": AerBackend,
    "pennylane": PennylaneBackend,
}
NAMES = tuple(_CLASSES)  # backends that need no options, so that their name is enough


class BackendFactory:
    """Makes a backend for each data set an estimator meets, with options that stay the same.

    Copies of it are itself: cloning an estimator copies no device and opens no second session.

    Parameters
    ----------
    backend_class : type or callable
        A backend that takes ``X``, ``feature_map``, ``columns`` and ``seed``.
    **options : Any
        Whatever else it takes, such as a device or a noise model.

    Examples
    --------
    >>> from aqka import StatevectorBackend
    >>> factory = BackendFactory(StatevectorBackend)
    >>> factory([[0.1], [0.2]], None, columns=None, seed=0).shape
    (2, 2)
    """

    def __init__(self, backend_class: Any, **options: Any) -> None:
        if not callable(backend_class):
            raise InputError(
                f"backend_class must be a backend's class, got {type(backend_class).__name__}."
            )
        taken = sorted({"X", "columns", "seed", "design"} & set(options))
        if taken:
            raise InputError(f"options must not hold {', '.join(taken)}: the estimator sets them.")
        self.backend_class = backend_class
        self.options = options

    def __call__(
        self, X: Any, feature_map: Any, *, columns: Any, seed: int, design: str = "pairs"
    ) -> Backend:
        """Make the backend of X by itself or by ``columns``, for a ``design`` if it takes one."""
        given = {"feature_map": feature_map} | self.options
        if "design" in signature(self.backend_class).parameters:
            given["design"] = design
        made: Backend = self.backend_class(X=X, columns=columns, seed=seed, **given)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> "BackendFactory":
        """Return itself: a device or session must not be copied."""
        return self

    def __repr__(self) -> str:
        names = "".join(f", {name}=…" for name in self.options)
        return f"BackendFactory({getattr(self.backend_class, '__name__', '?')}{names})"


def as_factory(backend: Any) -> BackendFactory | None:
    """Return the factory that an estimator's ``backend`` names; None if it is not one.

    A factory, one of ``NAMES`` (``"aer"`` is without noise), or a Qiskit device, fake or real.
    """
    if isinstance(backend, BackendFactory):
        return backend
    if isinstance(backend, str):
        if backend not in NAMES:
            return None
        options = {"noise": depolarising_noise(0.0, 0.0)} if backend == "aer" else {}
        return BackendFactory(_CLASSES[backend], **options)
    # A user with a device has imported its SDK already; nobody else should wait for it.
    if _is_a(backend, "qiskit.providers", "BackendV2"):
        return BackendFactory(RuntimeBackend, backend=backend)
    if isinstance(backend, Backend):
        name = type(backend).__name__
        raise InputError(
            f"backend is a {name} of certain points, but a fit has its own: pass "
            f"BackendFactory({name}, …) with its other options."
        )
    if _is_a(backend, "pennylane.devices", "Device"):
        raise InputError(
            "backend is a PennyLane device, which has a number of wires already: pass its name, "
            "BackendFactory(PennylaneBackend, device='default.qubit'), or 'pennylane'."
        )
    return None


def _is_a(thing: Any, module: str, name: str) -> bool:
    found = sys.modules.get(module)
    return found is not None and isinstance(thing, getattr(found, name))
