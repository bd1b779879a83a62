"""Every file operation of a short run in turn is killed, torn or fails; then the run is resumed.

``python -m tests.chaos.file_faults`` tries them all, or as many as there is time for, and prints an
account. Nothing may be lost, bought twice, or refused though it is sound.
"""

import argparse
import ctypes
import json
import math
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np

HERE = Path(__file__).parent
MODES = {"kill": 1, "tear": 2, "fail": 3, "full": 4}  # as in file_faults.c
MAKING = 60  # operations until the first entry stands
CLEAN = ("LedgerError", "InputError", "OSError")  # what a process may say of a failing disk


def build(directory):
    """Return the compiled interposer; None where there is no compiler."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    library = Path(directory) / "file_faults.so"
    source = str(HERE / "file_faults.c")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), source, "-ldl"], check=True
    )
    return library


@cache
def interposer():
    """The interposer that this process was started with; None without one."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "faults_arm"):
        return None
    library.faults_arm.argtypes = (ctypes.c_char_p, ctypes.c_long, ctypes.c_int)
    library.faults_kinds.restype = ctypes.c_char_p
    return library


def with_interposer(module):
    """Start a command again with the interposer and return its code; None: go on in this one."""
    if interposer() is not None:
        return None
    with tempfile.TemporaryDirectory() as place:
        library = build(place)
        if library is None:
            print("file operations are not tried: that needs a C compiler and Linux")
            return None
        command = [sys.executable, "-m", module, *sys.argv[1:]]
        environment = {**os.environ, "LD_PRELOAD": str(library)}
        return subprocess.run(command, env=environment, check=False).returncode


def arm(directory, number=0, mode=None):
    """Let the n-th operation below a directory suffer, or only count them."""
    interposer().faults_arm(os.fsencode(directory), number, MODES.get(mode, 0))


def operations():
    """What was done since: a letter for each operation."""
    return interposer().faults_kinds().decode()


