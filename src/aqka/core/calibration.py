"""The calibration of the readout: known states to measure, and what was read of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from aqka._util.arrays import IntArray, as_count
from aqka.core.outcomes import OutcomeCounts, outcomes_of_bits
from aqka.core.plans import UnitTable
from aqka.core.point_plans import OutcomePlan
from aqka.core.settings import as_qubits
from aqka.errors import InputError

N_REFERENCES = 2
NO_SETTING = -1  # stands for the setting of reference states, which are measured as they are


@dataclass(frozen=True, eq=False)
class CalibrationPlan(OutcomePlan):
    """Shots to spend on reference states, one row each: what is read of them is known before.

    Parameters
    ----------
    references : array of int
        0 for all qubits prepared in 0, 1 for all prepared in 1.
    shots : array of int
        Shots for each row.
    qubits : int
        Number of qubits, those of the points whose readout it is.

    Examples
    --------
    >>> plan = CalibrationPlan([0, 1], [500, 500], qubits=3)
    >>> plan.total, plan.no_errors().outcomes
    (1000, array([0, 7]))
    """

    references: IntArray
    shots: IntArray
    qubits: int
    ROWS: ClassVar[tuple[str, ...]] = ("references",)
    calibrates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        as_qubits(self.qubits)
        if self.references.size and self.references.max() >= N_REFERENCES:
            raise InputError(
                "references of the plan must be 0 (all qubits in 0) or 1 (all in 1), got "
                f"{self.references.max()}."
            )

    @property
    def n_qubits(self) -> int:
        """Qubits that each row measures."""
        return self.qubits

    def describe_row(self, row: int) -> str:
        """Return what a row measures, in words."""
        return f"the reference state of all qubits in {self.references[row]}"

    @classmethod
    def from_ledger(cls, facts: Mapping[str, Any], columns: Mapping[str, IntArray]) -> Self:
        """Return the plan of a ledger's facts and columns."""
        return cls(columns["references"], columns["shots"], facts["qubits"])

    def counted(self, answer: OutcomeCounts) -> tuple[IntArray, ...]:
        """Return reference state, no setting, outcome and count of all that was seen."""
        references, *seen = super().counted(answer)
        return references, np.full_like(references, NO_SETTING), *seen

    def no_errors(self) -> OutcomeCounts:
        """Return the answer of a device that reads every bit as it is."""
        rows = np.flatnonzero(self.shots)
        bits = np.repeat(self.references[rows, None], self.qubits, axis=1)
        return OutcomeCounts(rows, outcomes_of_bits(bits), self.shots[rows])


class CalibrationTable(UnitTable):
    """What was read of the reference states.

    Parameters
    ----------
    n_qubits : int
        Number of qubits.

    Attributes
    ----------
    shots
        Shots of each reference state.
    answer
        The outcomes; row 0 is the state of all qubits in 0, row 1 that of all in 1. What
        ``aqka.estimates.readout.confusion_matrices`` takes.

    Examples
    --------
    >>> table = CalibrationTable(1)
    >>> plan = CalibrationPlan([0, 1], [5, 4], qubits=1)
    >>> table.add(plan, OutcomeCounts([0, 0, 1], [0, 1, 1], [3, 2, 4]))
    >>> table.shots, table.total
    (array([5, 4]), 9)
    """

    PLAN = CalibrationPlan

    def __init__(self, n_qubits: int) -> None:
        self.n_qubits = as_count(n_qubits, "n_qubits")
        self.shots: IntArray = np.zeros(N_REFERENCES, dtype=np.int64)
        self.answer = self.missing(0).no_answer()

    def _figures(self) -> dict[str, object]:
        return {"qubits": self.n_qubits, "shots": self.total}

    def add(self, plan: CalibrationPlan, answer: OutcomeCounts) -> None:
        """Count the outcomes of an executed plan; on bad input the table is unchanged."""
        if plan.n_qubits != self.n_qubits:
            raise InputError(
                f"the plan calibrates {plan.n_qubits} qubits, the table has {self.n_qubits}."
            )
        answer, known = plan.checked(answer), self.answer
        np.add.at(self.shots, plan.references, plan.shots)
        self.answer = OutcomeCounts(
            np.concatenate([known.rows, plan.references[answer.rows]]),
            np.concatenate([known.outcomes, answer.outcomes]),
            np.concatenate([known.counts, answer.counts]),
        )

    def missing(self, shots: int) -> CalibrationPlan:
        """Return the plan of what each reference state lacks of so many shots."""
        lacks = np.maximum(as_count(shots, "shots", minimum=0) - self.shots, 0)
        which = np.flatnonzero(lacks)
        return CalibrationPlan(which, lacks[which], self.n_qubits)
