"""What the tables of a study file are made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

MAX_SEED = 2**31 - 1

Name = Annotated[str, Field(min_length=1, max_length=300)]
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Code = Annotated[
    str, Field(min_length=3, max_length=300, pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
]
Positive = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class Section(BaseModel):
    """A table of the study file: fixed once read, and without unknown keys."""

    # Values must have their type: "4" is not taken for 4. A message never repeats a value,
    # which may be a secret in the wrong place.
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, hide_input_in_errors=True, allow_inf_nan=False
    )
