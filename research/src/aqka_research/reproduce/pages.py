"""The measured pages of the reproduction: the paper's protocol, the fair one, and the readings.

They are written by one module, so that they depend on the same code and share their runs.
"""

from pathlib import Path

from aqka_research.figures.page import PageRun
from aqka_research.reproduce.experiments import experiment_names
from aqka_research.reproduce.headlines import headline_fates
from aqka_research.reproduce.page import overview
from aqka_research.reproduce.reading_study import HowToRun, ReadingStudy, study_readings
from aqka_research.reproduce.readings_page import PICTURE, readings_text
from aqka_research.reproduce.reproduction import reproduce, set_up

SMALL = ["heatmap", "gini"]


def paper_page(run: PageRun) -> list[str]:
    """Run the paper's experiments as the paper did, and write the page."""
    return _reproduction(run, "paper")


def fair_page(run: PageRun) -> list[str]:
    """Run them with what a careful user would do, and write the page."""
    return _reproduction(run, "fair")


def _reproduction(run: PageRun, protocol: str) -> list[str]:
    quick, seeds = run.size != "full", run.pick(None, 1, 1)
    done = []
    for name in run.pick(experiment_names(), experiment_names(), SMALL):
        setup = set_up(name, run.work, quick=quick, seeds=seeds, protocol=protocol)
        one = reproduce(setup, workers=run.workers, scheduler=run.scheduler, on_cell=run.on_cell)
        run.count(name, one.results.seconds, setup.cells)
        done.append(one)
    return [overview(done).strip()]


def readings_page(run: PageRun) -> list[str]:
    """Run both protocols and every reading, and write the page and its picture."""
    how = HowToRun(
        run.workers,
        run.scheduler,
        run.on_cell,
        quick=run.size != "full",
        seeds=run.pick(None, 1, 1),
    )
    study = study_readings(run.pick(experiment_names(), SMALL, SMALL), run.work, how)
    run.seconds["readings"] = study.seconds["readings"]  # both protocols have pages of their own
    run.seeds.update(range(max(study.seeds.values())))
    return [readings_text(study, draw_headlines(study, run.path.with_name(PICTURE))).strip()]


def draw_headlines(study: ReadingStudy, path: Path) -> bool:
    """Draw the headlines where matplotlib is installed and one of them was run."""
    if not headline_fates(study):
        return False
    try:
        from aqka_research import style
        from aqka_research.reproduce.readings_figure import headline_figure
    except ImportError:
        return False
    with style.style():
        style.save_figures({path.stem: headline_figure(study)}, path.parent, ("png",))
    return True
