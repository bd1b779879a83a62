"""The study file: what a run is made of, checked before anything happens.

``example.toml`` says what every key means; a key that is left out has the default given here.
"""

import json
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator

from aqka._util.files import read_text
from aqka._util.text import inert
from aqka.allocators import DEFAULT_ALLOCATOR, allocator_names
from aqka.backends.feature_maps import BUILT_IN_MAPS, DEFAULT_REPS
from aqka.core.settings import MAX_QUBITS
from aqka.designs import point_kernel_names
from aqka.designs.pairs import READINGS
from aqka.errors import InputError
from aqka.learners import learner_names
from aqka.planning.budget import parse_budget
from aqka.planning.quotes import MAX_RATE, MAX_ROUNDS
from aqka.study._mistakes import explain, known_name, refuse_secrets
from aqka.study.method import chosen

MAX_STUDY_BYTES = 16 * 1024  # the TOML reader's memory grows with the square of a dotted key
MAX_REPS = 20
MAX_TILES = 10_000
MAX_SEED = 2**31 - 1
BACKENDS = ("statevector", "light-cone", "aer", "ibm", "sampler", "pennylane")
# The backends that a key of [backend] is for.
OWNERS = {
    "noise": ("aer", "light-cone"),
    "device": ("ibm", "sampler", "pennylane"),
    "options": ("ibm",),
    "tiles": ("ibm",),
    "transpile": ("ibm", "sampler"),
}
MODES = ("auto", "session", "batch", "job")

