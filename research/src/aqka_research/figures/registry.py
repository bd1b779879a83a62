"""All measured pages. A new page is a function that writes it, and an entry here.

An entry names the function, what the page shows, and about how many processor minutes a full run
takes. The function gets a :class:`~aqka_research.figures.page.PageRun` and returns the blocks of
the page, its title first; it measures through ``run.cells``, so that it can be stopped, resumed and
run on a cluster, and has three sizes through ``run.pick``.
"""

from aqka_research.figures.page import Page

PAGES = (
    Page(
        "everything",
        "aqka_research.compare.everything_page:page",
        "Everything side by side: QPU time until the accuracy is the exact kernel's",
        23,
        halves=("confirmation",),
    ),
    Page(
        "classical",
        "aqka_research.benchmarks.classical:page",
        "What needs no shots: classical models on the held-out tasks",
        1.5,
        halves=("confirmation",),
    ),
    Page(
        "total",
        "aqka_research.compare.total_page:page",
        "Points against pairs: total shots, training and prediction",
        8,
        halves=("confirmation",),
    ),
    Page(
        "total-fez",
        "aqka_research.compare.total_page:fez_page",
        "Points against pairs with the noise of a fake Heron",
        4,
        halves=("confirmation",),
    ),
    Page(
        "prior",
        "aqka_research.compare.prior_page:page",
        "Predictions without shots: what a prior on gate angles answers",
        2,
        halves=("confirmation",),
    ),
    Page(
        "prior-fez",
        "aqka_research.compare.prior_page:fez_page",
        "Predictions without shots with the noise of a fake Heron",
        1,
        halves=("confirmation",),
    ),
    Page(
        "comparison",
        "aqka_research.compare.page:page",
        "Allocators and learners on held-out tasks",
        6,
        halves=("confirmation",),
    ),
    Page(
        "candidates",
        "aqka_research.compare.candidates:page",
        "The default learner beside those that were not taken, on development tasks",
        2.5,
        halves=("development",),
    ),
    Page(
        "alignment",
        "aqka_research.benchmarks.alignment:page",
        "Kernel alignment: what training a feature map costs",
        2,
        halves=("confirmation",),
        timed=True,
    ),
    Page(
        "models",
        "aqka_research.benchmarks.models_page:page",
        "Regressions beside sQUlearn's, intervals of targets, features shrunk to their signal",
        4,
        halves=("development", "confirmation"),
    ),
    Page(
        "prediction",
        "aqka_research.benchmarks.prediction:page",
        "Shots for prediction: savings, coverage, splits",
        6,
        halves=("confirmation",),
    ),
    Page(
        "points",
        "aqka_research.benchmarks.points_page:page",
        "Points: how good fitted states, rank tests, stopping and projected kernels are",
        8,
        halves=("development", "confirmation"),
    ),
    Page(
        "tiles",
        "aqka_research.benchmarks.tiles:page",
        "Tiles: how many circuits three chips hold side by side, and how accurate their kernel is",
        0.5,
    ),
    Page(
        "iris",
        "aqka_research.benchmarks.iris:page",
        "Iris: its cost the usual way, with tiles, and with points on tiles",
        2,
    ),
    Page(
        "shrinkage",
        "aqka_research.benchmarks.projected_shrinkage:page",
        "Shrinking to the signal: projected kernels from few shots",
        3,
        halves=("development", "confirmation"),
    ),
    Page(
        "flipped-bits",
        "aqka_research.benchmarks.tolerant_pairs:page",
        "Flipped bits: pairs of 6 and 12 qubits read tolerantly",
        1,
    ),
    Page(
        "public-data",
        "aqka_research.benchmarks.public_data:page",
        "Public data: 60- and 100-qubit measurements of others, with fewer shots",
        2.5,
        needs="AQKA_PUBLIC_DATA",
    ),
    Page(
        "many-qubits",
        "aqka_research.benchmarks.many_qubits:page",
        "Many qubits: CPU time and memory at 60 to 156 qubits",
        0.5,
        timed=True,
    ),
    Page("demo", "aqka_research.benchmarks.demo:page", "The demo: Iris, one step at a time", 0.3),
    Page(
        "reproduction",
        "aqka_research.reproduce.pages:paper_page",
        "Reproduction: each of the paper's numbers, judged",
        5,
        store="reproduction",
    ),
    Page(
        "reproduction-fair",
        "aqka_research.reproduce.pages:fair_page",
        "The same, fairly: known diagonal, tuned ridge, balanced tasks",
        9,
        store="reproduction",
    ),
    Page(
        "readings",
        "aqka_research.reproduce.pages:readings_page",
        "Readings: what holds under which reading of the paper",
        54,
        store="reproduction",
    ),
    Page(
        "benchmarks",
        "aqka_research.benchmarks.page:page",
        "Agreement, speed and memory, beside other libraries",
        6,
        timed=True,
    ),
    Page(
        "held-out",
        "aqka_research.figures.held_out:page",
        "All tasks with their halves, what was chosen on which, and how often each was run",
        0,
        quotes=("runs.json", "candidates.md"),
    ),
    Page(
        "summary",
        "aqka_research.figures.summary:page",
        "What we measured, in ten lines",
        0,
        quotes=(
            "everything.md",
            "total.md",
            "classical.md",
            "tiles.md",
            "prediction.md",
            "readings.md",
            "benchmarks.md",
        ),
    ),
)
