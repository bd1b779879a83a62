"""The quote before the spend: what a budget buys, how long it takes and what it costs."""

from dataclasses import dataclass, replace
from typing import Any

from aqka._util.arrays import as_count, as_positive
from aqka._util.shown import Shown
from aqka.allocators.schedule import Schedule
from aqka.core.pairs import Diagonal
from aqka.errors import InputError
from aqka.planning.advice import advise, warn
from aqka.planning.budget import Budget, Money, affordable_shots, as_budget, duration, price
from aqka.planning.device import HERON, DeviceModel, Usage
from aqka.planning.split import PairCosts, Split, costs_of, split_budget

# Far beyond what anyone runs; they keep a slip of the keyboard from overflowing.
MAX_POINTS = 10**6
MAX_QUBITS = 10**4
MAX_DEPTH = 10**7
MAX_QUEUE = 10**6
MAX_ROUNDS = 1000
MAX_RATE = 1e9

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
        Training's share of the shots for both; None splits with a reason, by
        :func:`~aqka.planning.split_budget`.
    test_shots
        Shots for each pair of a new and a training point, or for each new point where the design
        is points, in place of a share; training gets the rest.
    sentinel_shots
        Shots on diagonal entries in every training round.
    calibration_shots
        Shots of a calibration round, part of what training may spend.
    on_top
        Whether the budget is for training alone, and predictions and sentinels come on top of it.
    design
        What a shot is spent on, ``"pairs"`` or ``"points"``.
    """

    new_points: int = 0
    train_share: float | None = None
    test_shots: int | None = None
    sentinel_shots: int = 0
    calibration_shots: int = 0
    on_top: bool = False
    design: str = "pairs"

    def __post_init__(self) -> None:
        """Check the counts and the design."""
        for name in ("new_points", "sentinel_shots", "calibration_shots"):
            as_count(getattr(self, name), name, minimum=0)
        costs_of(self.design)

    @property
    def costs(self) -> PairCosts:
        """What depends on the design."""
        return costs_of(self.design)

    def least_shots(self, n_points: int) -> int:
        """Return the fewest shots for training and predictions: one for training at least."""
        if self.on_top or not self.new_points:
            return 1
        return 4 if self.test_shots is None else self.split(1, n_points).predict + 1

    def split(self, shots: int, n_points: int) -> Split:
        """Return the shots of training and of predictions; on top, all ``shots`` are training's."""
        if not self.on_top:
            return split_budget(
                shots,
                n_points,
                self.new_points,
                self.design,
                train_share=self.train_share,
                test_shots=self.test_shots,
            )
        wanted = self.costs.shots_on_top(shots, n_points, self.new_points)
        if self.test_shots is not None:
            wanted = self.test_shots * self.costs.new_units(n_points, self.new_points)
        return Split(shots, wanted, "predictions come on top of the training budget.")

    def parts(self, split: Split, usage: Usage) -> tuple[QuotePart, ...]:
        """Return what is bought beside the training shots."""
        found = []
        if split.predict:
            found.append(prediction_part(split.predict, self.design, usage))
        if self.sentinel_shots:
            shots = self.sentinel_shots * len(usage.rounds(split.train))
            seconds = usage.executions(shots) * usage.execution_seconds
            found.append(QuotePart(SENTINELS, shots, 0, 0, seconds))
        if self.calibration_shots:
            shots, jobs = self.calibration_shots, usage.jobs(self.calibration_shots)
            seconds = usage.job_seconds(jobs, usage.executions(shots))
            found.append(QuotePart(CALIBRATION, shots, 1, jobs, seconds))
        return tuple(found)


def prediction_part(shots: int, design: str, usage: Usage) -> QuotePart:
    """Return what predictions with so many shots cost, at most."""
    rounds = min(costs_of(design).prediction_rounds, shots)
    # Whatever the rounds' sizes, each begins at most one job that is not full.
    executions = usage.executions(shots)
    jobs = rounds + executions // usage.device.max_executions
    return QuotePart(PREDICTIONS, shots, rounds, jobs, usage.job_seconds(jobs, executions))


TRAINING_ALONE = Wish()


