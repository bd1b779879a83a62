"""Which readings of the paper each experiment is run under, and with how many seeds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aqka_research.paper_reading import LEVELS, LITERAL, PaperReading

PROJECTED = {"variance": "projected", "unseen": "filled"}
"""The variance term of line 8 from the matrix that line 5 has projected."""
FILL = ("variance", "unseen", "targets", "floor")
"""The switches of Algorithm 1 itself."""
ALONE = ({"diagonal": "known"}, {"ridge": "times-n"}, {"tests": "equal"})
"""Changed one at a time: every run has to be made anew for them."""
TASK = {"width": "0.05", "inputs": "pi"}
"""The switches of the tasks' kernels; no experiment has both."""
CONTROLS = {"oracle": "bare", "bernoulli": "true"}
"""The switches of methods that AQKA is compared with; no claim depends on both."""


def full_design() -> list[PaperReading]:
    """Return the combinations of what matters most, and the rest one switch at a time."""
    crossed = [
        LITERAL.changed(floor=floor, **changes)
        for changes in _subsets(TASK, PROJECTED, CONTROLS)
        for floor in LEVELS["floor"]
    ]
    targets = [
        LITERAL.changed(targets=level, **changes)
        for level in LEVELS["targets"][1:]
        for changes in _subsets(TASK, PROJECTED)
    ]
    filled = ({"unseen": "filled"}, {"unseen": "filled", **TASK})
    alone = [{**change, **also} for change in ALONE for also in ({}, PROJECTED)]
    return crossed + targets + _one_by_one(*filled, *alone)


def single_design() -> list[PaperReading]:
    """Return one change at a time, and the task's together with the variance term's."""
    return [
        LITERAL,
        *_one_by_one(PROJECTED, {"unseen": "filled"}, TASK, {**TASK, **PROJECTED}),
        *_one_by_one({"targets": "round"}, {"targets": "total"}, {"floor": "none"}),
        *_one_by_one(CONTROLS, *ALONE),
    ]


def _subsets(*changes: dict[str, str]) -> list[dict[str, str]]:
    """Return every choice of some of the changes, together."""
    chosen: list[dict[str, str]] = [{}]
    for change in changes:
        chosen += [{**before, **change} for before in chosen]
    return chosen


def _one_by_one(*changes: dict[str, str]) -> list[PaperReading]:
    return [LITERAL.changed(**change) for change in changes]


def literal_design() -> list[PaperReading]:
    """Return the literal reading alone."""
    return [LITERAL]


DESIGNS = {
    "full": full_design,
    "single": single_design,
    "literal": literal_design,
}


@dataclass(frozen=True)
class ReadingDesign:
    """How an experiment is run under the readings.

    Attributes
    ----------
    kind
        A name of :data:`DESIGNS`.
    reach
        The switches that the design changes.
    seeds
        Seeds of the whole run: as many as bring nine tenths of the gains' standard errors below
        1.5 pts, by those of an earlier run, or as the time allows.
    fewer
        Panels, by the first letter, that have fewer seeds, because a run of theirs is dear.
    besides
        Switches that would change the experiment too, but are left at their literal levels.
    settings
        Parameters of the experiment that are not its full run's, to leave out what no claim uses.
    """

    kind: str
    reach: tuple[str, ...] = ()
    seeds: int = 20
    fewer: tuple[tuple[str, int], ...] = ()
    besides: tuple[str, ...] = ()
    settings: tuple[tuple[str, object], ...] = ()

    def readings(self) -> list[PaperReading]:
        """Return the readings that differ for the experiment, the literal one first."""
        designed = DESIGNS[self.kind]()
        return list(dict.fromkeys(reading.restricted_to(self.reach) for reading in designed))

    def seeds_of(self, cell: Mapping[str, Any]) -> int:
        """Return the seeds of the part of the experiment that a cell belongs to."""
        return dict(self.fewer).get(cell.get("panel", "")[:1], self.seeds)

    def relevant(self, reading: PaperReading) -> PaperReading:
        """Return a reading with the switches that change nothing here at their literal levels."""
        return reading.restricted_to((*self.reach, *self.besides))


PLANTED, QUANTUM = (*FILL, "width"), (*FILL, "inputs")
ANEW = ("diagonal", "ridge", "tests")
"""Switches for which every method has to be run again, whatever else is shared."""
WITHOUT_LEVERAGE = ["uniform", "random", "bernoulli", "aqka", "aqka-oracle"]
"""Methods of the synthetic task, whose claims do not speak of leverage."""
TUNED = ["fixed", "leave-one-out, paper's grid", "leave-one-out, wide grid"]
"""The learners of the ridge's tuning that claims speak of."""
EXPERIMENTS = {
    "synthetic": ReadingDesign(
        "full",
        (*PLANTED, *ANEW, "oracle", "bernoulli"),
        66,
        settings=(("methods", WITHOUT_LEVERAGE),),
    ),
    "fill": ReadingDesign("full", (*PLANTED, *ANEW, "oracle"), 48),
    "shofar-tau": ReadingDesign("full", PLANTED, 85, besides=ANEW),
    "nystrom-sweep": ReadingDesign("full", PLANTED, 155, besides=ANEW),
    "hybrid": ReadingDesign("full", PLANTED, 95, besides=ANEW),
    "ridge-cv": ReadingDesign("full", (*PLANTED, *ANEW), 48, settings=(("learners", TUNED),)),
    "quantum": ReadingDesign("full", (*QUANTUM, *ANEW, "oracle", "bernoulli"), 70),
    "head-to-head": ReadingDesign("full", QUANTUM, 400, (("a", 56), ("c", 112)), besides=ANEW),
    "hardware": ReadingDesign("full", (*FILL, "diagonal", "ridge", "oracle", "bernoulli"), 400),
    "online": ReadingDesign("full", (*FILL, "inputs", "diagonal", "ridge"), 132),
    "heatmap": ReadingDesign(
        "full", ("targets", "floor", "width", "oracle", "diagonal", "ridge"), 33
    ),
    "gini": ReadingDesign("full", (*PLANTED, *ANEW), 58),
    "sparsity": ReadingDesign("single", (*PLANTED, *ANEW, "oracle"), 20),
    "hyperparameters": ReadingDesign("single", (*PLANTED, *ANEW), 58),
    "dense": ReadingDesign("single", (*FILL, "bernoulli", "diagonal", "ridge"), 10),
    "svm": ReadingDesign("single", (*FILL, "oracle", "diagonal"), 320),
    "havlicek": ReadingDesign("single", (*FILL, *ANEW), 13, settings=(("more_points", []),)),
    "live": ReadingDesign("single", (*FILL, "inputs", "diagonal", "ridge"), 290),
    "scaling": ReadingDesign(
        "single",
        ("variance", "unseen", "width", "bernoulli"),
        6,
        besides=(*ANEW, "targets", "floor"),
    ),
    "theory": ReadingDesign("literal", seeds=13),
}
"""Every experiment's design. Where a run is dear, the design is smaller or the seeds are fewer."""
