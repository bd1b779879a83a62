"""The quote before the spend: what a budget buys, how long it takes and what it costs."""

from dataclasses import dataclass, replace
from typing import Any

from aqka._util.arrays import as_count, as_positive
from aqka._util.shown import Shown
from aqka._util.text import percent
from aqka.allocators.schedule import Schedule
from aqka.core.extent import Diagonal
from aqka.designs import AUTO, Never, Pairs, Points, Settle, as_design
from aqka.designs.resolve import resolve
from aqka.errors import InputError
from aqka.maths.sensitivity import SATURATED_SHOTS_PER_PAIR
from aqka.planning.budget import Budget, Money, affordable_shots, as_budget, duration, price
from aqka.planning.device import HERON, DeviceModel, Usage
from aqka.planning.split import Split, settled_design, shots_on_top, split_budget, zz_depth

# Far beyond what anyone runs; they keep a slip of the keyboard from overflowing.
MAX_POINTS = 10**6
MAX_QUBITS = 10**4
MAX_DEPTH = 10**7
MAX_QUEUE = 10**6
MAX_ROUNDS = 1000
MAX_RATE = 1e9

# The paper's B ≪ n_pairs (Appendix C.9) gives no number.
SPARSE_SHOTS_PER_PAIR = 0.5
# A share of the QPU time from which the jobs' fixed cost is worth a word.
NOTABLE_OVERHEAD = 0.2

PREDICTIONS, SENTINELS, CALIBRATION = "predictions", "sentinels", "calibration"


@dataclass(frozen=True)
class QuotePart:
    """A part of the cost, at most; sentinels ride along with training and need no jobs.

    Attributes
    ----------
    name
        ``"predictions"``, ``"sentinels"`` or ``"calibration"``.
    shots, submissions, jobs, qpu_seconds
        What it takes.
    """

    name: str
    shots: int = 0
    submissions: int = 0
    jobs: int = 0
    qpu_seconds: float = 0.0


@dataclass(frozen=True)
class Wish:
    """What is wanted beside the training shots, out of the same budget.

    Parameters
    ----------
    new_points : int, default=0
        Points to predict.
    test_shots : int, optional
        Shots for each pair of a new and a training point, or for each new point where the design
        is points; training gets the rest. By default :func:`~aqka.planning.split_budget` decides.
    sentinel_shots : int, default=0
        Shots on diagonal entries in every training round.
    calibration_shots : int, default=0
        Shots of a calibration round, part of what training may spend.
    on_top : bool, default=False
        Whether the budget is for training alone, and predictions and sentinels come on top of it.
    design : {"auto", "pairs", "points"}, default="auto"
        What a shot is spent on; :func:`aqka.quote` settles ``"auto"`` as a run does.
    classes : bool, default=True
        Whether predictions are classes, which are bought until they settle, or values.
    """

    new_points: int = 0
    test_shots: int | None = None
    sentinel_shots: int = 0
    calibration_shots: int = 0
    on_top: bool = False
    design: str = AUTO
    classes: bool = True

    def __post_init__(self) -> None:
        for name in ("new_points", "sentinel_shots", "calibration_shots"):
            as_count(getattr(self, name), name, minimum=0)
        as_design(self.design)

    def split(self, shots: int, n_points: int) -> Split:
        """Return the shots of training and of predictions; on top, all ``shots`` are training's."""
        if not self.on_top:
            return split_budget(
                shots, n_points, self.new_points, self.design, test_shots=self.test_shots
            )
        wanted = shots_on_top(self.design, shots, n_points, self.new_points, self.test_shots)
        return Split(shots, wanted, "The budget is for training alone; predictions come on top.")

    def parts(self, split: Split, usage: Usage) -> tuple[QuotePart, ...]:
        """Return what is bought beside the training shots."""
        found = []
        if split.predict:
            found.append(prediction_part(split.predict, self.design, usage, self.classes))
        if self.sentinel_shots:
            shots = self.sentinel_shots * len(usage.rounds(split.train))
            seconds = usage.executions(shots) * usage.execution_seconds
            found.append(QuotePart(SENTINELS, shots, 0, 0, seconds))
        if self.calibration_shots:
            shots, jobs = self.calibration_shots, usage.jobs(self.calibration_shots)
            seconds = usage.job_seconds(jobs, usage.executions(shots))
            found.append(QuotePart(CALIBRATION, shots, 1, jobs, seconds))
        return tuple(found)


