from aqka_research.paper_reading import LEVELS, LITERAL, PaperReading
from aqka_research.reproduce.experiments import experiment_names
from aqka_research.reproduce.reading_design import (
    CONTROLS,
    EXPERIMENTS,
    PROJECTED,
    TASK,
    full_design,
    single_design,
)
from aqka_research.reproduce.reading_sweep import sweep_cells


def test_every_experiment_has_a_design_that_begins_literally():
    assert set(EXPERIMENTS) == set(experiment_names())
    for design in EXPERIMENTS.values():
        readings = design.readings()
        assert readings[0] == LITERAL
        assert len(set(readings)) == len(readings)
        assert all(set(reading.changes) <= set(design.reach) for reading in readings)
        # What a design says it changes, it changes, to every level.
        for switch in design.reach:
            assert {getattr(reading, switch) for reading in readings} == set(LEVELS[switch])


def test_the_full_design_crosses_what_the_rules_say():
    readings = set(full_design())
    for task in ({}, TASK):
        for variance in ({}, PROJECTED):
            for controls in ({}, CONTROLS):
                for floor in LEVELS["floor"]:
                    changed = {**task, **variance, **controls, "floor": floor}
                    assert LITERAL.changed(**changed) in readings
            for targets in ("round", "total"):
                assert LITERAL.changed(**task, **variance, targets=targets) in readings
    assert LITERAL.changed(ridge="times-n", **PROJECTED) in readings


def test_the_single_design_has_every_level_alone_or_with_its_companion():
    changes = [reading.changes for reading in single_design()]
    for switch, levels in LEVELS.items():
        for level in levels[1:]:
            least = min(len(c) for c in changes if c.get(switch) == level)
            assert least <= 2


def test_what_changes_nothing_in_an_experiment_is_literal_there():
    reading = PaperReading(width="0.05", inputs="pi", diagonal="known")
    assert EXPERIMENTS["hardware"].relevant(reading) == PaperReading(diagonal="known")
    assert EXPERIMENTS["hybrid"].relevant(reading) == PaperReading(width="0.05", diagonal="known")


def test_panels_that_are_dear_have_fewer_seeds():
    design = EXPERIMENTS["head-to-head"]
    seeds = {}
    for cell in sweep_cells({"head-to-head": [LITERAL]}):
        for _, settings, _ in cell["parts"]:
            seeds.setdefault(settings["panel"][0], []).append(settings["seed"])
    assert {panel: len(found) for panel, found in seeds.items()} == {
        "a": dict(design.fewer)["a"],
        "b": design.seeds,
        "c": dict(design.fewer)["c"],
    }
    everywhere = sweep_cells({"head-to-head": [LITERAL]}, seeds=2)
    assert len([part for cell in everywhere for part in cell["parts"]]) == 3 * 2