T = TypeVar("T")
Name = Annotated[str, Field(min_length=1, max_length=300)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Code = Annotated[
    str, Field(min_length=3, max_length=300, pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
]
Positive = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class Section(BaseModel):
    """A table of the study file: fixed once read, and without unknown keys."""

    # Values must have their type: "4" is not taken for 4. A message never repeats a value,
    # which may be a secret in the wrong place.
    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, strict=True, hide_input_in_errors=True, allow_inf_nan=False
    )


def _size(value: Any, also: int | None = None) -> Any:
    whole = type(value) is int and (value >= 2 or value == also)
    if whole or (isinstance(value, float) and 0 < value < 1):
        return value
    raise ValueError("must be a number of points, 2 or more, or a fraction such as 0.25")


Size = Annotated[int | float, BeforeValidator(_size)]
TestSize = Annotated[int | float, BeforeValidator(lambda value: _size(value, 0))]


def _known(names: Callable[[], Sequence[str]], kind: str) -> AfterValidator:
    """Return what refuses an unknown name and says the nearest."""
    return AfterValidator(lambda value: known_name(value, names(), kind))


class DataSection(Section):
    """Where the points come from."""

    source: Name
    task: Literal["classification", "regression"] = "classification"
    target: Name | None = None
    id: Name | None = None
    features: Annotated[list[Name], Field(min_length=1, max_length=10_000)] | None = None
    missing: Literal["refuse", "median"] = "refuse"


class SplitSection(Section):
    """Which points are for training and which for testing; classes keep their shares."""

    test: TestSize = 0.25
    train: Size | None = None


class TrainSection(Section):
    """How the feature map is trained; ``parameters`` are those of a circuit that are no data."""

    parameters: Annotated[list[Name], Field(min_length=1)] | None = None
    where: Literal["auto", "simulation", "device"] = "auto"
    share: Annotated[float, Field(gt=0, lt=1)] = 0.3


class FeatureMapSection(Section):
    """How a point becomes a circuit."""

    map: Name = "zz"
    qubits: Annotated[int, Field(ge=1, le=MAX_QUBITS)] | None = None
    reps: Annotated[int, Field(ge=1, le=MAX_REPS)] = DEFAULT_REPS
    range: Annotated[
        list[Annotated[float, Field(ge=-1e6, le=1e6)]], Field(min_length=2, max_length=2)
    ] = Field(default=[0.0, 3.141592653589793])
    train: TrainSection | None = None

    @property
    def is_built_in(self) -> bool:
        """Whether it is a built-in map as it is, which needs no file."""
        return self.map in BUILT_IN_MAPS and self.train is None

    @pydantic.field_validator("train", mode="before")
    @classmethod
    def _in_short(cls, value: Any) -> Any:
        if isinstance(value, bool):
            return {} if value else None
        return {"parameters": value} if isinstance(value, list) else value

    @pydantic.field_validator("map")
    @classmethod
    def _known_map(cls, value: str) -> str:
        if value.endswith((".qpy", ".qasm")) or ":" in value:
            return value
        also = "; or a file ending in .qpy or .qasm, or module:function"
        return known_name(value, BUILT_IN_MAPS, "feature map", also)

    @model_validator(mode="after")
    def _consistent(self) -> "FeatureMapSection":
        if self.map in BUILT_IN_MAPS and self.qubits is None:
            raise ValueError(f"qubits is missing: the built-in map {self.map} has one per feature")
        if self.map not in BUILT_IN_MAPS and "reps" in self.model_fields_set:
            raise ValueError("reps is for built-in maps; a circuit of your own has its own")
        if self.map.startswith("zz") and self.qubits == 1:
            raise ValueError("qubits must be at least 2 for a zz map, which couples pairs of them")
        if not self.range[0] < self.range[1]:
            raise ValueError("range must rise, for example [0.0, 3.141592653589793]")
        if self.map in BUILT_IN_MAPS and self.train is not None and self.train.parameters:
            raise ValueError("train must be true, or without parameters, for a built-in map")
        return self


class TranspileSection(Section):
    """How a circuit is transpiled; ``pass_manager`` is ``module:function`` that makes one."""

    optimization_level: Annotated[int, Field(ge=0, le=3)] | None = None
    initial_layout: (
        Annotated[list[Annotated[int, Field(ge=0, le=10**6)]], Field(max_length=MAX_QUBITS)] | None
    ) = None
    pass_manager: Code | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "TranspileSection":
        if self.pass_manager is not None and len(self.model_fields_set) > 1:
            raise ValueError(
                "pass_manager takes the place of optimization_level and initial_layout; leave "
                "them out"
            )
        return self


class BackendSection(Section):
    """What runs the shots."""

    name: Annotated[str, _known(lambda: BACKENDS, "backend")] = "statevector"
    noise: Annotated[list[Fraction], Field(min_length=2, max_length=3)] | None = None
    device: Name | None = None
    options: dict[str, Any] = Field(default={})
    tiles: Annotated[int, Field(ge=1, le=MAX_TILES)] | Literal["auto"] = 1
    transpile: TranspileSection = TranspileSection()

    @model_validator(mode="after")
    def _consistent(self) -> "BackendSection":
        for key, owners in OWNERS.items():
            if key in self.model_fields_set and self.name not in owners:
                named = " or ".join(repr(owner) for owner in owners)
                raise ValueError(f"{key} is for the backend {named}, not for {self.name!r}")
        if self.name == "sampler" and ":" not in (self.device or ""):
            raise ValueError("device is missing: 'module:function' that makes a Qiskit sampler")
        if self.name == "pennylane" and self.device is None:
            raise ValueError("device is missing: such as 'default.qubit', or 'module:function'")
        known_name(str(self.options.get("mode", "auto")), MODES, "options.mode")
        if not isinstance(self.options.get("account", ""), str):
            raise ValueError("options.account must be text: the name of a saved account")
        return self

    @property
    def code(self) -> dict[str, str]:
        """The keys that name code, with their ``module:function``."""
        given = {"transpile.pass_manager": self.transpile.pass_manager}
        if self.name != "ibm":
            given["device"] = self.device
        return {key: value for key, value in given.items() if value and ":" in value}


class BudgetSection(Section):
    """What may be spent: ``total`` for everything, or ``train`` with predictions on top."""

    total: str | int | None = None
    train: str | int | None = None
    test_shots: Annotated[int, Field(ge=0, le=10**6)] | None = None
    ceiling: str | int | None = None
    rate: Annotated[float, Field(gt=0, le=MAX_RATE)] | None = None

    @pydantic.field_validator("total", "train", "ceiling", mode="before")
    @classmethod
    def _readable(cls, value: Any) -> Any:
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise ValueError("must be text such as '20000 shots', '5 min' or '$100'")
        parse_budget(str(value)[:100])
        return value

    @model_validator(mode="after")
    def _consistent(self) -> "BudgetSection":
        if (self.total is None) == (self.train is None):
            raise ValueError(
                "give total, for training and predictions together, or train, with predictions on "
                "top of it: one of the two"
            )
        return self


class SentinelSection(Section):
    """Diagonal entries that are measured in every training round; see ``backends.sentinel``."""

    points: Annotated[int, Field(ge=0, le=1000)] = 0
    shots: Annotated[int, Field(ge=1, le=10**6)] = 100
    mitigate: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> "SentinelSection":
        if self.points == 0 and self.model_fields_set - {"points"}:
            raise ValueError("points is missing: how many training points to measure, such as 4")
        return self


class PointsSection(Section):
    """How points are read; see :class:`aqka.Points`."""

    kernel: Annotated[str, _known(point_kernel_names, "kernel of points")] | None = None
    calibration_shots: Annotated[int, Field(ge=0, le=10**9, multiple_of=2)] = 0


class PairsSection(Section):
    """How pairs are read; see :class:`aqka.Pairs`."""

    reading: Annotated[str, _known(lambda: READINGS, "reading of pairs")] = READINGS[0]


class MethodSection(Section):
    """How the shots are spent and read."""

    design: Literal["pairs", "points", "auto"] = "auto"
    allocator: Annotated[str, _known(allocator_names, "allocator")] = DEFAULT_ALLOCATOR
    learner: Annotated[str, _known(learner_names, "learner")] | None = None
    ridge: Positive = 0.01
    C: Positive = 5.0
    rounds: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] | None = None
    pairs: PairsSection = PairsSection()
    points: PointsSection = PointsSection()
    prior: Literal["auto", "none", "angles"] = "auto"

    @model_validator(mode="after")
    def _consistent(self) -> "MethodSection":
        if self.allocator.endswith("-oracle"):
            raise ValueError("an oracle knows the true kernel, which a study does not have")
        chosen(self)
        return self


