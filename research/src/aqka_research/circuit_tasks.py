"""All tasks with a circuit and classes, whichever list they are from: names, kinds, draws."""

from aqka_research.suite import SUITE, PointTask, QuantumTask, half_of_suite
from aqka_research.suite_quantum import CANDIDATES, quantum_labelled

NATURAL, MADE, LABELLED = "natural", "kernel-made", "quantum-labelled"
KINDS = {
    NATURAL: "labels that come with the data",
    MADE: "targets drawn from the kernel's own functions, which classical models may learn too",
    LABELLED: "labels made by the kernel, kept where classical models fall behind it",
}
QUBITS = (2, 3, 4, 5, 6, 8)
NOISY_QUBITS = (2, 3, 4)
"""Qubits of tasks that are run on a device: exact noisy states have 4^n numbers."""


def circuit_tasks(half: str, device: str | None = None) -> list[str]:
    """Return the names of a half's tasks with a circuit and classes, natural ones first."""
    suite = (SUITE[name] for name in half_of_suite(half))
    names = [task.name for task in suite if task.is_quantum and task.kind != "regression"]
    names += [task.name for task in quantum_labelled(half)]
    qubits = QUBITS if device is None else NOISY_QUBITS
    kept = (name for name in names if qubits_of(name) in qubits)
    return sorted(kept, key=lambda name: list(KINDS).index(kind_of(name)))


def kind_of(name: str) -> str:
    """Return where a task's labels come from, a key of :data:`KINDS`."""
    if name in CANDIDATES:
        return LABELLED
    return NATURAL if SUITE[name].kind == "classes" else MADE


def qubits_of(name: str) -> int:
    """Return the qubits of a task."""
    return CANDIDATES[name].qubits if name in CANDIDATES else SUITE[name].features


def points_of(name: str) -> int:
    """Return the training points of a task."""
    return CANDIDATES[name].points if name in CANDIDATES else SUITE[name].points


def draw(name: str, seed: int) -> QuantumTask:
    """Return the task of a name with other data for every seed."""
    task = draw_any(name, seed)
    assert isinstance(task, QuantumTask)
    return task


def draw_any(name: str, seed: int) -> PointTask:
    """Return the same of a task that may also have no circuit."""
    return CANDIDATES[name].draw(seed) if name in CANDIDATES else SUITE[name].draw(seed)


def by_kind(names: list[str]) -> dict[str, list[str]]:
    """Return the names of each kind that there is."""
    found = {kind: [name for name in names if kind_of(name) == kind] for kind in KINDS}
    return {kind: mine for kind, mine in found.items() if mine}


def quick_tasks() -> list[str]:
    """Return the smallest natural and the smallest quantum-labelled development task."""
    kinds = by_kind(circuit_tasks("development"))
    return [
        min(kinds[kind], key=lambda name: points_of(name) * 2 ** qubits_of(name))
        for kind in (NATURAL, LABELLED)
    ]