@dataclass(frozen=True, repr=False)
class Quote(Shown):
    """What a budget buys; made by :func:`aqka.quote`. All times are in seconds.

    The figures are those of the training kernel; ``parts`` has what is bought beside it, and the
    totals include everything.

    Attributes
    ----------
    n_points, n_qubits, depth
        The problem: points N, qubits, depth of the transpiled circuit that a shot runs.
    n_pairs
        Pairs that can be measured.
    shots
        Shots in all.
    tiles
        Copies of the circuit that run side by side on the chip.
    shots_per_pair
        Mean shots per pair.
    shots_per_round
        Shots of each submission, the warm-up first if there is one.
    jobs_per_round
        Jobs of each submission.
    execution_seconds
        QPU time of one execution.
    qpu_seconds
        QPU time of all jobs: what is billed outside a session.
    untiled_seconds
        QPU time of the same shots without tiles.
    queue_seconds
        Time spent waiting behind other jobs; the jobs of one submission wait together.
    classical_seconds
        Classical work between two submissions.
    transpile_seconds
        Time to transpile, once.
    wall_seconds
        Transpile + queue + QPU + classical time, from the start to the last result.
    session_seconds
        QPU + classical time: how long a session is active and what is billed in one.
    cost, untiled_cost
        Price of ``qpu_seconds`` and of ``untiled_seconds``, or None without a rate.
    currency
        The currency of the cost if the budget named it, else empty.
    warnings
        Limits of the device that would be hit.
    advice
        What rounds cost and whether they are worth it.
    parts
        Predictions, sentinels and calibration, as far as there are any.
    split
        Why training and predictions share the budget as they do; empty without predictions.
    """

    n_points: int
    n_qubits: int
    depth: int
    n_pairs: int
    shots: int
    shots_per_pair: float
    shots_per_round: tuple[int, ...]
    jobs_per_round: tuple[int, ...]
    execution_seconds: float
    qpu_seconds: float
    queue_seconds: float
    classical_seconds: float
    transpile_seconds: float
    wall_seconds: float
    session_seconds: float
    cost: float | None
    currency: str
    warnings: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    tiles: int = 1
    untiled_seconds: float = 0.0
    untiled_cost: float | None = None
    parts: tuple[QuotePart, ...] = ()
    split: str = ""
    design: str = "pairs"

    @property
    def units(self) -> tuple[str, int, str]:
        """What is measured for training, how many of it there are, and how that comes about."""
        costs = costs_of(self.design)
        return costs.unit, *costs.units(self.n_points, self.n_pairs)

    def _figures(self) -> dict[str, object]:
        unit, n_units, _ = self.units
        figures: dict[str, object] = {
            "points": self.n_points,
            "shots": self.shots,
            f"shots per {unit}": f"{self.shots / n_units:.3g}",
            "submissions": self.submissions,
            "jobs": self.jobs,
            "QPU time": duration(self.qpu_seconds),
            "wall time": duration(self.wall_seconds),
        }
        if self.cost is not None:
            figures["cost"] = f"{self.cost:,.2f} {self.currency}".strip()
        return figures

    @property
    def submissions(self) -> int:
        """How often something is submitted: the warm-up and the rounds."""
        return len(self.shots_per_round)

    @property
    def executions(self) -> int:
        """Executions in all, which are what is billed: one for ``tiles`` shots of a round."""
        return sum(-(-shots // self.tiles) for shots in self.shots_per_round)

    @property
    def jobs(self) -> int:
        """Jobs in all."""
        return sum(self.jobs_per_round)

    @property
    def total_shots(self) -> int:
        """Shots of everything, at most."""
        return self.shots + sum(part.shots for part in self.parts)

    @property
    def total_submissions(self) -> int:
        """Submissions of everything, at most."""
        return self.submissions + sum(part.submissions for part in self.parts)

    @property
    def total_jobs(self) -> int:
        """Jobs of everything, at most."""
        return self.jobs + sum(part.jobs for part in self.parts)

    @property
    def total_qpu_seconds(self) -> float:
        """QPU time of everything, at most."""
        return self.qpu_seconds + sum(part.qpu_seconds for part in self.parts)

    @property
    def total_wall_seconds(self) -> float:
        """Time from the start to the last prediction, at most."""
        wait = self.queue_seconds / self.submissions
        more = sum(part.qpu_seconds + part.submissions * wait for part in self.parts)
        return self.wall_seconds + more

    @property
    def total_cost(self) -> float | None:
        """Price of everything, at most, or None without a rate."""
        if self.cost is None or not self.qpu_seconds:
            return self.cost
        return self.cost / self.qpu_seconds * self.total_qpu_seconds

    def part(self, name: str) -> QuotePart | None:
        """Return the part of that name; None where there is none."""
        return next((part for part in self.parts if part.name == name), None)

    def totals(self) -> dict[str, Any]:
        """Return the figures of everything, by name."""
        return {
            "shots": self.total_shots,
            "submissions": self.total_submissions,
            "jobs": self.total_jobs,
            "qpu_seconds": self.total_qpu_seconds,
            "wall_seconds": self.total_wall_seconds,
            "cost": self.total_cost,
        }


def quote(
    n_points: int,
    budget: Budget | int | str,
    *,
    n_qubits: int = 4,
    depth: int | None = None,
    schedule: Schedule | None = None,
    queue: int = 0,
    rate: float | None = None,
    diagonal: Diagonal = "known",
    device: DeviceModel = HERON,
    tiles: int = 1,
    wish: Wish = TRAINING_ALONE,
) -> Quote:
    """Quote a run: the training kernel, and all that is wanted beside it.

    Parameters
    ----------
    n_points
        Number of training points N.
    budget
        Shots as an int, anything :func:`~aqka.planning.parse_budget` reads, or what it returns.
        QPU time and money buy as many shots as they pay for.
    n_qubits
        Qubits of the feature map; only used for the depth.
    depth
        Depth of the transpiled circuit that a shot runs; by default that of the ZZ map, U and U†
        for a pair, U and a rotation for a point.
    schedule
        Warm-up and rounds, each one submission; the paper's by default.
    queue
        Number Q of jobs waiting before each of our submissions.
    rate
        Price of a QPU minute, in the budget's currency. None takes that of the budget, as in
        ``"$100 at $96/min"``, or quotes no price.
    diagonal
        Whether the kernel's diagonal is measured too; see :class:`~aqka.core.PairTable`.
    device
        Times and limits; ``HERON.with_rep_delay(backend.rep_delay)`` has what the device reports.
    tiles
        Copies of the circuit that run side by side; a device's number is ``backend.n_tiles``.
        Shots that a round's last execution leaves idle are billed.
    wish
        What is bought beside training: predictions of new points, sentinels, calibration. The
        budget covers all of it, and is split between training and predictions with a reason.

    Examples
    --------
    >>> ours = quote(150, "5 min", queue=50, rate=96)
    >>> ours.n_pairs, ours.shots, ours.submissions
    (11175, 826540, 5)
    >>> f"{ours.qpu_seconds:.1f} s of QPU, {ours.queue_seconds / 60:.0f} min in queues"
    '300.0 s of QPU, 83 min in queues'
    >>> round(ours.cost)
    480
    >>> tiled = quote(150, 826_540, tiles=20)
    >>> f"{tiled.executions:,} executions, {tiled.qpu_seconds:.0f} s of {tiled.untiled_seconds:.0f}"
    '41,330 executions, 25 s of 300'
    >>> all_in_all = quote(150, "5 min", wish=Wish(new_points=50))
    >>> all_in_all.shots, all_in_all.parts[0].shots, round(all_in_all.total_qpu_seconds)
    (228552, 529585, 300)
    """
    n_points = _as_bounded(n_points, "n_points", 2, MAX_POINTS)
    n_qubits = _as_bounded(n_qubits, "n_qubits", 1, MAX_QUBITS)
    if depth is None:
        depth = wish.costs.zz_depth(n_qubits)
    depth = _as_bounded(depth, "depth", 1, MAX_DEPTH)
    queue = _as_bounded(queue, "queue", 0, MAX_QUEUE)
    schedule = schedule or Schedule()
    _as_bounded(schedule.rounds, "rounds", 1, MAX_ROUNDS)
    n_pairs = _count_pairs(n_points, diagonal)
    budget = as_budget(budget)
    if rate is None and isinstance(budget, Money):
        rate = budget.rate
    _check_rate(rate)

    tiles = _as_bounded(tiles, "tiles", 1, MAX_QUBITS)
    usage = Usage(device, depth, tiles, schedule)
    untiled = replace(usage, tiles=1)

    def bill(measured: int) -> tuple[int, float]:
        split = wish.split(measured, n_points)
        also = [
            part for part in wish.parts(split, usage) if part.name == CALIBRATION or not wish.on_top
        ]
        shots = split.train + sum(part.shots for part in also)
        return shots, usage.seconds(split.train) + sum(part.qpu_seconds for part in also)

    shots = affordable_shots(budget, rate, bill, wish.least_shots(n_points))
    split = wish.split(shots, n_points)
    shots = split.train
    rounds, qpu = usage.rounds(shots), usage.seconds(shots)
    classical = device.classical_per_cube * n_points**3
    queued = len(rounds) * queue * device.queued_job_seconds
    session = qpu + (len(rounds) - 1) * classical
    made = Quote(
        n_points=n_points,
        n_qubits=n_qubits,
        depth=depth,
        n_pairs=n_pairs,
        shots=shots,
        shots_per_pair=shots / n_pairs,
        shots_per_round=rounds,
        jobs_per_round=tuple(map(usage.jobs, rounds)),
        execution_seconds=usage.execution_seconds,
        qpu_seconds=qpu,
        queue_seconds=queued,
        classical_seconds=classical,
        transpile_seconds=device.transpile_seconds,
        wall_seconds=device.transpile_seconds + queued + session,
        session_seconds=session,
        cost=None if rate is None else price(qpu, rate),
        currency=budget.currency if isinstance(budget, Money) else "",
        tiles=tiles,
        untiled_seconds=untiled.seconds(shots),
        untiled_cost=None if rate is None else price(untiled.seconds(shots), rate),
        parts=wish.parts(split, usage),
        split=split.reason if wish.new_points else "",
        design=wish.design,
    )
    # Advice reads the figures above, so it is added once they stand.
    return replace(made, warnings=warn(made, device), advice=advise(made, device, rate))


def _count_pairs(n_points: int, diagonal: Diagonal) -> int:
    if diagonal not in ("known", "measured"):
        raise InputError(f"diagonal must be 'known' or 'measured', got {diagonal!r}.")
    return n_points * (n_points + (1 if diagonal == "measured" else -1)) // 2


def _check_rate(rate: float | None) -> None:
    if rate is not None and as_positive(rate, "rate") > MAX_RATE:
        raise InputError(f"rate must be at most {MAX_RATE:.0e} per QPU minute, got {rate}.")


def _as_bounded(value: int, name: str, minimum: int, maximum: int) -> int:
    if as_count(value, name, minimum) > maximum:
        raise InputError(f"{name} must be from {minimum} to {maximum}, got {value}.")
    return int(value)