class Study(Section):
    """A whole study file."""

    output: Name | None = None
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    data: DataSection
    split: SplitSection = SplitSection()
    feature_map: FeatureMapSection = FeatureMapSection(qubits=4)
    backend: BackendSection = BackendSection()
    budget: BudgetSection
    sentinels: SentinelSection = SentinelSection()
    method: MethodSection = MethodSection()

    @model_validator(mode="after")
    def _consistent(self) -> "Study":
        if self.data.task == "regression" and self.method.learner == "svm":
            raise ValueError("method.learner 'svm' is for classes; data.task is 'regression'")
        if self.data.task == "regression" and self.method.prior == "angles":
            raise ValueError(
                "method.prior 'angles' answers classes, but data.task is 'regression'; leave it out"
            )
        if self.backend.name == "light-cone" and self.method.design == "pairs":
            raise ValueError(
                f"backend.name {self.backend.name!r} measures points: leave method.design out"
            )
        if self.method.design != "pairs" and self.sentinels.points:
            raise ValueError("sentinels are diagonal entries: method.design must be 'pairs'")
        return self

    def on(self, device: str | None) -> "Study":
        """Return it with the device that a run began on: the least busy may be another by now."""
        is_open = self.backend.name == "ibm" and self.backend.device is None
        return self.changed("backend", device=device) if is_open else self

    def changed(self, section: str, **values: Any) -> "Study":
        """Return the study with other values in one of its sections."""
        part = getattr(self, section).model_copy(update=values)
        return self.model_copy(update={section: part})


def parse_study(text: str, name: str = "study") -> Study:
    """Return the study that a TOML text describes, or say which line is wrong."""
    refuse_secrets(text, None, name)
    if len(text) > MAX_STUDY_BYTES:
        raise InputError(f"{name} is longer than {MAX_STUDY_BYTES:,} bytes, the most there can be.")
    try:
        content: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a TOMLDecodeError is a ValueError
        reason = "it is nested too deep" if isinstance(error, RecursionError) else inert(error, 200)
        end = f"at its end, line {len(text.splitlines())}"
        reason = reason.replace("at end of document", end)
        raise InputError(
            f"{name} is not complete TOML: {reason}. Correct it; aqka init writes an example."
        ) from None
    refuse_secrets(text, content, name)
    try:
        return Study.model_validate(content)
    except pydantic.ValidationError as error:
        raise InputError(explain(error, Study, text, name)) from None


def read_stored(kind: type[T], content: Any) -> T | None:
    """Return what a run's results hold, as a dataclass; None where they do not."""
    try:
        return pydantic.TypeAdapter(kind).validate_json(json.dumps(content))
    except pydantic.ValidationError:
        return None


def load_study(path: Path) -> tuple[Study, str]:
    """Return the study of a file, and its text."""
    text = read_text(path, MAX_STUDY_BYTES, "study file")
    return parse_study(text, inert(path.name)), text
