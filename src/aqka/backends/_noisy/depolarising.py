"""The paper's noise: depolarising after every gate."""

from typing import TYPE_CHECKING

from aqka._util.optional import require
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit_aer.noise import NoiseModel

# The gates that Aer's density matrices know, so that a feature map keeps its own gates.
_ONE_QUBIT = [
    *("h", "s", "sdg", "sx", "sxdg", "t", "tdg", "x", "y", "z"),
    *("p", "r", "rx", "ry", "rz", "u", "u1", "u2", "u3"),
]
_TWO_QUBIT = ["cp", "cx", "cy", "cz", "ecr", "rxx", "ryy", "rzx", "rzz", "swap"]


def depolarising_noise(one_qubit: float = 0.01, two_qubit: float = 0.04) -> "NoiseModel":
    """Return depolarising noise after every gate; the defaults are the paper's (Appendix C).

    The rates are Qiskit's λ in ρ → (1 - λ) ρ + λ I/d. All one- and two-qubit gates of Aer's
    density matrices are basis gates and carry the noise, rz and p included, which are virtual
    on IBM's devices. So a feature map runs with its own gates, the ZZ map with h, p and cx.

    Parameters
    ----------
    one_qubit, two_qubit
        Depolarising rates, within [0, 1].
    """
    noise = require("qiskit_aer.noise", "aer")
    for name, rate in (("one_qubit", one_qubit), ("two_qubit", two_qubit)):
        if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate <= 1:
            raise InputError(f"{name} must be a depolarising rate within [0, 1], got {rate!r}.")
    model: NoiseModel = noise.NoiseModel(basis_gates=[*_ONE_QUBIT, *_TWO_QUBIT])
    model.add_all_qubit_quantum_error(noise.depolarizing_error(one_qubit, 1), _ONE_QUBIT)
    model.add_all_qubit_quantum_error(noise.depolarizing_error(two_qubit, 2), _TWO_QUBIT)
    return model
