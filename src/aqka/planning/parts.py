"""What a run buys beside its training shots: predictions, sentinels, calibration."""

from dataclasses import dataclass

from aqka._util.arrays import as_count
from aqka.planning.split import Split, split_shots
from aqka.planning.usage import Usage
from aqka.sessions.point_prediction import LOOKS
from aqka.sessions.prediction import ROUNDS

PREDICTIONS, SENTINELS, CALIBRATION = "predictions", "sentinels", "calibration"


@dataclass(frozen=True)
class QuotePart:
    """A part of the bill beside the training shots.

    Attributes
    ----------
    name
        ``predictions``, ``sentinels`` or ``calibration``.
    shots
        Shots, at most.
    submissions, jobs
        Submissions and jobs of its own; sentinels ride along with training.
    qpu_seconds
        QPU time.
    """

    name: str
    shots: int
    submissions: int
    jobs: int
    qpu_seconds: float


@dataclass(frozen=True)
class Wish:
    """What is wanted beside the training shots, out of the same budget.

    Attributes
    ----------
    new_points
        Points to predict.
    train_share
        The training kernel's share of the shots for both, as its user wants it; None splits with a
        reason, by :func:`~aqka.planning.split_budget`.
    test_shots
        Shots of each pair of a new and a training point, or of each new point where points are
        measured, in place of a share; training gets the rest.
    sentinel_shots
        Shots on diagonal entries in every training round.
    calibration_shots
        Shots of a calibration round, part of what training may spend.
    on_top
        Whether the budget is for training alone, and predictions and sentinels come on top of it.
    design
        What a shot is spent on: of it depend the split, the depth and the rounds of predictions.
    """

    new_points: int = 0
    train_share: float | None = None
    test_shots: int | None = None
    sentinel_shots: int = 0
    calibration_shots: int = 0
    on_top: bool = False
    design: str = "pairs"

    def __post_init__(self) -> None:
        """Check the counts."""
        for name in ("new_points", "sentinel_shots", "calibration_shots"):
            as_count(getattr(self, name), name, minimum=0)

    def split(self, shots: int, n_points: int) -> Split:
        """Return training and prediction shots of so many for both; of training alone, on top."""
        if self.on_top:
            wanted = self.new_points * n_points * (self.test_shots or 0)
            if self.design == "points":  # by default a new point gets what a training point gets
                each = shots // n_points if self.test_shots is None else self.test_shots
                wanted = self.new_points * each
            return Split(shots, wanted, "predictions get the shots asked for, on top.")
        return split_shots(
            shots,
            n_points,
            self.new_points,
            design=self.design,
            train_share=self.train_share,
            test_shots=self.test_shots,
        )

    def parts(self, split: Split, usage: Usage) -> tuple[QuotePart, ...]:
        """Return what is bought beside the training shots."""
        found = []
        execution, overhead = usage.execution_seconds, usage.device.job_overhead
        if split.predict:
            rounds = min(LOOKS if self.design == "points" else ROUNDS, split.predict)
            # At most: whatever the rounds' sizes, each begins at most one job that is not full.
            executions = usage.executions(split.predict)
            jobs = rounds + executions // usage.device.max_executions
            seconds = jobs * overhead + executions * execution
            found.append(QuotePart(PREDICTIONS, split.predict, rounds, jobs, seconds))
        if self.sentinel_shots:
            shots = self.sentinel_shots * len(usage.rounds(split.train))
            seconds = usage.executions(shots) * execution
            found.append(QuotePart(SENTINELS, shots, 0, 0, seconds))
        if self.calibration_shots:
            shots, jobs = self.calibration_shots, usage.jobs(self.calibration_shots)
            seconds = jobs * overhead + usage.executions(shots) * execution
            found.append(QuotePart(CALIBRATION, shots, 1, jobs, seconds))
        return tuple(found)
