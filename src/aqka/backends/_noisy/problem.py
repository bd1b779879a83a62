"""What both noisy backends start from: checked points and one transpiled fidelity circuit."""

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from aqka._util.optional import require
from aqka.backends._noisy.models import transpile_for
from aqka.backends.circuits import as_feature_map, as_rows_and_columns, fidelity_circuit

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


class NoisyProblem:
    """Points, the circuit U(x) — barrier — U†(y) transpiled once, and its noise model.

    Attributes
    ----------
    rows, columns
        The points of the first half and those of the second.
    circuit
        The transpiled circuit, with its measurements.
    parameters
        Those of the first half, then those of the second, in the data's column order.
    model
        The noise, with qubits named as in ``circuit``.
    """

    def __init__(
        self,
        X: ArrayLike,
        feature_map: "QuantumCircuit | None",
        columns: ArrayLike | None,
        noise: Any,
        optimization_level: int,
        initial_layout: list[int] | None,
    ) -> None:
        require("qiskit_aer", "aer")
        self.rows, self.columns = as_rows_and_columns(X, columns)
        features = self.rows.shape[1]
        circuit = fidelity_circuit(as_feature_map(feature_map, features))
        self.parameters = list(circuit.parameters)
        self.circuit, self.model = transpile_for(
            circuit, noise, optimization_level=optimization_level, initial_layout=initial_layout
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the kernel."""
        return len(self.rows), len(self.columns)
