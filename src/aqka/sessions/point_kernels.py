"""The kernels that counts of points can be read as, by name."""

import numpy as np

from aqka._util.arrays import IntArray
from aqka._util.text import did_you_mean, inert
from aqka.allocators.points import PointAllocator
from aqka.allocators.points.even import Even
from aqka.core.settings import choose_settings
from aqka.errors import InputError
from aqka.estimates.states import MAX_STATE_QUBITS
from aqka.sessions.gaussian_points import ProjectedPoints
from aqka.sessions.linear_points import LinearProjectedPoints
from aqka.sessions.point_contract import PointKernel
from aqka.sessions.point_heads import MAX_FIDELITY_QUBITS, FidelityOfPoints

NAMED: dict[str, PointKernel] = {
    "purified": FidelityOfPoints("purified"),
    "device": FidelityOfPoints("device"),
    "projected": ProjectedPoints(1),
    "projected-2": ProjectedPoints(2),
    "projected-linear": LinearProjectedPoints(1),
    "projected-2-linear": LinearProjectedPoints(2),
}


def point_kernel_names() -> list[str]:
    """Return the names of all kernels of points.

    ``"purified"`` and ``"device"`` are the fidelity of fitted states, without most of a device's
    noise or with it, of at most eight qubits. ``"projected"`` is the Gaussian projected kernel of
    one-qubit reduced states and ``"projected-2"`` of two-qubit ones, for any number of qubits;
    with ``"-linear"`` they are the mean overlap of these states.

    Examples
    --------
    >>> point_kernel_names()
    ['purified', 'device', 'projected', 'projected-2', 'projected-linear', 'projected-2-linear']
    """
    return list(NAMED)


def as_point_kernel(kernel: str | PointKernel) -> PointKernel:
    """Return the kernel of that name, or the given one."""
    made = NAMED.get(kernel) if isinstance(kernel, str) else kernel
    if not isinstance(made, PointKernel):
        raise InputError(
            f"point_kernel must be one of {', '.join(map(repr, NAMED))} or a PointKernel, got "
            f"{inert(repr(kernel), 100)}.{did_you_mean(kernel, NAMED)}"
        )
    return made


def make_point_kernel(kernel: str | PointKernel, n_qubits: int) -> PointKernel:
    """Return the kernel of that name, or the given one, for points of so many qubits.

    Examples
    --------
    >>> make_point_kernel("projected-2", n_qubits=10)
    ProjectedPoints(locality=2, confusion=None, gamma=None)
    """
    made = as_point_kernel(kernel)
    most = MAX_FIDELITY_QUBITS if isinstance(kernel, str) else MAX_STATE_QUBITS
    if isinstance(made, FidelityOfPoints) and n_qubits > most:
        raise InputError(
            f"point_kernel {inert(repr(kernel), 100)} fits states of at most {most} qubits, and "
            f"the points have {n_qubits}; take 'projected', or leave it out."
        )
    if getattr(made, "locality", 1) > n_qubits:
        raise InputError(
            f"point_kernel {inert(repr(kernel), 100)} needs two qubits or more, and the points "
            "have one; take 'projected'."
        )
    return made


def default_point_kernel(settings: IntArray) -> PointKernel:
    """Return the kernel of counts for which none is named, by the settings they were measured in.

    The fidelity up to eight qubits and the projected kernel above; and also where all qubits have
    one letter in every setting, as somebody chose who wanted one-qubit states.
    """
    n_qubits = settings.shape[1]
    is_uniform = n_qubits > 1 and bool(np.all(settings == settings[:, :1]))
    if n_qubits > MAX_FIDELITY_QUBITS or is_uniform:
        return ProjectedPoints()
    return FidelityOfPoints()


def settings_for(
    kernel: PointKernel | None, allocator: PointAllocator, n_qubits: int, seed: int
) -> IntArray:
    """Return the Pauli settings to measure in: a kernel's own, if one is named that needs fewer.

    An allocator that steers looks at states, for which those would not be enough.
    """
    own = None
    if kernel is not None and isinstance(allocator, Even):
        own = kernel.settings(n_qubits)
    return choose_settings(n_qubits, seed) if own is None else own


def check_point_kernel(kernel: object, design: str) -> None:
    """Refuse a kernel of points where something else is measured, or may be."""
    if kernel is not None and design != "points":
        raise InputError(
            f"point_kernel is for design='points', got {inert(repr(kernel), 100)} with "
            f"design={design!r}: pairs measure the device's fidelity kernel. Name "
            "design='points', or leave it out."
        )
