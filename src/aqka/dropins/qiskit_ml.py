"""AqkaKernel: a quantum kernel for Qiskit Machine Learning that keeps to a shot budget."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.errors import InputError
from aqka.estimators import QuantumKernel
from aqka.maths.spectrum import project_psd

try:
    from qiskit_machine_learning.kernels import BaseKernel
except ImportError as error:
    raise ImportError("Qiskit Machine Learning is needed: pip install 'aqka[qiskit-ml]'") from error


class AqkaKernel(BaseKernel):
    """Stands where Qiskit Machine Learning takes a ``BaseKernel``, in ``QSVC`` for example.

    Parameters
    ----------
    feature_map : QuantumCircuit
        A parametrised circuit, one parameter a feature.
    enforce_psd : bool, default=True
        Whether a kernel of points with themselves is projected to the nearest positive
        semi-definite one, as an SVM needs it.
    evaluate_duplicates : {"none"}, default="none"
        As in Qiskit's kernels, which can measure identical points; here they read 1 at no cost.
    fidelity : None, default=None
        As in Qiskit's kernels; here ``backend`` runs the shots.
    **settings
        ``budget``, ``test_budget``, ``design`` and the rest; see :class:`~aqka.QuantumKernel`.

    Attributes
    ----------
    measured
        The :class:`~aqka.QuantumKernel` that measures; copies share what it has measured.

    Examples
    --------
    >>> from qiskit.circuit.library import zz_feature_map
    >>> from qiskit_machine_learning.algorithms import QSVC
    >>> X = np.random.default_rng(0).uniform(0, 3, size=(12, 2))
    >>> y = np.arange(12) % 2
    >>> kernel = AqkaKernel(
    ...     feature_map=zz_feature_map(2), budget=4500, test_budget=2000, design="pairs"
    ... )
    >>> classes = QSVC(quantum_kernel=kernel).fit(X[:10], y[:10]).predict(X[10:])
    >>> kernel.measured.shots_used_  # 2 × 10 test pairs at 100
    6500
    """

    def __init__(
        self,
        *,
        feature_map: Any,
        enforce_psd: bool = True,
        evaluate_duplicates: str = "none",
        fidelity: None = None,
        **settings: Any,
    ) -> None:
        if evaluate_duplicates != "none":
            raise InputError(
                f"evaluate_duplicates must be 'none', got {evaluate_duplicates!r}: identical "
                "points read 1 at no cost, and no shot is spent on them; leave it out."
            )
        if fidelity is not None:
            raise InputError(
                f"fidelity must be None, got {type(fidelity).__name__}: the shots are run by "
                "backend=…, for example BackendFactory(SamplerBackend, sampler=make)."
            )
        super().__init__(feature_map=feature_map, enforce_psd=enforce_psd)
        self.measured = QuantumKernel(feature_map, **settings)

    def evaluate(self, x_vec: NDArray[Any], y_vec: NDArray[Any] | None = None) -> FloatArray:
        """Return the kernel of ``x_vec``, one point or more, with ``y_vec`` or itself."""
        rows, columns = self._validate_input(x_vec, y_vec)
        kernel = self.measured.matrix(rows, columns)
        among_themselves = columns is None or np.array_equal(rows, columns)
        wanted = among_themselves and self._enforce_psd and kernel.size
        return project_psd(kernel) if wanted else kernel
