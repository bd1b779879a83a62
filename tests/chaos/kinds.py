"""The kinds of runs that the soak plays with; another one is one more entry of ``KINDS``."""

import hashlib
import json
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
from qiskit.providers.fake_provider import GenericBackendV2

from aqka.backends import tiles
from aqka.backends._jobs.local import split_circuit
from aqka.backends._jobs.transpile import Transpiler
from aqka.backends._tiles.places import shape_of
from aqka.backends.circuits import circuit_digest
from aqka.backends.simulated import SimulatedBackend, tag_generator
from aqka.cli import run as cli_run
from aqka.core.outcomes import OutcomeCounts
from aqka.errors import JobError
from aqka.runs import driver, spend
from aqka.study import backends as study_backends
from aqka.study import carry_out
from tests.fake_runtime import NOT_RUN, SPOILT, FakeJob, FakeRuntime
from tests.runs.test_wrong_answers import WRONG

STUDY = """
seed = {seed}
[data]
source = "moons"
[split]
train = 8
test = 4
[feature_map]
qubits = 2
[backend]
name = "{backend}"
[budget]
train = "160 shots"
test_shots = 5
[method]
design = "pairs"
rounds = 4
learner = "ridge"
"""
NEW_POINTS = "x,y\n0.3,0.2\n-0.5,0.9\n1.2,-0.1\n"


@dataclass(frozen=True)
class Place:
    """Where a scenario is played: the run, what its backend keeps outside of it, new points."""

    home: Path

    @property
    def run(self) -> Path:
        return self.home / "run"

    @property
    def outside(self) -> Path:
        """What the backend really ran, which no command of ours can undo."""
        return self.home / "outside"

    @property
    def new_points(self) -> Path:
        return self.home / "new.csv"


@dataclass(frozen=True)
class RunKind:
    """One kind of run.

    Attributes
    ----------
    name
        What a failure calls it.
    study
        Its study file, with a place for the seed.
    world
        Puts the backend in place for one process. Given the place, the name of the run, and how
        often the backend lies: nothing of the run's results may depend on the process.
    paid
        What was really run: shots by tag, and how many of them were bought once too often.
    """

    name: str
    study: str
    world: Callable[[Place, str, float], Iterator[None]]
    paid: Callable[[Path], tuple[dict[str, int], int]]

    def prepare(self, home: Path, seed: int = 0) -> Place:
        """Make an empty place with a study file and new points."""
        place = Place(home)
        place.outside.mkdir(parents=True)
        (home / "study.toml").write_text(self.study.format(seed=seed))
        place.new_points.write_text(NEW_POINTS)
        return place

    @contextmanager
    def entered(self, place: Place, run_id: str = "the-run", lies: float = 0.0) -> Iterator[None]:
        """Put the backend in place, in this process."""
        with ExitStack() as stack:
            # Jobs are tagged with the run's name, on which a fake service's outcomes depend.
            for module in (driver, carry_out):
                stack.enter_context(mock.patch.object(module, "new_run_id", return_value=run_id))
            # The report has a command of its own.
            stack.enter_context(mock.patch.object(cli_run, "_write_report", return_value=None))
            stack.enter_context(mock.patch.object(spend, "time"))
            stack.enter_context(contextmanager(self.world)(place, run_id, lies))
            yield


def simulator(place, run_id, lies):
    """A simulator that writes down each tag it draws; the same tag again costs nothing."""
    journal = place.outside / "journal"
    plans = {}

    def submit(self, plan, tag, submit=SimulatedBackend.submit):
        plans[tag] = plan
        return submit(self, plan, tag)

    def collect(self, ticket, collect=SimulatedBackend.collect):
        plan = plans[ticket]
        rng = tag_generator(17, ticket)  # a tag fares alike in every process
        fate = rng.choice(["answer", "partial", "lost", "refused"]) if rng.random() < lies else ""
        if fate == "refused":
            raise JobError("refused")
        hits = collect(self, ticket)
        ran, part = half_of(plan, hits) if fate == "partial" else (plan.shots, hits)
        write_down(journal, ticket, plan, int(ran.sum()))
        if fate == "partial":
            raise JobError("half of it was run", (ran, part))
        if fate == "lost":
            raise JobError("run, but the hits are lost", lost=plan.total)
        return WRONG[str(rng.choice(list(WRONG)))](plan.shots) if fate == "answer" else hits

    with (
        mock.patch.object(SimulatedBackend, "submit", submit),
        mock.patch.object(SimulatedBackend, "collect", collect),
    ):
        yield


def half_of(plan, answer):
    """Return the shots and the answer of a round that was cut half-way."""
    if isinstance(answer, OutcomeCounts):
        counts, ran = answer.counts // 2, np.zeros_like(plan.shots)
        np.add.at(ran, answer.rows, counts)
        return ran, OutcomeCounts(answer.rows, answer.outcomes, counts)
    ran = plan.shots // 2
    return ran, np.minimum(answer, ran)


def write_down(journal, tag, plan, shots):
    columns = [getattr(plan, name) for name in (*plan.ROWS, "shots")]
    digest = hashlib.sha256(b"".join(column.tobytes() for column in columns))
    line = json.dumps({"tag": tag, "plan": digest.hexdigest(), "shots": shots}) + "\n"
    with without_limit():
        handle = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.write(handle, line.encode())
        os.close(handle)


