"""The test-by-train kernel of a run, measured evenly, with a ledger of its own."""

from pathlib import Path
from typing import Any

import numpy as np

from aqka.arrays import FloatArray, IntArray
from aqka.backends import Backend
from aqka.errors import JobError, LedgerError
from aqka.ledger import Ledger
from aqka.plan import ShotPlan
from aqka.run import Patience, check_fingerprint, new_run_id, recorded_plan
from aqka.version import __version__

PREDICTIONS_NAME = "predictions.sqlite"


def measure_block(
    backend: Backend, shots: int, directory: Path, patience: Patience | None = None
) -> tuple[FloatArray, float | None]:
    """Return a rectangular kernel from so many shots a pair, and the QPU seconds reported.

    As in a run, every step is in a ledger before it is relied on, so that after a crash no job
    is sent twice.
    """
    with Ledger(directory / PREDICTIONS_NAME, write=True) as ledger:
        block = _Block(backend, shots, ledger, patience or Patience())
        failures = 0
        while block.left.any():
            failures = 0 if block.round() else failures + 1
            if failures == block.patience.failed_rounds:
                raise JobError(f"{failures} jobs for predictions in a row gave no shots.")
        block.finish()
    rows, cols = backend.shape
    return (block.hits / shots).reshape(rows, cols), block.qpu_seconds


class _Block:
    """Shots left and hits of every pair of a test and a training point."""

    def __init__(self, backend: Backend, shots: int, ledger: Ledger, patience: Patience) -> None:
        rows, cols = backend.shape
        self.backend, self.patience = backend, patience
        self._ledger = ledger
        self._columns = cols
        self.left: IntArray = np.full(rows * cols, shots, dtype=np.int64)
        self.hits: IntArray = np.zeros(rows * cols, dtype=np.int64)
        self.qpu_seconds: float | None = None
        self._round = 0
        self._plan: ShotPlan | None = None
        self._ticket: str | None = None
        self._finished = False
        identify = getattr(backend, "fingerprint", None)
        facts = {
            "backend": identify() if identify is not None else type(backend).__name__,
            "budget": str(rows * cols * shots),
            "points": str(max(rows, cols, 2)),
            "diagonal": "measured",
        }
        self._take_up(facts)

    def _take_up(self, facts: dict[str, str]) -> None:
        entries = self._ledger.read()
        if not entries:
            self._run_id = new_run_id()
            about = {"fingerprint": facts, "version": __version__, "run_id": self._run_id}
            self._ledger.append("started", body=about)
            return
        check_fingerprint(entries, facts)
        self._run_id = str(entries[0].body.get("run_id"))
        for entry in entries[1:]:
            try:
                if entry.kind == "planned":
                    self._plan = recorded_plan(entry)
                elif entry.kind == "submitted":
                    self._ticket = str(entry.body["ticket"])
                elif entry.kind in ("collected", "failed"):
                    shots = entry.arrays.get("shots")
                    self._tell(entry.arrays["hits"], shots, entry.body.get("qpu_seconds"))
                self._finished = entry.kind == "finished"
            except (KeyError, ValueError, IndexError, AttributeError, TypeError) as error:
                raise LedgerError(
                    f"{PREDICTIONS_NAME} is not sound: entry {entry.number}: {error}."
                ) from error

    def round(self) -> bool:
        """Measure what is left; return whether it brought any shots."""
        recovering = self._plan is not None
        if self._plan is None:
            index = np.flatnonzero(self.left)
            rows, cols = np.divmod(index, self._columns)
            self._plan = ShotPlan(rows, cols, self.left[index])
        plan = self._plan
        ticket = self._submitted(plan, recovering)
        try:
            hits = self.patience.call(lambda: self.backend.collect(ticket))
        except JobError as error:
            none = np.zeros_like(plan.shots)
            shots, hits = error.partial or (none, none)
            self._write("failed", {"reason": str(error)}, shots=shots, hits=hits)
            self._tell(hits, shots, None)
            return bool(shots.any())
        usage = getattr(self.backend, "usage", {}).get(ticket)
        self._write("collected", {"qpu_seconds": usage}, hits=hits)
        self._tell(hits, None, usage)
        return True

    def finish(self) -> None:
        """Write that all is measured, once."""
        if not self._finished:
            self._ledger.append("finished")

    def _submitted(self, plan: ShotPlan, recovering: bool) -> str:
        replayable = getattr(self.backend, "replayable", False)
        if self._ticket is not None and not replayable:
            return self._ticket
        tag = f"aqka-predictions-r{self._round}"
        if not replayable:
            tag += f"-{self._run_id}"
        if not recovering:
            arrays = {"rows": plan.rows, "cols": plan.cols, "shots": plan.shots}
            self._write("planned", {"tag": tag}, **arrays)
        recover = getattr(self.backend, "recover", None)
        ticket: str | None = None
        if recovering and recover is not None:
            ticket = self.patience.call(lambda: recover(plan, tag))
        if ticket is None:
            ticket = self.patience.call(lambda: self.backend.submit(plan, tag))
        if self._ticket is None:
            self._write("submitted", {"ticket": ticket})
        return ticket

    def _tell(self, hits: IntArray, shots: IntArray | None, usage: Any) -> None:
        assert self._plan is not None
        done = self._plan if shots is None else self._plan.cut_to(shots)
        index = done.rows * self._columns + done.cols
        np.subtract.at(self.left, index, done.shots)
        np.add.at(self.hits, index, hits)
        if self.left.min() < 0 or np.any(hits < 0) or np.any(hits > done.shots):
            raise ValueError("its counts do not fit the plan")
        if isinstance(usage, int | float) and 0 <= usage < float("inf"):
            self.qpu_seconds = (self.qpu_seconds or 0.0) + usage
        self._plan, self._ticket = None, None
        self._round += 1

    def _write(self, kind: str, body: dict[str, Any], **arrays: IntArray) -> None:
        self._ledger.append(kind, round=self._round, body=body, **arrays)
