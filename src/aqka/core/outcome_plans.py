"""Plans whose rows read all qubits, and are answered by how often each bitstring was seen."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from aqka._util.arrays import IntArray
from aqka.core.outcomes import WORD_BITS, OutcomeCounts, outcomes_shape, words_of
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
        seen = answer.outcomes if len(answer.rows) else self.no_answer().outcomes
        answer = OutcomeCounts(answer.rows, seen, answer.counts)
        check_outcomes(self, answer)
        return answer

    def no_answer(self) -> OutcomeCounts:
        """Return no outcomes."""
        none = np.zeros(0, dtype=np.int64)
        return OutcomeCounts(none, none.reshape(outcomes_shape(0, self.n_qubits)), none)

    @property
    @abstractmethod
    def _measured(self) -> tuple[IntArray, IntArray]:
        """The point, or what stands for it, and the setting of each row."""

    def to_ledger(self) -> tuple[dict[str, Any], dict[str, IntArray]]:
        """Return the facts and columns that a ledger keeps."""
        facts, columns = super().to_ledger()
        return facts | {"qubits": self.n_qubits}, columns

    def answer_to_ledger(self, answer: OutcomeCounts) -> dict[str, IntArray]:
        """Return the columns of the outcomes, those of many qubits number after number."""
        return {name: getattr(answer, name).reshape(-1) for name in COLUMNS}

    def answer_from_ledger(self, columns: Mapping[str, IntArray]) -> OutcomeCounts:
        """Return a ledger's outcomes, checked."""
        rows, outcomes, counts = (columns[name] for name in COLUMNS)
        shape = outcomes_shape(len(rows), self.n_qubits)
        if outcomes.size == math.prod(shape):  # what does not fit is refused below
            outcomes = outcomes.reshape(shape)
        return self.checked(OutcomeCounts(rows, outcomes, counts))

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
    shape = outcomes_shape(len(answer.rows), plan.n_qubits)
    if answer.outcomes.shape != shape:
        raise InputError(
            f"outcomes of {plan.n_qubits} qubits must have shape {shape}, a number for each "
            f"{WORD_BITS} qubits, got {answer.outcomes.shape}."
        )
    # All but the last number of a row are full.
    words = words_of(answer.outcomes)
    bits = np.append(np.full(words.shape[1] - 1, WORD_BITS), (plan.n_qubits - 1) % WORD_BITS + 1)
    wrong, word = np.nonzero(words >= 1 << bits)
    if wrong.size:
        k = word[0]
        of = "" if words.shape[1] == 1 else f" in number {k}"
        raise InputError(
            f"outcomes must be below 2**{bits[k]}{of} for {plan.n_qubits} qubits, got "
            f"{words[wrong[0], k]} ({wrong.size} such entries)."
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