def prediction_part(shots: int, design: str, usage: Usage, classes: bool = True) -> QuotePart:
    """Return what predictions with so many shots cost, at most."""
    rounds = min(settled_design(design).looks(Settle() if classes else Never()), shots)
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
    n_points, n_qubits, depth, n_pairs, tiles
        Points N, qubits, depth of the circuit that a shot runs, measurable pairs, copies of the
        circuit that run side by side on the chip.
    shots, shots_per_pair, shots_per_round, jobs_per_round
        Shots in all, mean per pair, and shots and jobs of each submission, the warm-up first.
    execution_seconds, qpu_seconds, untiled_seconds
        QPU time of one execution, of all jobs (billed outside a session), and without tiles.
    queue_seconds, classical_seconds
        Waiting behind other jobs; classical work between two submissions.
    wall_seconds, session_seconds
        All of it, from the start to the last result; QPU + classical time, billed in a session.
    cost, untiled_cost, currency
        Price of ``qpu_seconds`` and ``untiled_seconds``, None without a rate.
    warnings, advice
        Limits of the device that would be hit; what rounds cost and whether they are worth it.
    parts, split, design
        Predictions, sentinels, calibration; why the budget is split so; what a shot is spent on.
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
        design = settled_design(self.design)
        return design.unit, *design.units(self.n_points, self.n_pairs)

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
    def total(self) -> QuotePart:
        """Everything, at most."""
        names = ("shots", "submissions", "jobs", "qpu_seconds")
        sums = (sum(getattr(part, name) for part in (self, *self.parts)) for name in names)
        return QuotePart("in all", *sums)

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
        return self.cost / self.qpu_seconds * self.total.qpu_seconds

    def part(self, name: str) -> QuotePart:
        """Return the part of that name, which is empty where there is none."""
        return next((part for part in self.parts if part.name == name), QuotePart(name))


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
    """Quote a run: the training kernel and everything bought with it.

    Unless ``wish`` names a design, it is the one that predicts labels better, as in a run.

    Parameters
    ----------
    n_points : int
        Number of training points N.
    budget : int or str
        Shots, or QPU time or money for them, as :func:`~aqka.planning.parse_budget` reads it.
    n_qubits : int, default=4
        Qubits of the feature map, for the depth and the design.
    depth : int, optional
        Depth of the transpiled circuit that a shot runs; by default that of the ZZ map, U and U†
        for a pair, U and a rotation for a point.
    schedule : Schedule, optional
        Warm-up and rounds, each one submission; the paper's by default.
    queue : int, default=0
        Number Q of jobs waiting before each of our submissions.
    rate : float, optional
        Price of a QPU minute, in the budget's currency, which may have it: ``"$100 at $96/min"``.
    diagonal : {"known", "measured"}, default="known"
        Whether the kernel's diagonal is measured too.
    device : DeviceModel, default=HERON
        Times and limits; ``HERON.with_rep_delay(backend.rep_delay)`` has what the device reports.
    tiles : int, default=1
        Copies of the circuit that run side by side; a device's number is ``backend.n_tiles``.
        Shots that a round's last execution leaves idle are billed.
    wish : Wish, default=Wish()
        What the budget buys beside training (predictions, sentinels, calibration); the design.

    Examples
    --------
    >>> quote(150, "5 min").design
    'points'
    >>> of_pairs = Wish(design="pairs")
    >>> ours = quote(150, "5 min", queue=50, rate=96, wish=of_pairs)
    >>> ours.n_pairs, ours.shots, ours.submissions
    (11175, 827672, 5)
    >>> f"{ours.qpu_seconds:.1f} s of QPU, {ours.queue_seconds / 60:.0f} min in queues"
    '300.0 s of QPU, 83 min in queues'
    >>> round(ours.cost)
    480
    >>> tiled = quote(150, 826_540, tiles=20, wish=of_pairs)
    >>> f"{tiled.executions:,} executions, {tiled.qpu_seconds:.0f} s of {tiled.untiled_seconds:.0f}"
    '41,330 executions, 24 s of 300'
    >>> all_in_all = quote(150, "5 min", wish=Wish(new_points=50, design="pairs"))
    >>> all_in_all.shots, all_in_all.parts[0].shots, round(all_in_all.total.qpu_seconds)
    (228864, 530311, 300)
    """
    n_points = _as_bounded(n_points, "n_points", 2, MAX_POINTS)
    n_qubits = _as_bounded(n_qubits, "n_qubits", 1, MAX_QUBITS)
    if as_design(wish.design) is None:
        more: Any = {"n_qubits": n_qubits, "depth": depth, "schedule": schedule, "queue": queue}
        more |= {"rate": rate, "diagonal": diagonal, "device": device, "tiles": tiles}
        wishes = [replace(wish, design=design.name) for design in (Pairs(), Points())]
        each = {one.design: quote(n_points, budget, wish=one, **more) for one in wishes}
        choice = resolve(
            n_points=n_points,
            n_qubits=n_qubits,
            budget={k: one.shots if wish.on_top else one.total.shots for k, one in each.items()},
            new_points=wish.new_points,
            on_top=wish.on_top,
        )
        return each[choice.design.name]
    depth = zz_depth(n_qubits, wish.design) if depth is None else depth
    depth = _as_bounded(depth, "depth", 1, MAX_DEPTH)
    queue = _as_bounded(queue, "queue", 0, MAX_QUEUE)
    schedule = schedule or Schedule()
    _as_bounded(schedule.rounds, "rounds", 1, MAX_ROUNDS)
    if diagonal not in ("known", "measured"):
        raise InputError(f"diagonal must be 'known' or 'measured', got {diagonal!r}.")
    n_pairs = n_points * (n_points + (1 if diagonal == "measured" else -1)) // 2
    budget = as_budget(budget)
    if rate is None and isinstance(budget, Money):
        rate = budget.rate
    if rate is not None and as_positive(rate, "rate") > MAX_RATE:
        raise InputError(f"rate must be at most {MAX_RATE:.0e} per QPU minute, got {rate}.")
    tiles = _as_bounded(tiles, "tiles", 1, MAX_QUBITS)
    usage = Usage(device, depth, tiles, schedule)

    def bill(measured: int) -> tuple[int, float]:
        split = wish.split(measured, n_points)
        beside = wish.parts(split, usage)
        also = [part for part in beside if part.name == CALIBRATION or not wish.on_top]
        shots = split.train + sum(part.shots for part in also)
        return shots, usage.seconds(split.train) + sum(part.qpu_seconds for part in also)

    least = 1  # for training; predictions out of the same budget need more
    if wish.new_points and not wish.on_top:
        least = 4 if wish.test_shots is None else wish.split(1, n_points).predict + 1
    shots = affordable_shots(budget, rate, bill, least)
    split = wish.split(shots, n_points)
    shots = split.train
    rounds, qpu = usage.rounds(shots), usage.seconds(shots)
    untiled = replace(usage, tiles=1).seconds(shots)
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
        wall_seconds=device.transpile_seconds + queued + session,
        session_seconds=session,
        cost=None if rate is None else price(qpu, rate),
        currency=budget.currency if isinstance(budget, Money) else "",
        tiles=tiles,
        untiled_seconds=untiled,
        untiled_cost=None if rate is None else price(untiled, rate),
        parts=wish.parts(split, usage),
        split=split.reason if wish.new_points else "",
        design=wish.design,
    )
    # Advice reads the figures above, so it is added once they stand.
    return replace(made, warnings=_warn(made, device), advice=_advise(made, device, rate))


