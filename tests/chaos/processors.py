"""Runs whose processes have different processors, which differ in the last bits of a float.

``python -m tests.chaos.processors HOME JOBS [RUN ...]`` begins runs in HOME or goes on with them,
stops each when it has sent so many more jobs, and prints what they found and paid.
"""

import hashlib
import json
import os
import pickle
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from aqka import Points, QuantumRidgeClassifier, Schedule, StatevectorBackend, acquire, predict
from aqka.estimators import QuantumKernel
from aqka.study.carry_out import carry_out, resume
from aqka.study.directory import RESULTS_NAME, prepare
from aqka.study.new_points import predict_new_points
from aqka.study.store import RunStore

STUDY = """
seed = 1
[data]
source = "points.csv"
target = "y"
[split]
train = 8
test = 3
[feature_map]
qubits = 2
[backend]
name = "statevector"
[budget]
train = "{shots} shots"
test_shots = {each}
[method]
design = "{design}"
rounds = 2
"""
RNG = np.random.default_rng(5)
TABLE = RNG.normal(size=(14, 4)) @ RNG.normal(size=(4, 4))  # so that its two components are inexact
Y = np.where(TABLE[:, 0] + TABLE[:, 1] > 0, 1, -1)
X, NEW = np.abs(TABLE[:8, :2]), np.abs(TABLE[8:11, :2])
SUBMIT, COLLECT = StatevectorBackend.submit, StatevectorBackend.collect


class NoMoreJobs(Exception):
    """The device was taken away."""


class Device:
    """A device whose jobs outlive every process; what it sold stands in a folder."""

    def __init__(self, place, left):
        self.place, self.left = place, left
        place.mkdir(exist_ok=True)

        def sell(backend, plan, tag):
            if self.left == 0:
                raise NoMoreJobs
            self.left -= 1
            answer = COLLECT(backend, SUBMIT(backend, plan, tag))
            (self.place / tag).write_bytes(pickle.dumps((plan.total, answer)))
            return tag

        StatevectorBackend.replayable = False
        StatevectorBackend.submit = sell
        StatevectorBackend.recover = lambda backend, plan, tag: (
            tag if (self.place / tag).exists() else None
        )
        StatevectorBackend.collect = lambda backend, ticket: self.sold(ticket)[1]

    def sold(self, tag):
        return pickle.loads((self.place / tag).read_bytes())

    def total(self):
        return sum(self.sold(job.name)[0] for job in self.place.iterdir())


def direct(design, place):
    """``acquire`` and ``predict``."""
    by_points = design == "points"
    session = acquire(
        StatevectorBackend(X),
        Y[:8],
        400,
        "aqka",
        design=Points(calibration_shots=20) if by_points else "pairs",
        schedule=Schedule(rounds=2),
        directory=place / "training",
    )
    head = session.fit()
    backend = StatevectorBackend(NEW, columns=None if by_points else X)
    found = predict(head, backend, 300, directory=place / "predictions")
    return found.labels.tolist(), bits(head.alpha)


def estimator(design, place):
    """An estimator that keeps its counts in a directory."""
    model = QuantumRidgeClassifier(budget=400, design=design, directory=place)
    model.fit(X, Y[:8])
    found = model.predict(NEW, budget=300)
    return found.tolist(), bits(model.head_.alpha)


def dropin(design, place):
    """A kernel for other libraries."""
    options = {"budget": 400, "test_budget": 600, "design": design, "directory": place}
    kernel = QuantumKernel(backend="statevector", **options)
    train, block = kernel.matrix(X), kernel.matrix(NEW, X)
    return block.round(6).tolist(), bits(train)


def study(design, place):
    """A study with predictions, whose results get lost, and new points of a file."""
    run = place / "run"
    shots, each = (400, 5) if design == "pairs" else (800, 60)
    if not run.exists():
        (place / "study.toml").write_text(STUDY.format(design=design, shots=shots, each=each))
        done = carry_out(prepare(place / "study.toml"), run)
    else:
        if (run / "predictions").exists():
            (run / RESULTS_NAME).unlink(missing_ok=True)
        done = resume(RunStore(run))
    new = predict_new_points(run, place / "new.csv")
    folders = [folder.name for folder in (run / "new-points").iterdir()]
    return [folders, new.prediction.labels.tolist()], bits(done.head.alpha)


def bits(values):
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]


def write_points(place):
    names = "a,b,c,d"
    rows = [",".join(map(repr, row.tolist())) for row in TABLE]
    labelled = [f"{row},{label}" for row, label in zip(rows, Y.tolist(), strict=True)]
    (place / "points.csv").write_text("\n".join([f"{names},y", *labelled]))
    (place / "new.csv").write_text("\n".join([names, *rows[:3]]))


RUNS = {
    f"{play.__name__} {design}": (play, design)
    for design in ("pairs", "points")
    for play in (direct, estimator, dropin, study)
}
MOST_SHOTS = {
    **{"direct pairs": 700, "estimator pairs": 700, "dropin pairs": 736, "study pairs": 640},
    **{"direct points": 700, "estimator points": 700, "dropin points": 550, "study points": 1160},
}
NEWER = " ".join(name for name in __cpu_dispatch__ if __cpu_features__[name])
PROCESSORS = [
    {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": NEWER},
    {"OPENBLAS_CORETYPE": "Sandybridge"},
]


def go_on(home, processor, jobs, *runs):
    """Go on with runs on a processor; return what each says, and what went wrong."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.chaos.processors", str(home), str(jobs), *runs],
        env={**os.environ, **PROCESSORS[processor]},
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    return json.loads(ended.stdout or "{}"), ended.stderr


def main(home, jobs, runs):
    warnings.simplefilter("ignore")
    said = {}
    for name in runs or RUNS:
        play, design = RUNS[name]
        place = home / name
        if not place.exists():
            place.mkdir()
            write_points(place)
        device, found = Device(home / f"{name} jobs", jobs), None
        with suppress(NoMoreJobs):  # anything else is a sound run that is refused
            found = play(design, place)
        said[name] = {"found": found, "shots": device.total()}
    print(json.dumps(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
