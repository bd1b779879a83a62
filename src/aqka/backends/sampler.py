"""Shots by any Qiskit sampler: simulators and devices of every vendor."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from aqka._util.arrays import as_count
from aqka._util.optional import require
from aqka.backends._jobs.job_backend import JobBackend
from aqka.backends._jobs.local import JobsHere
from aqka.backends._jobs.rows import JobShape
from aqka.backends._jobs.transpile import Transpiler
from aqka.backends.job_service import JobRequest
from aqka.backends.simulated import tag_seed
from aqka.backends.tiles import TileRule, as_tile_rule
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


# Samplers and backends that run in this process; any other may cost money.
SIMULATORS = ("StatevectorSampler", "Aer", "Fake", "GenericBackend", "BasicSim", "BraketLocal")


class SamplerBackend(JobBackend):
    """Runs the fidelity test on a ``BaseSamplerV2`` of any vendor, one job per plan.

    Parameters
    ----------
    sampler : BaseSamplerV2 or callable
        A sampler, or for simulators a function that makes one from a seed: each plan then gets a
        fresh sampler seeded by (seed, tag). A simulating sampler with a fixed seed is refused,
        because it repeats the same outcomes. A ``BackendSamplerV2`` with a ``seed_simulator``
        may be passed as it is: that option is set anew for each plan.
    X : array-like
        Points of the rows, one per row of the array.
    feature_map : QuantumCircuit or str, default=None
        A parametrised circuit; None is the ZZ map of two repetitions, linear.
    columns : array-like, default=None
        Points of the columns, for a test-by-train block; None takes those of X.
    target_backend : BackendV2 or PassManager, default=None
        What the circuit is transpiled for, once: a backend, or a pass manager of your own. None
        takes the sampler's backend where it shows one, and else leaves the circuit as it is.
    optimization_level, initial_layout : int and sequence of int, default=None
        Of Qiskit's preset pass manager; None is 1, and the best place it finds.
    jobs : JobShape, default=None
        How plans become jobs: shot quantum and limits.
    tiles : TileRule, int or "auto", default=1
        Copies of the circuit that run side by side: ``"auto"``, a number, or a
        :class:`~aqka.backends.tiles.TileRule`, on devices with a coupling map and a calibration.
    seed : int, default=0
        Hits of simulators depend on it and on the tag, and which tile runs which row.
    design : {"pairs", "points"}, default="pairs"
        What will be measured, until a run settles it: whose circuit ``circuit`` shows, transpiled
        and tiled when it is first needed. Plans of the other kind run as well.

    Examples
    --------
    >>> from qiskit.primitives import StatevectorSampler
    >>> from aqka.core import ShotPlan
    >>> import numpy as np
    >>> def exact(seed):
    ...     return StatevectorSampler(seed=np.random.default_rng(seed))
    >>> backend = SamplerBackend(exact, X=[[0.1, 0.2], [0.4, 0.3]])
    >>> ticket = backend.submit(ShotPlan([0, 1], [1, 1], [100, 50]), tag="first")
    >>> hits = backend.collect(ticket)
    >>> bool(0 < hits[0] < 100), int(hits[1])
    (True, 50)
    """

    def __init__(
        self,
        sampler: Any,
        X: ArrayLike,
        feature_map: "QuantumCircuit | str | None" = None,
        *,
        columns: ArrayLike | None = None,
        target_backend: Any = None,
        optimization_level: int | None = None,
        initial_layout: Sequence[int] | None = None,
        jobs: JobShape | None = None,
        tiles: TileRule | int | str = 1,
        seed: int = 0,
        design: str = "pairs",
    ) -> None:
        seed = as_count(seed, "seed", minimum=0)
        service = SamplerService(sampler, seed, target_backend)
        transpile = Transpiler(service.target, optimization_level, initial_layout)
        shape, rule = jobs or JobShape(), as_tile_rule(tiles)
        super().__init__(service, X, feature_map, columns, transpile, shape, rule, seed, design)


class SamplerService(JobsHere):
    """Jobs of a sampler, or of those that a function makes from seeds."""

    def __init__(self, sampler: Any, seed: int, target: Any) -> None:
        primitives = require("qiskit.primitives", "qiskit")
        self._make_sampler: Callable[[int], Any] | None = None
        if not isinstance(sampler, primitives.BaseSamplerV2):
            if not callable(sampler):
                raise InputError(
                    "sampler must be a qiskit BaseSamplerV2 or a function that makes one from a "
                    f"seed, got {type(sampler).__name__}."
                )
            self._make_sampler = sampler
            sampler = sampler(tag_seed(seed, ""))
        self._sampler = sampler
        # Aer's starts its stream anew in every run(), a StatevectorSampler even in every row.
        exact = isinstance(sampler, primitives.StatevectorSampler)
        is_fixed = isinstance(getattr(sampler, "seed", None), int)
        if is_fixed and (self._make_sampler is None or exact):
            how = "numpy.random.default_rng(seed)" if exact else "seed"
            raise InputError(
                f"sampler has the fixed seed {sampler.seed}, with which it repeats the same "
                f"outcomes; pass sampler=lambda seed: {type(sampler).__name__}(seed={how})."
            )
        super().__init__(_backend_of(sampler) if target is None else target)
        self.replayable = self._make_sampler is not None
        self.is_paid = not self.replayable and not runs_here(sampler)

    def run(self, request: JobRequest) -> Any:
        """Run a sampler of the seed."""
        pub = (request.circuit, request.values)
        return self.keep(self._sampler_for(request.seed).run([pub], shots=request.shots))

    def _sampler_for(self, seed: int) -> Any:
        if self._make_sampler is not None:
            return self._make_sampler(seed)
        options = getattr(self._sampler, "options", None)
        if isinstance(getattr(options, "seed_simulator", None), int):
            # A new sampler, because a job that still waits reads the options when it starts.
            fresh = {**asdict(options), "seed_simulator": seed}  # type: ignore[arg-type]
            return type(self._sampler)(backend=self._sampler.backend, options=fresh)
        simulator = getattr(options, "simulator", None)
        if isinstance(getattr(simulator, "seed_simulator", None), int):
            simulator.seed_simulator = seed  # type: ignore[union-attr]
        return self._sampler


def runs_here(sampler: Any) -> bool:
    """Return whether a sampler is known to simulate in this process, at no cost.

    >>> from qiskit.primitives import StatevectorSampler
    >>> runs_here(StatevectorSampler())
    True
    """
    behind = (sampler, _backend_of(sampler), getattr(sampler, "_backend", None))
    return any(type(part).__name__.startswith(SIMULATORS) for part in behind)


def _backend_of(sampler: Any) -> Any:
    """Return the backend a sampler shows, as a property or as a method."""
    backend = getattr(sampler, "backend", None)
    return backend() if callable(backend) and not hasattr(backend, "target") else backend
