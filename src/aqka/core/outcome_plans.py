"""Plans whose rows read all qubits, and are answered by how often each bitstring was seen."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from aqka._util.arrays import IntArray
from aqka.core.outcomes import OutcomeCounts
from aqka.core.plans import Plan
from aqka.errors import InputError

COLUMNS = ("rows", "outcomes", "counts")


class OutcomePlan(Plan):
    """Rows that prepare some state and read all qubits; a subclass says which state."""

    @property
    @abstractmethod
    def n_qubits(self) -> int:
        """Qubits that each row measures."""

    @abstractmethod
    def describe_row(self, row: int) -> str:
        """Return what a row measures, in words."""

    def checked(self, answer: object) -> OutcomeCounts:
        """Return the outcomes that came back, or say what of them does not fit."""
        if not isinstance(answer, OutcomeCounts):
            raise InputError(
                "the answer to a plan of points must be OutcomeCounts(rows, outcomes, counts), "
                f"got {type(answer).__name__}."
            )
        # Made anew: a backend may answer with a class of its own, or change the answer later.
        answer = OutcomeCounts(answer.rows, answer.outcomes, answer.counts)
        check_outcomes(self, answer)
        return answer

    def no_answer(self) -> OutcomeCounts:
        """Return no outcomes."""
        none = np.zeros(0, dtype=np.int64)
        return OutcomeCounts(none, none, none)

    @property
    @abstractmethod
    def _measured(self) -> tuple[IntArray, IntArray]:
        """The point, or what stands for it, and the setting of each row."""

    def to_ledger(self) -> tuple[dict[str, Any], dict[str, IntArray]]:
        """Return the facts and columns that a ledger keeps."""
        return {"qubits": self.n_qubits}, super().to_ledger()[1]

    def answer_to_ledger(self, answer: OutcomeCounts) -> dict[str, IntArray]:
        """Return the columns of the outcomes."""
        return {name: getattr(answer, name) for name in COLUMNS}

    def answer_from_ledger(self, columns: Mapping[str, IntArray]) -> OutcomeCounts:
        """Return a ledger's outcomes, checked."""
        return self.checked(OutcomeCounts(*(columns[name] for name in COLUMNS)))

    def counted(self, answer: OutcomeCounts) -> tuple[IntArray, ...]:
        """Return point, setting, outcome and count of all that was seen."""
        points, settings = self._measured
        return points[answer.rows], settings[answer.rows], answer.outcomes, answer.counts


def check_outcomes(plan: OutcomePlan, answer: OutcomeCounts) -> None:
    """Say what of ``answer`` does not fit ``plan``: unknown rows, wrong bits, wrong sums."""
    if answer.rows.size and answer.rows.max() >= len(plan):
        raise InputError(
            f"rows must name rows of the plan, 0 to {len(plan) - 1}, got {answer.rows.max()}."
        )
    wrong = np.flatnonzero(answer.outcomes >= 2**plan.n_qubits)
    if wrong.size:
        raise InputError(
            f"outcomes must be below 2**{plan.n_qubits} for {plan.n_qubits} qubits, got "
            f"{answer.outcomes[wrong[0]]} ({wrong.size} such entries)."
        )
    if answer.counts.size and answer.counts.max() > plan.total:  # so that no sum can wrap around
        raise InputError(
            f"counts must be at most the {plan.total} shots of the plan, got {answer.counts.max()}."
        )
    seen = np.zeros(len(plan), dtype=np.int64)
    np.add.at(seen, answer.rows, answer.counts)
    wrong = np.flatnonzero(seen != plan.shots)
    if wrong.size:
        k = int(wrong[0])
        raise InputError(
            f"counts must sum to the shots of their row: {plan.describe_row(k)} had "
            f"{plan.shots[k]} shots, got {seen[k]} outcomes ({wrong.size} such rows); where a "
            "round was cut, cut its plan first (cut_to)."
        )
