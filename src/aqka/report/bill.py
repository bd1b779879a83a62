"""What a run cost in all: training and predictions, as reported and as its quote's device would."""

from typing import NamedTuple

from aqka.planning.budget import price
from aqka.planning.device import HERON
from aqka.planning.quotes import Quote
from aqka.runs.audit import Audit


class BillRow(NamedTuple):
    """One figure of the bill; None where it is not known."""

    figure: str
    training: float | None
    predictions: float | None
    sentinels: float | None = 0.0

    @property
    def total(self) -> float | None:
        """All together, where all are known."""
        if self.training is None or self.predictions is None or self.sentinels is None:
            return None
        return self.training + self.predictions + self.sentinels


def bill(
    training: Audit,
    predictions: Audit | None,
    quoted: Quote | None,
    rate: float | None,
    sentinels: int = 0,
) -> list[BillRow]:
    """Return shots, QPU time and money of training, predictions and sentinels.

    Sentinels ride in the jobs of the others, so their reported time is in that of those.
    A simulator reports no QPU time. What the same shots would take on the device that the quote
    is for is an estimate: a fixed time for each job, and one execution for as many shots as there
    are tiles.
    """
    parts = (training, predictions)
    used = [None if part is None else part.qpu_seconds for part in parts]
    rows = [
        BillRow(
            "shots", training.shots, 0 if predictions is None else predictions.shots, sentinels
        ),
        BillRow("QPU seconds, as the backend reported", *used),
    ]
    estimated = [_estimate(part, quoted) for part in parts]
    if quoted is not None:
        estimated.append(_executions(sentinels, quoted) * quoted.execution_seconds)
        rows.append(BillRow("QPU seconds, estimated for the quoted device", *estimated))
    if rate is not None:
        told = any(seconds is not None for seconds in used)
        name = "cost" if told else "cost, estimated"
        if quoted is not None and quoted.currency:
            name = f"{name}, {quoted.currency}"
        rows.append(BillRow(name, *(_price(one, rate) for one in (used if told else estimated))))
    return rows


def _estimate(part: Audit | None, quoted: Quote | None) -> float | None:
    if quoted is None:
        return None
    if part is None:
        return 0.0
    executions = _executions(part.shots, quoted)
    return part.rounds * HERON.job_overhead + executions * quoted.execution_seconds


def _executions(shots: int, quoted: Quote) -> int:
    return -(-shots // quoted.tiles)


def _price(seconds: float | None, rate: float) -> float | None:
    return None if seconds is None else price(seconds, rate)