@contextmanager
def without_limit():
    """Let what stands for the world outside write on a full disk."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit[1], limit[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)


def drawn(outside):
    """A tag that was drawn with two plans was bought twice; one drawn again is the same."""
    journal = outside / "journal"
    lines = journal.read_text().splitlines() if journal.exists() else []
    plans = {}
    for line in map(json.loads, lines):
        plans.setdefault(line["tag"], {})[line["plan"]] = line["shots"]
    paid = {tag: sum(found.values()) for tag, found in plans.items()}
    return paid, sum(sum(list(found.values())[1:]) for found in plans.values())


FATES = ("refused", "reply lost", "too long", *NOT_RUN, *SPOILT)


@cache
def device():
    """A line of qubits with room for three tiles of two."""
    line = [[k, k + 1] for k in range(7)]
    return GenericBackendV2(8, coupling_map=line, seed=0)


def service(place, run_id, lies):
    """IBM's service, with jobs on disk that outlive every process."""

    def transpile(self, circuit, transpile=Transpiler.__call__):
        key = circuit_digest(circuit)
        if key not in TRANSPILED:
            TRANSPILED[key] = circuit, transpile(self, circuit)
        before, done = TRANSPILED[key]
        # A circuit that was built again has parameters of the same names that are not the same.
        renamed = dict(zip(before.parameters, circuit.parameters, strict=True))
        return done.assign_parameters({old: renamed[old] for old in done.parameters})

    def accept(self, tags, outcomes, seconds=None, accept=FakeRuntime.accept):
        rng = np.random.default_rng()
        if rng.random() < lies:
            self.next_job = str(rng.choice(FATES))
        with without_limit():
            return accept(self, tags, outcomes, seconds)

    def result(self, result=FakeJob.result):
        if lies and np.random.default_rng().random() < lies / 3:
            raise ConnectionError("the line is dead")  # it may pass
        return result(self)

    def ibm_device(section):
        return FakeRuntime(place.outside, device(), delay=0.005)

    with (
        mock.patch.object(study_backends, "ibm_device", ibm_device),
        mock.patch.object(Transpiler, "__call__", transpile),
        mock.patch.object(FakeRuntime, "accept", accept),
        mock.patch.object(FakeJob, "result", result),
    ):
        yield


TRANSPILED = {}  # by the parent of all processes


def run_by_service(outside):
    """Jobs that were run, by their tag; two of the same part were bought twice."""
    paid, twice, parts = {}, 0, set()
    for job in FakeRuntime(outside, device()).jobs([]):
        record = job.record
        if not record["seconds"]:
            continue
        rows, shots, _ = np.load(outside / f"{job.job_id()}.npy").shape
        tag, part = record["tags"][:2]
        paid[tag] = paid.get(tag, 0) + rows * shots
        twice += rows * shots if part in parts else 0
        parts.add(part)
    return paid, twice


def tiled_service(place, run_id, lies):
    """The same with tiles; the places are searched for once, by the parent of all processes."""

    def find(circuit, device, rule, find=tiles.find_tiles):
        key = circuit_digest(circuit), rule
        if key not in FOUND:
            FOUND[key] = find(circuit, device, rule)
        return replace(FOUND[key], shape=shape_of(circuit))

    def run(self, request, run=FakeRuntime.run):
        # What the service cannot see: how many tiles of all rows were given something to do.
        values, parts = request.values, split_circuit(request.circuit)
        busy = sum(int(np.any(values[:, part.columns], axis=1).sum()) for part in parts)
        with without_limit():
            (place.outside / f"{request.tags[1]}.busy").write_text(str(busy * request.shots))
        return run(self, request)

    with (
        mock.patch.object(tiles, "find_tiles", find),
        mock.patch.object(FakeRuntime, "run", run),
        contextmanager(service)(place, run_id, lies),
    ):
        yield


FOUND = {}


def run_on_tiles(outside):
    """Shots of the tiles that had something to do, by tag."""
    paid, twice, parts = {}, 0, set()
    for job in FakeRuntime(outside, device()).jobs([]):
        record = job.record
        if record["seconds"]:
            tag, part = record["tags"][:2]
            shots = int((outside / f"{part}.busy").read_text())
            paid[tag] = paid.get(tag, 0) + shots
            twice += shots if part in parts else 0
            parts.add(part)
    return paid, twice


POINTS = STUDY.replace('design = "pairs"', 'design = "points"').replace("learner", "allocator")
POINTS = POINTS.replace('"ridge"', '"aqka"')
KINDS = [
    RunKind("pairs on a simulator", STUDY.replace("{backend}", "statevector"), simulator, drawn),
    RunKind("pairs on IBM's service", STUDY.replace("{backend}", "ibm"), service, run_by_service),
    RunKind("points on a simulator", POINTS.replace("{backend}", "statevector"), simulator, drawn),
    RunKind("points on IBM's service", POINTS.replace("{backend}", "ibm"), service, run_by_service),
    RunKind(
        "pairs on tiles of IBM's service",
        STUDY.replace('"{backend}"', '"ibm"\ntiles = "auto"'),
        tiled_service,
        run_on_tiles,
    ),
    RunKind(
        "points on tiles of IBM's service",
        POINTS.replace('"{backend}"', '"ibm"\ntiles = "auto"'),
        tiled_service,
        run_on_tiles,
    ),
]