def _warn(quote: Quote, device: DeviceModel) -> tuple[str, ...]:
    """Return the limits that the run would hit: too few shots, and those of the device."""
    found = []
    each = settled_design(quote.design).shots_per_entry(quote.shots, quote.n_pairs)
    if each is not None and each < SPARSE_SHOTS_PER_PAIR:
        found.append(
            f"{quote.shots:,} shots for {quote.n_pairs:,} pairs: most pairs are never measured, "
            f"and accuracy suffers. Give {quote.n_pairs:,} shots or more, or take fewer points."
        )
    most = max(quote.jobs_per_round)
    if most > 1:
        found.append(
            f"A job holds at most {device.max_executions:,} executions: the largest round is sent "
            f"as {most} jobs."
        )
    longest = device.job_overhead + quote.execution_seconds * min(
        device.max_executions, -(-max(quote.shots_per_round) // quote.tiles)
    )
    if longest > device.max_job_seconds:
        found.append(
            f"The longest job takes {duration(longest)}, and jobs are cancelled after "
            f"{duration(device.max_job_seconds)}: lower max_executions so that rounds are split."
        )
    if quote.session_seconds > device.session_seconds:
        found.append(
            f"The rounds take {duration(quote.session_seconds)} even without queues, and a session "
            f"ends after {duration(device.session_seconds)}: the run needs several sessions."
        )
    elif quote.wall_seconds > device.session_seconds:
        found.append(
            f"Queued one by one the rounds take {duration(quote.wall_seconds)}, longer than the "
            f"{duration(device.session_seconds)} of a session: the device may be recalibrated "
            "between them."
        )
    if quote.submissions > 1 and quote.classical_seconds > device.interactive_gap:
        found.append(
            f"The classical work between rounds takes about {duration(quote.classical_seconds)}, "
            f"and a session is put aside after {duration(device.interactive_gap)} without a job: "
            "each round would queue again."
        )
    return tuple(found)


def _advise(quote: Quote, device: DeviceModel, rate: float | None) -> tuple[str, ...]:
    each = settled_design(quote.design).shots_per_entry(quote.shots, quote.n_pairs)
    if each is None:  # the paper knows pairs
        return ()
    found, extra, wait = [], quote.submissions - 1, quote.queue_seconds / quote.submissions
    if each > SATURATED_SHOTS_PER_PAIR:
        found.append(
            f"Above {SATURATED_SHOTS_PER_PAIR} shots a pair uniform does as well as adaptive "
            "shots (the paper's regime map): "
            + ("one round is enough, or fewer shots." if extra else "fewer may be enough.")
        )
    if not extra:
        return tuple(found)
    if each < SPARSE_SHOTS_PER_PAIR:
        found.append(
            f"With {each:.2g} shots a pair, 1 or 2 rounds do: the paper puts the "
            "cost at about 3 points of accuracy (Appendix C.9)."
        )
    costs = [f"{duration(wait)} in the queue"] if wait else []
    costs.append(f"{duration(device.job_overhead)} of QPU time")
    if rate is not None:
        costs.append(f"{price(device.job_overhead, rate):,.2f} in money")
    found.append(f"Each further round costs {', '.join(costs)}.")
    overhead = quote.jobs * device.job_overhead / quote.qpu_seconds
    if overhead > NOTABLE_OVERHEAD:
        found.append(
            f"Starting jobs takes {percent(overhead)} of the QPU time: fewer rounds leave more for "
            "shots."
        )
    if wait > 0:
        found.append(
            f"A session queues once, which saves {duration(extra * wait)}; it is billed from its "
            f"first job to its last result, about {duration(quote.session_seconds)}. The open plan "
            "has none."
        )
    return tuple(found)


def _as_bounded(value: int, name: str, minimum: int, maximum: int) -> int:
    if as_count(value, name, minimum) > maximum:
        raise InputError(f"{name} must be from {minimum} to {maximum}, got {value}.")
    return int(value)
