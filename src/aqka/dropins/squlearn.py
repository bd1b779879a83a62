"""AqkaKernel: a quantum kernel for sQUlearn that keeps to a shot budget."""

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.estimators import QuantumKernel

try:
    from squlearn.kernel.lowlevel_kernel.kernel_matrix_base import KernelMatrixBase
except ImportError as error:
    raise ImportError("sQUlearn is needed: pip install 'aqka[squlearn]'") from error


class AqkaKernel(KernelMatrixBase):  # type: ignore[misc]
    """Stands where sQUlearn takes a ``KernelMatrixBase``, in ``QGPR`` or ``QSVC`` for example.

    Parameters
    ----------
    feature_map : QuantumCircuit, default=None
        A parametrised Qiskit circuit, one parameter a feature. That of an encoding circuit of
        sQUlearn is ``encoding.get_circuit(Parameters("x", features), values).qiskit_circuit``.
    regularization : {"thresholding", "tikhonov"}, default=None
        As in sQUlearn's kernels, for kernels of points with themselves.
    **settings
        ``budget``, ``test_budget``, ``design`` and the rest; see :class:`~aqka.QuantumKernel`.

    Attributes
    ----------
    measured
        The :class:`~aqka.QuantumKernel` that measures; copies share what it has measured.

    Examples
    --------
    >>> from qiskit.circuit.library import zz_feature_map
    >>> from squlearn.kernel import QKRR
    >>> X = np.random.default_rng(0).uniform(0, 3, size=(12, 2))
    >>> kernel = AqkaKernel(zz_feature_map(2), budget=5_000, test_budget=1_000, design="points")
    >>> model = QKRR(kernel, alpha=0.1).fit(X[:10], X[:10, 0])
    >>> model.predict(X[10:]).shape, kernel.measured.shots_used_  # 12 points at 500
    ((2,), 6000)
    """

    def __init__(
        self, feature_map: Any = None, *, regularization: str | None = None, **settings: Any
    ) -> None:
        # No encoding circuit, no executor and no parameters: the map is fixed, the backend runs it.
        self._encoding_circuit = self._executor = self._num_qubits = None
        self._parameters, self._is_trainable = np.zeros(0), False
        self._regularization = regularization
        self.measured = QuantumKernel(feature_map, **settings)

    num_features = None  # not known before the first points
    num_parameters = 0
    parameter_bounds = np.zeros((0, 2))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of what measures, and the regularization."""
        return {"regularization": self._regularization, **self.measured.get_params(deep)}

    def set_params(self, **params: Any) -> None:
        """Change some of them; what was measured with others is kept apart."""
        self._regularization = params.pop("regularization", self._regularization)
        self.measured.set_params(**params)

    def __sklearn_clone__(self) -> Self:
        """Return a copy that shares what was measured."""
        return copy.deepcopy(self)

    def evaluate(self, x: NDArray[Any], y: NDArray[Any] | None = None) -> FloatArray:
        """Return the kernel of ``x`` with ``y``, or with itself if that is None."""
        kernel = self.measured.matrix(x, y)
        among_themselves = y is None or np.array_equal(x, y)
        if self._regularization is None or not among_themselves:
            return kernel
        return np.asarray(self._regularize_matrix(kernel))
