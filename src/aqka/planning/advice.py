"""What a quote should make you think about: limits that would be hit, and what rounds cost."""

from typing import TYPE_CHECKING

from aqka._util.text import percent
from aqka.maths.sensitivity import SATURATED_SHOTS_PER_PAIR
from aqka.planning.budget import duration, price
from aqka.planning.device import DeviceModel
from aqka.planning.split import costs_of

if TYPE_CHECKING:
    from aqka.planning.quotes import Quote

# The paper's B ≪ n_pairs (Appendix C.9) gives no number.
SPARSE_SHOTS_PER_PAIR = 0.5
# A share of the QPU time from which the jobs' fixed cost is worth a word.
NOTABLE_OVERHEAD = 0.2


def warn(quote: "Quote", device: DeviceModel) -> tuple[str, ...]:
    """Return the limits that the run would hit: too few shots, and those of the device."""
    found = []
    if costs_of(quote.design).rounds_are_known and quote.shots_per_pair < SPARSE_SHOTS_PER_PAIR:
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


def advise(quote: "Quote", device: DeviceModel, rate: float | None) -> tuple[str, ...]:
    """Return what rounds cost and whether they are worth it."""
    if not costs_of(quote.design).rounds_are_known:
        return ()
    found = []
    extra = quote.submissions - 1
    wait = quote.queue_seconds / quote.submissions
    if quote.shots_per_pair > SATURATED_SHOTS_PER_PAIR:
        found.append(
            f"Above {SATURATED_SHOTS_PER_PAIR} shots a pair uniform does as well as adaptive "
            "shots (the paper's regime map): "
            + ("one round is enough, or fewer shots." if extra else "fewer may be enough.")
        )
    if extra and quote.shots_per_pair < SPARSE_SHOTS_PER_PAIR:
        found.append(
            f"With {quote.shots_per_pair:.2g} shots a pair, 1 or 2 rounds do: the paper puts the "
            "cost at about 3 points of accuracy (Appendix C.9)."
        )
    if extra:
        costs = [f"{duration(wait)} in the queue"] if wait else []
        costs.append(f"{duration(device.job_overhead)} of QPU time")
        if rate is not None:
            costs.append(f"{price(device.job_overhead, rate):,.2f} in money")
        found.append(f"Each further round costs {', '.join(costs)}.")
    overhead = quote.jobs * device.job_overhead / quote.qpu_seconds
    if extra and overhead > NOTABLE_OVERHEAD:
        found.append(
            f"Starting jobs takes {percent(overhead)} of the QPU time: fewer rounds leave more for "
            "shots."
        )
    if extra and wait > 0:
        found.append(
            f"A session queues once, which saves {duration(extra * wait)}; it is billed from its "
            f"first job to its last result, about {duration(quote.session_seconds)}. The open plan "
            "has none."
        )
    return tuple(found)
