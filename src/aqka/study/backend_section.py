"""The table [backend] of a study file: who runs the shots, and how."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from aqka.core.settings import MAX_QUBITS
from aqka.study.mistakes import known_name
from aqka.study.section import Code, Fraction, Name, Section, Seed

MAX_TILES = 10_000
BACKENDS = ("statevector", "matrix-product", "aer", "ibm", "sampler", "pennylane")
# The backends that a key of [backend] is for.
OWNERS = {
    "noise": ("aer",),
    "device": ("ibm", "pennylane"),
    "sampler": ("sampler",),
    **dict.fromkeys(("account", "instance", "region", "mode", "options", "tiles"), ("ibm",)),
    **dict.fromkeys(("optimization_level", "initial_layout", "pass_manager"), ("ibm", "sampler")),
}


class BackendSection(Section):
    """Who runs the shots.

    Attributes
    ----------
    name
        ``statevector`` (any circuit; its own map zz needs no extra), ``matrix-product`` (points of
        up to 62 qubits that are little entangled), ``aer`` (with noise), ``ibm`` (hardware, or a
        fake device in this process), ``sampler`` (any Qiskit sampler) or ``pennylane`` (any
        PennyLane device).
    noise
        Of ``aer``: depolarising rates of one- and two-qubit gates.
    device
        Of ``ibm``: such as ``ibm_fez`` or ``fake_fez``; None takes the least busy. Of
        ``pennylane``: a device's name, or ``module:function`` that makes one from a seed.
    sampler
        Of ``sampler``: ``module:function`` that makes a sampler, from a seed if it takes one.
    account, instance, region
        Of ``ibm``: name of the saved account, None takes the default one; and another instance or
        region than the account was saved with.
    mode
        Of ``ibm``: see :class:`~aqka.backends.RuntimeBackend`.
    options
        Of ``ibm``: its sampler's options, such as ``max_execution_time``, ``dynamical_decoupling``
        and ``twirling``.
    tiles
        Of ``ibm``: how many copies of the circuit run side by side, or ``auto``.
    optimization_level, initial_layout, pass_manager
        Of ``ibm`` and ``sampler``: how the circuit is transpiled. ``pass_manager`` is
        ``module:function`` that makes one, in place of the other two.
    seed
        Of simulators.
    """

    name: str = "statevector"
    noise: Annotated[list[Fraction], Field(min_length=2, max_length=2)] | None = None
    device: Name | None = None
    sampler: Code | None = None
    account: Name | None = None
    instance: Name | None = None
    region: Name | None = None
    mode: Literal["auto", "session", "batch", "job"] = "auto"
    options: dict[str, Any] | None = None
    tiles: Annotated[int, Field(ge=1, le=MAX_TILES)] | Literal["auto"] = 1
    optimization_level: Annotated[int, Field(ge=0, le=3)] | None = None
    initial_layout: (
        Annotated[list[Annotated[int, Field(ge=0, le=10**6)]], Field(max_length=MAX_QUBITS)] | None
    ) = None
    pass_manager: Code | None = None
    seed: Seed = 0

    @field_validator("name")
    @classmethod
    def _known(cls, value: str) -> str:
        return known_name(value, BACKENDS, "backend")

    @model_validator(mode="after")
    def _consistent(self) -> "BackendSection":
        for key, owners in OWNERS.items():
            if key in self.model_fields_set and self.name not in owners:
                named = " or ".join(repr(owner) for owner in owners)
                raise ValueError(f"{key} is for the backend {named}, not for {self.name!r}")
        if self.name == "sampler" and self.sampler is None:
            raise ValueError("sampler is missing: 'module:function' that makes a Qiskit sampler")
        if self.name == "pennylane" and self.device is None:
            raise ValueError("device is missing: such as 'default.qubit', or 'module:function'")
        if self.pass_manager is not None and (
            self.optimization_level is not None or self.initial_layout is not None
        ):
            raise ValueError(
                "pass_manager takes the place of optimization_level and initial_layout; leave "
                "them out"
            )
        return self

    @property
    def code(self) -> dict[str, str]:
        """What of it is code, ``module:function`` by its key."""
        given = {key: getattr(self, key) for key in ("sampler", "pass_manager")}
        if self.name == "pennylane" and ":" in (self.device or ""):
            given["device"] = self.device
        return {key: value for key, value in given.items() if value is not None}
