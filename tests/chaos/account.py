"""The account of a soak: what was paid, seen from outside, against what the ledgers say."""

from collections import Counter
from dataclasses import dataclass, field

from aqka.backends._jobs.rows import shorten_tag
from aqka.runs.ledger import LEDGER_NAME, Ledger


@dataclass
class Tally:
    """What a soak found; all but the paid shots, the kills and what was noticed must be 0."""

    scenarios: Counter = field(default_factory=Counter)
    kills: int = 0
    paid: int = 0
    lost: int = 0
    counted_twice: int = 0
    bought_twice: int = 0
    noticed: int = 0
    harmless: int = 0
    unnoticed: int = 0
    different: int = 0
    refused_though_sound: int = 0
    tracebacks: int = 0
    over_the_ceiling: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def clean(self):
        return not self.failures

    def fail(self, what, amount, message):
        """Count something that must not be."""
        setattr(self, what, getattr(self, what) + amount)
        self.failures.append(message)

    def summary(self):
        played = ", ".join(f"{name} {count}" for name, count in sorted(self.scenarios.items()))
        return (
            f"chaos: {sum(self.scenarios.values())} scenarios ({played}), {self.kills} kills\n"
            f"shots paid {self.paid}, lost {self.lost}, counted twice {self.counted_twice}, bought "
            f"twice {self.bought_twice}; damages noticed {self.noticed}, harmless {self.harmless}, "
            f"unnoticed {self.unnoticed}; results that differ {self.different}, sound runs refused "
            f"{self.refused_though_sound}, tracebacks {self.tracebacks}, runs over their ceiling "
            f"{self.over_the_ceiling}"
        )


def counted(run):
    """Shots that the ledgers of a run have counted, by tag; and the tags that wait for theirs."""
    shots, waiting = {}, set()
    for path in run.rglob(LEDGER_NAME):
        planned = {}
        with Ledger(path) as ledger:
            for entry in ledger.entries():
                if entry.kind == "planned":
                    tag = shorten_tag(entry.body["tag"])
                    planned[entry.round] = tag, int(entry.arrays["shots"].sum())
                    waiting.add(tag)
                elif entry.kind in ("collected", "failed"):
                    tag, total = planned[entry.round]
                    if entry.kind == "failed":
                        total = int(entry.arrays["shots"].sum()) + entry.body.get("lost", 0)
                    waiting.discard(tag)
                    shots[tag] = shots.get(tag, 0) + total
    return shots, waiting


def settle(tally, kind, place, name, paid_before=0):
    """Compare what was really run with what the ledgers say.

    ``paid_before`` are shots of a run that was copied, which were not paid for again.
    """
    paid, twice = kind.paid(place.outside)
    known, waiting = counted(place.run)
    tally.paid += sum(paid.values()) - paid_before
    lost = {t: n - known.get(t, 0) for t, n in paid.items() if t not in waiting}
    if twice:
        tally.fail("bought_twice", twice, f"{name}: {twice} shots were bought twice")
    for tag, missing in lost.items():
        # A second purchase is told above, and is not lost besides.
        if missing > 0 and not twice:
            tally.fail("lost", missing, f"{name}: {missing} shots of {tag} are in no ledger")
    for tag, shots in known.items():
        extra = shots - paid.get(tag, 0)
        if extra > 0:
            tally.fail("counted_twice", extra, f"{name}: {extra} shots of {tag} were never run")


def counts(run):
    """All counts of a run's ledgers, for comparison."""
    found = []
    for path in sorted(run.rglob(LEDGER_NAME)):
        with Ledger(path) as ledger:
            entries = ledger.read()
        found.append(
            [
                (entry.kind, entry.round, {n: a.tolist() for n, a in entry.arrays.items()})
                for entry in entries
                if entry.arrays
            ]
        )
    return found
