"""What a run buys beside its training shots: predictions, sentinels, calibration."""

from dataclasses import dataclass

from aqka._util.arrays import as_count, as_fraction
from aqka.errors import InputError
from aqka.planning.split import BudgetSplit, Design, split_budget
from aqka.planning.usage import Usage
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
        Shots of each pair of a new and a training point, in place of a share; training gets the
        rest.
    sentinel_shots
        Shots on diagonal entries in every training round.
    calibration_shots
        Shots of a calibration round.
    on_top
        Whether the budget is for training alone, and all of this comes on top of it.
    design
        What a shot is spent on; only used for the split.
    """

    new_points: int = 0
    train_share: float | None = None
    test_shots: int | None = None
    sentinel_shots: int = 0
    calibration_shots: int = 0
    on_top: bool = False
    design: Design = "pairs"

    def __post_init__(self) -> None:
        """Check the counts and the share."""
        for name in ("new_points", "sentinel_shots", "calibration_shots"):
            as_count(getattr(self, name), name, minimum=0)
        if self.train_share is not None and not 0 < as_fraction(self.train_share, "share") < 1:
            raise InputError(
                f"train_share must lie between 0 and 1, got {self.train_share!r}; for training "
                "alone predict no points."
            )

    def split(self, shots: int, n_points: int) -> BudgetSplit:
        """Return training and prediction shots of so many for both; of training alone, on top."""
        if self.new_points == 0:
            return BudgetSplit(shots, 0, "")
        if self.test_shots is not None:
            wanted = self.new_points * n_points * as_count(self.test_shots, "test_shots", minimum=0)
            reason = f"predictions get the {self.test_shots} shots a pair asked for."
            return BudgetSplit(shots if self.on_top else shots - wanted, wanted, reason)
        if self.train_share is not None:
            train = min(max(round(self.train_share * shots), 1), shots - 1)
            reason = f"{self.train_share:.0%} for training, as asked for."
            return BudgetSplit(train, shots - train, reason)
        return split_budget(shots, n_points, self.new_points, self.design)

    def parts(self, split: BudgetSplit, usage: Usage) -> tuple[QuotePart, ...]:
        """Return what is bought beside the training shots."""
        found = []
        execution, overhead = usage.execution_seconds, usage.device.job_overhead
        if split.prediction:
            rounds = min(ROUNDS, split.prediction)
            # At most: whatever the rounds' sizes, each begins at most one job that is not full.
            executions = usage.executions(split.prediction)
            jobs = rounds + executions // usage.device.max_executions
            seconds = jobs * overhead + executions * execution
            found.append(QuotePart(PREDICTIONS, split.prediction, rounds, jobs, seconds))
        if self.sentinel_shots:
            shots = self.sentinel_shots * len(usage.rounds(split.training))
            seconds = usage.executions(shots) * execution
            found.append(QuotePart(SENTINELS, shots, 0, 0, seconds))
        if self.calibration_shots:
            shots, jobs = self.calibration_shots, usage.jobs(self.calibration_shots)
            seconds = jobs * overhead + usage.executions(shots) * execution
            found.append(QuotePart(CALIBRATION, shots, 1, jobs, seconds))
        return tuple(found)
