"""What may happen to a run. Each scenario ends with the account of the run it played."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aqka.errors import LedgerError
from aqka.runs.head import read_head
from aqka.runs.ledger import LEDGER_NAME
from tests.chaos.account import Tally, counts, settle
from tests.chaos.commands import Command, call, go_on, predicting, reading
from tests.chaos.damage import damage, replace_group, swap
from tests.chaos.file_faults import MODES, interposer
from tests.chaos.kinds import Place, RunKind
from tests.chaos.processors import MOST_SHOTS
from tests.chaos.processors import go_on as go_on_with

MAX_TRIES = 60  # to bring a run to its end
CEILING = 9  # seconds of QPU time, of which a job takes two
ROUNDS = 4  # damages of a finished run in one scenario
REFUSED, UNSOUND = "refused", "not sound"
ALARMS = ("NOT sound", "is lost", "has lost", "damaged", "is not the", "belongs to", "missing")
STATUS = ("shots", "budget", "rounds", "seen", "units", "gini", "accuracy", "started_at")
REPORT = (
    *("shots", "budget", "training_points", "units", "units_seen", "rounds", "diagnostics"),
    *("noise_floor", "settings"),
)


@dataclass
class References:
    """Runs of a kind that nothing happened to.

    Attributes
    ----------
    own
        The run as it must end.
    make_others
        Carries out others of its shape, the same study and one with another seed.
    said
        What the commands that read say of it.
    duration
        Seconds that it took.
    """

    own: Place
    make_others: Callable[[], tuple[Place, ...]]
    said: dict[str, str]
    duration: float

    @cached_property
    def others(self):
        """Others of its shape, which only swaps need."""
        return self.make_others()


@dataclass(frozen=True)
class Stage:
    """Where one scenario is played."""

    name: str
    kind: RunKind
    references: References
    place: Place
    rng: np.random.Generator
    tally: Tally

    def call(self, *arguments, place=None, **circumstances):
        """Call a command; a traceback or a hang is a failure wherever it comes from."""
        ended = call(self.kind, place or self.place, *arguments, **circumstances)
        self.check(ended)
        return ended

    def check(self, ended):
        self.tally.kills += ended.code == -9
        if ended.crashed:
            words = " ".join(ended.arguments)
            last = ended.err.strip()[-1500:]
            message = f"{self.name}: 'aqka {words}' ended with {ended.code}: {last}"
            self.tally.fail("tracebacks", 1, message)

    def wait(self, tries=0):
        """A random instant of a run; later ones as tries go on, so that every run ends."""
        return self.rng.uniform(0.0, 0.8 + tries / 20) * self.references.duration

    def finish(self, **circumstances):
        """Bring the run to its end, undisturbed."""
        ended = self.call(*go_on(self.place), **circumstances)
        if ended.code == 0:
            ended = self.call(*predicting(self.place), **circumstances)
        if ended.code != 0 and not ended.crashed:
            told = ended.err.strip()[-500:]
            message = f"{self.name}: a sound run cannot be finished ({ended.code}): {told}"
            self.tally.fail("refused_though_sound", 1, message)
        return ended.code == 0

    def settle(self, *, as_reference=True, paid_before=0):
        """Compare the run with the account from outside, and with one left in peace."""
        settle(self.tally, self.kind, self.place, self.name, paid_before)
        if as_reference and outcome(self.place) != outcome(self.references.own):
            self.tally.fail("different", 1, f"{self.name}: the results differ")


def outcome(place):
    """All that a finished run found; None where its ledgers cannot be read."""
    try:
        return scores(place), counts(place.run)
    except (LedgerError, OSError, ValueError, KeyError):
        return None


def scores(place):
    stored = json.loads((place.run / "results.json").read_text())
    used = {name: stored["actual"][name] for name in ("shots", "submissions", "test_shots")}
    return stored["results"], used


def kills(stage):
    """Killed at random instants of training, prediction, report and export, and resumed."""
    for make in (go_on, predicting):
        for tries in range(MAX_TRIES):
            if stage.call(*make(stage.place), seconds=stage.wait(tries)).code == 0:
                break
            if stage.place.run.exists() and stage.rng.random() < 0.3:
                command = stage.rng.choice(list(reading(stage.place)))
                stage.call(*reading(stage.place)[command], seconds=stage.wait() / 3)
    if stage.finish():
        stage.settle()


def interrupt(stage):
    """Bring a run to a random point of its life; return whether it has one to speak of."""
    for _ in range(4):
        make = predicting if is_finished(stage.place) else go_on
        stage.call(*make(stage.place), seconds=stage.wait(4))
        if stage.rng.random() < 0.6 and stage.place.run.exists():
            break
    head = read_head(stage.place.run / LEDGER_NAME)
    return head is not None and head.certain > 0


def is_finished(place):
    path = place.run / "results.json"
    return path.exists() and "results" in json.loads(path.read_text())


def damage_on_the_way(stage):
    """A file of an interrupted run is damaged: noticed, or without effect."""
    if not interrupt(stage):
        return
    good = copy_of(stage.place)
    said = what_is_said(stage.kind, good)
    judge(stage, good, said, *damage(stage.place.run, stage.rng))


def damage_at_the_end(stage):
    """A file of a finished run is damaged: noticed, or without effect."""
    for _ in range(ROUNDS):
        known = take_reference(stage)
        judge(stage, *known, *damage(stage.place.run, stage.rng))


def swap_on_the_way(stage):
    """A file of an interrupted run is taken from another run of its shape."""
    if not interrupt(stage):
        return
    good = copy_of(stage.place)
    said = what_is_said(stage.kind, good)
    judge(stage, good, said, *swap(stage.place.run, pick_other(stage), stage.rng))


def swap_at_the_end(stage):
    """A file of a finished run is taken from another run of its shape."""
    for _ in range(ROUNDS):
        known = take_reference(stage)
        judge(stage, *known, *swap(stage.place.run, pick_other(stage), stage.rng))


def take_reference(stage):
    """Put the finished run on the stage; return it, and what is said of it."""
    shutil.rmtree(stage.place.home)
    shutil.copytree(stage.references.own.home, stage.place.home)
    return stage.references.own, stage.references.said


def pick_other(stage):
    others = stage.references.others
    return others[int(stage.rng.integers(len(others)))].run


def copy_of(place, name="good"):
    return Place(shutil.copytree(place.home, place.home.with_name(f"{place.home.name}-{name}")))


def what_is_said(kind, place):
    """What each command that reads says of an undamaged run; nothing where it refuses."""
    copy = copy_of(place, "looked-at")  # to look must not mend what is needed later
    ended = {name: call(kind, copy, *arguments) for name, arguments in reading(copy).items()}
    return {name: said_by(name, one, copy) for name, one in ended.items()}


def judge(stage, good, said, name, what):
    """Is a damaged run noticed by every command that its damage matters to?

    The commands that only read must refuse it or say what they say of the undamaged run. Going
    on must refuse it, or end as if nothing had happened; what was refused goes on once the file
    is restored.
    """
    believed, noticed = [], False
    commands = reading(stage.place)
    for command in stage.rng.permutation(list(commands)):
        found = said_by(command, stage.call(*commands[command]), stage.place)
        noticed = noticed or found in (REFUSED, UNSOUND)
        if found not in (REFUSED, UNSOUND, said[command]):
            believed.append(command)
    ended = stage.call(*go_on(stage.place))
    if ended.code == 0:
        ended = stage.call(*predicting(stage.place))
    if ended.code == 0:
        if outcome(stage.place) != outcome(stage.references.own):
            believed.append("resume")
    else:
        noticed = True
        replace_group(stage.place.run, good.run, name)
        if not stage.finish():
            return
    if believed:
        message = f"{stage.name}: {name} {what}, and {', '.join(believed)} believed it"
        stage.tally.fail("unnoticed", 1, message)
        return
    stage.tally.noticed += noticed
    stage.tally.harmless += not noticed
    copied = good is stage.references.own
    paid_before = sum(stage.kind.paid(good.outside)[0].values()) if copied else 0
    stage.settle(paid_before=paid_before)


def said_by(command, ended, place):
    """What a command says of a run, but for times and places."""
    facts = ended.facts()
    if ended.code != 0:
        return REFUSED
    if command == "export":
        return (place.home / "counts.csv").read_text()
    if command == "verify":
        return repr({**facts, "summary": ""})
    if command == "status":
        return repr({key: facts[key] for key in STATUS})
    (run,) = facts["runs"]
    if not all(audit["sound"] for audit in run["ledgers"].values()):
        return UNSOUND
    return repr([{key: run[key] for key in REPORT}, run["test_points"]])


def full_disk(stage):
    """The disk is full at random sizes of a file, or for a moment; space comes back in the end."""
    for _ in range(int(stage.rng.integers(2, 6))):
        if stage.rng.random() < 0.5:
            circumstances = {"limit": int(np.exp(stage.rng.uniform(4, 12.5)))}
        else:
            circumstances = {"full": stage.rng.uniform(0.01, 0.3)}
        make = predicting if is_finished(stage.place) else go_on
        stage.call(*make(stage.place), **circumstances)
        if stage.place.run.exists() and stage.rng.random() < 0.3:
            stage.call(*reading(stage.place)["report"], **circumstances)
    if stage.finish():
        stage.settle()


def lies(stage):
    """A backend that answers wrongly, fails in part or loses results, killed now and then."""
    share = stage.rng.uniform(0.1, 0.6)
    for make in (go_on, predicting):
        for tries in range(15):
            seconds = stage.wait(tries) if stage.rng.random() < 0.3 else None
            ended = stage.call(*make(stage.place), lies=share, seconds=seconds)
            if ended.code == 0:
                break
            check_no_alarm(stage, ended)
    if stage.place.run.exists():
        stage.settle(as_reference=False)


def file_operations(stage):
    """One file operation after the other is killed, torn or fails; a full disk stays full."""
    if interposer() is None:
        return kills(stage)
    for _ in range(int(stage.rng.integers(2, 7))):
        number = int(np.exp(stage.rng.uniform(0, 6.3)))  # most windows are where files are made
        make = predicting if is_finished(stage.place) else go_on
        stage.call(*make(stage.place), fault=(number, str(stage.rng.choice(list(MODES)))))
    if stage.finish():
        stage.settle()
    return None


def failing_jobs(stage):
    """Jobs fail after they ran, under a ceiling of QPU time that counts what they used."""
    study = stage.place.home / "study.toml"
    study.write_text(study.read_text().replace("[budget]", f'[budget]\nceiling = "{CEILING} s"'))
    for _ in range(5):
        check_no_alarm(stage, stage.call(*go_on(stage.place), lies=0.5))
    used = sum(
        json.loads(job.read_text())["seconds"] for job in stage.place.outside.glob("fake*.json")
    )
    if used > CEILING + 1e-9:
        stage.tally.fail("over_the_ceiling", 1, f"{stage.name}: {used} s of {CEILING} s were used")
    stage.settle(as_reference=False)


def processors(stage):
    """Each process of a run has another processor, and the device is taken away now and then."""
    home, name = stage.place.home / "processors", str(stage.rng.choice(list(MOST_SHOTS)))
    home.mkdir()
    ends = []
    for tries in range(MAX_TRIES):
        said, error = go_on_with(home, tries % 2, int(stage.rng.integers(2, 17)), name)
        if error:
            message = f"{stage.name}: {name} cannot go on: {error.strip()[-500:]}"
            stage.tally.fail("refused_though_sound", 1, message)
            return
        run = said[name]
        stage.tally.paid += run["shots"] if len(ends) == 1 else 0
        ends += [[run["found"][0], run["shots"]]] if run["found"] else []
        if len(ends) == 2:
            break
    if ends[0] != ends[1]:
        stage.tally.fail("different", 1, f"{stage.name}: {name} gave {ends[0]}, then {ends[1]}")
    extra = ends[1][1] - MOST_SHOTS[name]
    if extra > 0:
        stage.tally.fail("bought_twice", extra, f"{stage.name}: {name} bought {extra} too many")


def crowd(stage):
    """Others look at the run, and try to go on with it, while it goes on."""
    for make in (go_on, predicting):
        for _ in range(MAX_TRIES):
            worker = Command(stage.kind, stage.place, make(stage.place))
            while worker.is_running():
                if not stage.place.run.exists():
                    continue
                others = [*reading(stage.place).values(), make(stage.place)]
                others.append(("watch", stage.place.run, "--every", "0.1", "--json"))
                chosen = others[int(stage.rng.integers(len(others)))]
                seconds = stage.wait() if stage.rng.random() < 0.5 else None
                check_no_alarm(stage, stage.call(*chosen, seconds=seconds))
            ended = worker.wait()
            stage.check(ended)
            check_no_alarm(stage, ended)
            if ended.code == 0:
                break
    if stage.finish():
        stage.settle()


def check_no_alarm(stage, ended):
    """Nothing is wrong with the run, so nobody may say so."""
    if ended.code and any(word in ended.err + ended.out for word in ALARMS):
        told = (ended.err + ended.out).strip()[-500:]
        message = f"{stage.name}: 'aqka {' '.join(ended.arguments)}' alarms: {told}"
        stage.tally.fail("refused_though_sound", 1, message)


SCENARIOS = {
    scenario.__name__.replace("_", " "): scenario
    for scenario in (
        *(kills, damage_on_the_way, damage_at_the_end, swap_on_the_way, swap_at_the_end),
        *(full_disk, lies, file_operations, failing_jobs, processors, crowd),
    )
}
