"""The study file: what a run is made of, checked before anything happens."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from aqka._util.files import read_text
from aqka._util.text import inert
from aqka.allocators import allocator_names
from aqka.allocators.points import point_allocator_names
from aqka.backends.feature_maps import BUILT_IN_MAPS, DEFAULT_REPS
from aqka.core.defaults import DEFAULT_ALLOCATOR
from aqka.core.settings import MAX_QUBITS
from aqka.errors import InputError
from aqka.planning.quotes import MAX_ROUNDS
from aqka.readouts import readout_names
from aqka.sessions.point_kernels import point_kernel_names
from aqka.study.backend_section import BackendSection
from aqka.study.budget_section import BudgetSection, SentinelSection
from aqka.study.mistakes import explain, known_name, refuse_secrets
from aqka.study.section import Fraction, Name, Positive, Section, Seed

MAX_STUDY_BYTES = 16 * 1024  # the TOML reader's memory grows with the square of a dotted key
MAX_REPS = 20


def _size(value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 2
    if whole or (isinstance(value, float) and 0 < value < 1):
        return value
    raise ValueError("must be a number of points, 2 or more, or a fraction such as 0.25")


def _size_or_none(value: Any) -> Any:
    return value if isinstance(value, int) and value == 0 else _size(value)


Size = Annotated[int | float, BeforeValidator(_size)]
TestSize = Annotated[int | float, BeforeValidator(_size_or_none)]


class DataSection(Section):
    """Where the points come from.

    Attributes
    ----------
    source
        A built-in name (:data:`aqka.study.data.BUILT_IN`) or a file ending in .csv, .parquet or
        .npz, inside the study file's directory.
    task
        ``classification``; or ``regression``, whose target holds numbers.
    target
        Column of the labels; of an .npz, the array. Built-in data have their own.
    features
        Columns to use; None takes all others. Of an .npz, the array ``X``.
    id
        Column with the names of the points, which the report calls them by; of an .npz, an
        array. None counts rows, from 1.
    """

    source: Name
    task: Literal["classification", "regression"] = "classification"
    target: Name | None = None
    id: Name | None = None
    features: Annotated[list[Name], Field(min_length=1, max_length=10_000)] | None = None


class SplitSection(Section):
    """Which points are for training and which for testing; classes keep their shares.

    Attributes
    ----------
    test, train
        Numbers of points, or fractions of all. Without ``train``, all the others; with
        ``test = 0`` all points are for training, and predictions come later.
    seed
        Of the shuffle.
    """

    test: TestSize = 0.25
    train: Size | None = None
    seed: Seed = 0


class FeatureMapSection(Section):
    """How a point becomes a circuit.

    Attributes
    ----------
    map
        ``zz``, ``zz-full`` or ``z``; a file ending in .qpy or .qasm (OpenQASM 3) inside the
        study file's directory; or ``module:function``, which runs only with ``--allow-code``.
    qubits
        Qubits of a built-in map, one per feature. A circuit of your own has as many features
        as parameters.
    reps
        Repetitions of a built-in map's layers.
    reduce
        ``pca`` keeps the first principal components where there are more columns than features;
        ``none`` refuses.
    range
        Interval each feature is scaled to.
    """

    map: Name = "zz"
    qubits: Annotated[int, Field(ge=1, le=MAX_QUBITS)] | None = None
    reps: Annotated[int, Field(ge=1, le=MAX_REPS)] = DEFAULT_REPS
    reduce: Literal["pca", "none"] = "pca"
    range: Annotated[
        list[Annotated[float, Field(ge=-1e6, le=1e6)]], Field(min_length=2, max_length=2)
    ] = Field(default=[0.0, 3.141592653589793])

    @field_validator("map")
    @classmethod
    def _known(cls, value: str) -> str:
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
        return self


class MethodSection(Section):
    """How the shots are spent and read.

    Attributes
    ----------
    design
        What a shot is spent on: ``pairs``, ``points``, or ``auto``, which takes the one with the
        smaller error; see :func:`aqka.sessions.choose_design`.
    allocator
        A name from :func:`aqka.allocator_names`; of points, from
        :func:`aqka.allocators.points.point_allocator_names`, where ``uniform`` is ``even``.
    head
        ``ridge`` or ``svm``.
    readout
        A name from :func:`aqka.readout_names`; None takes the default, ``svm`` for that
        head, and ``auto`` with the allocator of this name.
    ridge, C
        Of the head whose loss the allocator follows; see :class:`~aqka.Problem`.
    warmup, rounds, explore
        See :class:`~aqka.Schedule`; None takes the allocator's own.
    seed
        Of the allocation.
    calibration_shots
        Of ``points``: shots of the training budget for a calibration of the readout; see
        :class:`aqka.sessions.PointAcquisition`.
    point_kernel
        Of ``points``: which kernel is read out of the counts, a name from
        :func:`aqka.sessions.point_kernel_names`; None takes the fidelity up to eight qubits.
    """

    design: Literal["pairs", "points", "auto"] = "pairs"
    allocator: str = DEFAULT_ALLOCATOR
    head: Literal["ridge", "svm"] = "ridge"
    readout: str | None = None
    ridge: Positive = 0.01
    C: Positive = 5.0
    warmup: Fraction | None = None
    rounds: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] | None = None
    explore: Fraction | None = None
    seed: Seed = 0
    calibration_shots: Annotated[int, Field(ge=0, le=10**9, multiple_of=2)] = 0
    point_kernel: str | None = None

    @field_validator("allocator")
    @classmethod
    def _known_allocator(cls, value: str) -> str:
        if value.endswith("-oracle"):
            raise ValueError("an oracle knows the true kernel, which a study does not have")
        return known_name(value, [*allocator_names(), *point_allocator_names()], "allocator")

    @field_validator("readout")
    @classmethod
    def _known_readout(cls, value: str | None) -> str | None:
        return value if value is None else known_name(value, readout_names(), "readout")

    @field_validator("point_kernel")
    @classmethod
    def _known_kernel(cls, value: str | None) -> str | None:
        return value if value is None else known_name(value, point_kernel_names(), "point_kernel")

    @model_validator(mode="after")
    def _consistent(self) -> "MethodSection":
        if self.readout is not None and (self.readout == "svm") != (self.head == "svm"):
            raise ValueError(f"readout {self.readout!r} does not train the head {self.head!r}")
        if self.calibration_shots and self.design != "points":
            raise ValueError("calibration_shots are for design = 'points'")
        if self.point_kernel is not None and self.design != "points":
            raise ValueError(
                f"point_kernel {self.point_kernel!r} is for design = 'points', design is "
                f"{self.design!r}"
            )
        of_points = self.allocator in point_allocator_names()
        if of_points and self.design != "points":
            raise ValueError(f"allocator {self.allocator!r} is for design = 'points'")
        if self.design != "pairs" and not of_points and self.allocator != DEFAULT_ALLOCATOR:
            raise ValueError(
                f"allocator {self.allocator!r} is for pairs, design is {self.design!r}; of points "
                f"there are {', '.join(point_allocator_names())}"
            )
        return self


class Study(Section):
    """A whole study file.

    Attributes
    ----------
    output
        Directory of the run, inside the study file's directory; None takes the file's name
        under ``runs``.
    data, split, feature_map, backend, budget, sentinels, method
        Its tables.
    """

    output: Name | None = None
    data: DataSection
    split: SplitSection = SplitSection()
    feature_map: FeatureMapSection = FeatureMapSection(qubits=4)
    backend: BackendSection = BackendSection()
    budget: BudgetSection
    sentinels: SentinelSection = SentinelSection()
    method: MethodSection = MethodSection()

    @model_validator(mode="after")
    def _consistent(self) -> "Study":
        if self.data.task == "regression" and self.method.head == "svm":
            raise ValueError("method.head 'svm' is for classes; data.task is 'regression'")
        if self.backend.name == "matrix-product" and self.method.design != "points":
            raise ValueError(
                "backend.name 'matrix-product' measures points: set method.design = 'points'"
            )
        if self.method.design != "pairs" and self.sentinels.points:
            raise ValueError("sentinels are diagonal entries: method.design must be 'pairs'")
        return self


def parse_study(text: str, name: str = "study") -> Study:
    """Return the study that a TOML text describes, or say which line is wrong.

    Examples
    --------
    >>> text = '''
    ... [data]
    ... source = "moons"
    ... [budget]
    ... train = "2e4 shots"
    ... '''
    >>> parse_study(text).budget.train
    '2e4 shots'
    >>> parse_study(text + "test_shot = 10")
    Traceback (most recent call last):
    aqka.errors.InputError: study, line 6: unknown key 'test_shot' in [budget]. Did you mean ...
    """
    refuse_secrets(text, None, name)
    if len(text) > MAX_STUDY_BYTES:
        raise InputError(f"{name} is longer than {MAX_STUDY_BYTES:,} bytes, the most there can be.")
    try:
        content: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a TOMLDecodeError is a ValueError
        reason = "it is nested too deep" if isinstance(error, RecursionError) else inert(error, 200)
        raise InputError(
            f"{name} is not complete TOML: {reason}. Mend that line; aqka init writes an example."
        ) from None
    refuse_secrets(text, content, name)
    try:
        return Study.model_validate(content)
    except ValidationError as error:
        raise InputError(explain(error, Study, text, name)) from None


def load_study(path: Path) -> tuple[Study, str]:
    """Return the study of a file, and its text."""
    text = read_text(path, MAX_STUDY_BYTES, "a study file")
    return parse_study(text, inert(path.name)), text