def in_a_child(work):
    """Return what ``work()`` returns in a fork of this process; None if that was killed."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        try:
            answer = {"found": work()}
        except BaseException as error:
            answer = {"error": type(error).__name__, "message": str(error)[:400]}
            if isinstance(error, OSError):
                answer["error"] = "OSError"
        with os.fdopen(theirs, "w") as pipe:
            json.dump(answer, pipe)
            pipe.flush()
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return json.loads(said) if said else None


def sweep(name, play, home, sample=None, seed=0, seconds=math.inf):
    """Try the operations of one kind of run; return an account of what was found.

    After so many seconds the rest is left, in an order by chance.

    ``play(place)`` begins a run in ``place / "run"`` or goes on with it, and returns what it found;
    what was paid stands in ``place / "outside"``.
    """

    def fresh(label):
        place = home / label
        (place / "outside").mkdir(parents=True)
        return place

    def count():
        place = fresh("reference")
        arm(place / "run")
        return [play(place), operations()]

    play(fresh("warm"))
    answer = in_a_child(count)
    expected, kinds = answer["found"]
    cases = [
        (mode, number)
        for mode in MODES
        for number, kind in enumerate(kinds, 1)
        if mode not in ("tear", "full") or kind in ("w" if mode == "tear" else "cwtm")
    ]
    # Half of a sample while files are made, which has the most windows.
    early = np.array([number <= MAKING for _, number in cases])
    chance = np.where(early, 0.5 / early.sum(), 0.5 / (~early).sum())
    sample = min(sample or len(cases), len(cases))
    chosen = np.random.default_rng(seed).choice(len(cases), sample, replace=False, p=chance)
    account = Counter(operations=len(kinds), possible=len(cases), cases=0)
    failures = []
    end = time.monotonic() + seconds
    for mode, number in (cases[k] for k in chosen):
        if time.monotonic() > end:
            break
        account["cases"] += 1
        label = f"{name}: {mode} at operation {number} ({kinds[number - 1]})"
        place = fresh(f"{mode}-{number}")

        def suffer(place=place, mode=mode, number=number):
            arm(place / "run", number, mode)
            return play(place)

        first = in_a_child(suffer)
        account["killed" if first is None else "stopped" if "error" in first else "unharmed"] += 1
        if first is not None and first.get("error", CLEAN[0]) not in CLEAN:
            failures.append(f"{label}: {first}")
        again = in_a_child(lambda place=place: play(place))
        if again is None or "error" in again:
            account["refused though sound"] += 1
            failures.append(f"{label}: refused: {again}")
        elif again["found"] != expected:
            account["different"] += 1
            failures.append(f"{label}: {again['found']} instead of {expected}")
        shutil.rmtree(place)
    return account, failures


# --- the kinds of runs ---------------------------------------------------------------------------


@cache
def world():
    """The kinds of runs by name; made in the process that forks: children import nothing."""
    from aqka import BackendFactory, Points, Schedule, StatevectorBackend, acquire, predict
    from aqka.estimators import QuantumKernel
    from aqka.runs import driver
    from aqka.study.carry_out import carry_out, resume
    from aqka.study.directory import prepare
    from aqka.study.store import RunStore
    from tests.chaos.kinds import KINDS, Place

    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 3, (5, 2)), np.array([1, -1, 1, -1, 1])
    new = rng.uniform(0, 3, (2, 2))
    outside = []

    class Paid(StatevectorBackend):
        """A device whose jobs outlive every process, with a journal of what was bought."""

        replayable = False

        def submit(self, plan, tag):
            answer = super().collect(super().submit(plan, tag))
            (outside[-1] / tag).write_bytes(pickle.dumps(answer))
            with open(outside[-1] / "journal", "a") as journal:
                journal.write(f"{plan.total} {tag}\n")
            return tag

        def recover(self, plan, tag):
            return tag if (outside[-1] / tag).exists() else None

        def collect(self, ticket):
            return pickle.loads((outside[-1] / ticket).read_bytes())

        def fingerprint(self):
            return "paid"

    @contextmanager
    def buying(place):
        outside.append(place / "outside")
        with mock.patch.object(driver, "new_run_id", return_value="the-run"):
            yield

    def bought(place):
        return sorted((place / "outside" / "journal").read_text().splitlines())

    def pairs(place):
        with buying(place):
            schedule = Schedule(rounds=2)
            found = acquire(
                Paid(X),
                y,
                20,
                "aqka",
                design="pairs",
                schedule=schedule,
                directory=place / "run",
            )
        return [found.table.shots.tolist(), found.table.hits.tolist(), bought(place)]

    def points(place):
        with buying(place):
            found = acquire(
                Paid(X),
                y,
                60,
                schedule=Schedule(rounds=1),
                design=Points(calibration_shots=10),
                directory=place / "run",
            )
        table = found.table
        return [table.shots.tolist(), table.counts.tolist(), bought(place)]

    head = acquire(StatevectorBackend(X), y, 400, "aqka", design="pairs").fit("ridge")

    def predictions(place):
        with buying(place):
            backend = Paid(new, columns=X)
            found = predict(head, backend, 60, directory=place / "run")
        return [found.labels.tolist(), found.shots.tolist(), bought(place)]

    def dropin(place):
        with buying(place):
            options = {"budget": 20, "test_budget": 20, "directory": place / "run"}
            options["design"] = "pairs"
            kernel = QuantumKernel(backend=BackendFactory(Paid), **options)
            train, block = kernel.matrix(X), kernel.matrix(new, X)
        return [train.tolist(), block.tolist(), bought(place)]

    def study(name):
        kind = next(kind for kind in KINDS if kind.name == name)

        def play(home):
            place = Place(home)
            if not (home / "study.toml").exists():
                (home / "study.toml").write_text(kind.study.format(seed=0))
            with kind.entered(place):
                if place.run.exists():
                    done = resume(RunStore(place.run))
                else:
                    done = carry_out(prepare(home / "study.toml"), place.run)
            paid, twice = kind.paid(place.outside)
            return [done.session.table.total, str(done.results["results"]), sorted(paid), twice]

        return play

    return {
        "pairs": pairs,
        "points with a calibration": points,
        "predictions": predictions,
        "drop-in": dropin,
        "study of points": study("points on a simulator"),
        "study on tiles": study("pairs on tiles of IBM's service"),
    }


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.file_faults", description=__doc__)
    parser.add_argument(
        "--sample", type=int, help="so many operations of each kind of run but studies"
    )
    parser.add_argument("--study-sample", type=int, help="so many of studies, which take longer")
    parser.add_argument("--seconds", type=float, default=math.inf, help="how long to go on")
    parser.add_argument("--kind", action="append", help="only this kind of run")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    chosen = parser.parse_args()
    again = with_interposer("tests.chaos.file_faults")
    if again is not None:
        return again
    if interposer() is None:
        return 0
    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    clean = True
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with threadpool_limits(1), tempfile.TemporaryDirectory(dir=memory) as scratch:
        runs = {name: play for name, play in world().items() if name in (chosen.kind or world())}
        for name, play in runs.items():
            sample = chosen.study_sample if name.startswith("study") else chosen.sample
            place, seconds = Path(scratch) / name, chosen.seconds / len(runs)
            account, failures = sweep(name, play, place, sample, chosen.seed, seconds)
            shown = ", ".join(f"{count} {what}" for what, count in account.items())
            print(f"{name}: {shown}, {len(failures)} failures", flush=True)
            for failure in failures:
                print(f"  {failure}", flush=True)
            clean = clean and not failures
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
