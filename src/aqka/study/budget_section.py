"""The tables [budget] and [sentinels] of a study file: what may be spent, and on what besides."""

from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from aqka.planning.budget import parse_budget
from aqka.planning.quotes import MAX_QUEUE, MAX_RATE
from aqka.planning.split import DEFAULT_TEST_SHOTS
from aqka.study.section import Section


class BudgetSection(Section):
    """What may be spent: ``total`` for everything, or ``train`` with predictions on top.

    Attributes
    ----------
    total
        For training, predictions and sentinels together: shots, QPU time or money; see
        :func:`aqka.planning.parse_budget`. Also a ceiling: nothing is submitted beyond it.
    train_share
        Of ``total``: the training kernel's share. None splits with a reason; see
        :func:`aqka.planning.split_budget`.
    train
        For the training kernel alone.
    test_shots
        For predictions, on top of ``train`` or out of ``total``: at most so many shots, on average,
        for each pair of a test and a training point; with ``design = "points"`` for each test
        point, by default as many as a training point gets. 0 trains without predicting.
    ceiling
        Before every submission what was used and the next job's quote must fit under it, or the
        run stops; None takes ``total``.
    rate
        Price of a QPU minute, which a budget in money needs.
    queue
        Jobs that wait before each of ours, for the quote.
    """

    total: str | int | None = None
    train_share: Annotated[float, Field(gt=0, lt=1)] | None = None
    train: str | int | None = None
    test_shots: Annotated[int, Field(ge=0, le=10**6)] = DEFAULT_TEST_SHOTS
    ceiling: str | int | None = None
    rate: Annotated[float, Field(gt=0, le=MAX_RATE)] | None = None
    queue: Annotated[int, Field(ge=0, le=MAX_QUEUE)] = 0

    @field_validator("total", "train", "ceiling", mode="before")
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
        if self.train_share is not None and self.total is None:
            raise ValueError("train_share is a share of total; give total instead of train")
        if self.train_share is not None and "test_shots" in self.model_fields_set:
            raise ValueError("train_share and test_shots both say what predictions get; give one")
        return self

    @property
    def wanted_test_shots(self) -> int | None:
        """Shots of each pair, or test point, for predictions; None where the study says nothing."""
        return self.test_shots if "test_shots" in self.model_fields_set else None


class SentinelSection(Section):
    """Diagonal entries that are measured in every training round; see ``aqka.backends.sentinel``.

    Attributes
    ----------
    points
        How many training points' K_ii; 0 measures none.
    shots
        Shots of each, in every round, on top of the training shots.
    mitigate
        Whether the depolarising noise that they show is taken out of the kernel and of the
        predictions.
    """

    points: Annotated[int, Field(ge=0, le=1000)] = 0
    shots: Annotated[int, Field(ge=1, le=10**6)] = 100
    mitigate: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> "SentinelSection":
        if self.points == 0 and self.model_fields_set - {"points"}:
            raise ValueError("points is missing: how many training points to measure, such as 4")
        return self
