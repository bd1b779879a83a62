import numpy as np
import pytest

from aqka.allocators.aqka import Aqka, AqkaOracle, Multinomial, ridge_gradient
from aqka.allocators.baselines import Bernoulli, Uniform
from aqka.allocators.schedule import Schedule
from aqka.allocators.targets import raise_to_floor
from aqka.core.plans import ShotPlan
from aqka.core.problem import PAPER, Problem
from aqka.maths.spectrum import Spectrum, project_psd
from aqka_research.paper_arms import FixedTarget, SharedAqka, TrueBernoulli, arm_as_read
from aqka_research.paper_reading import LITERAL, PaperReading
from aqka_research.protocols import reading_of
from aqka_research.read_runs import forget_runs, read_run
from aqka_research.tasks import planted_sparse


@pytest.fixture
def half_seen():
    """Return a table with unseen pairs, and its task."""
    task = planted_sparse(12, 6, 3, seed=3)
    problem = Problem(task.y, task.ridge, reading=PAPER, true_kernel=task.kernel)
    table = problem.new_table()
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(table.n_pairs, 50, replace=False))
    rows, cols = table.pairs(chosen)
    shots = rng.integers(1, 6, size=50)
    table.add(ShotPlan(rows, cols, shots), rng.binomial(shots, task.kernel[rows, cols]))
    return table, task


@pytest.mark.parametrize("variance", ["counts", "projected"])
@pytest.mark.parametrize("unseen", ["zero", "filled"])
def test_the_variance_term_is_of_the_matrix_that_the_reading_names(half_seen, variance, unseen):
    table, _ = half_seen
    reading = reading_of(PaperReading(variance=variance, unseen=unseen).name)
    raw = table.square(table.estimate())
    projected = np.clip(project_psd(raw), 0, 1)
    for k in range(table.n_pairs):
        (i,), (j,) = table.pairs(np.array([k]))
        if table.shots[k]:
            value = raw[i, j] if variance == "counts" else projected[i, j]
        else:
            value = 0.0 if unseen == "zero" else projected[i, j]
        assert reading.deviation(table)[k] == pytest.approx(np.sqrt(value * (1 - value)), abs=1e-7)


def test_the_literal_reading_is_the_papers(half_seen):
    table, _ = half_seen
    literal = reading_of("literal")
    assert np.array_equal(literal.deviation(table), PAPER.deviation(table))
    assert np.array_equal(literal.kernel(table), PAPER.kernel(table))
    assert (literal.diagonal, literal.learner) == (PAPER.diagonal, PAPER.learner)
    assert reading_of(PaperReading(diagonal="known").name).diagonal == "known"


def test_shared_decompositions_change_no_sensitivity(half_seen):
    table, task = half_seen
    problem = Problem(task.y, task.ridge, reading=reading_of("literal"))
    expected = table.condense(ridge_gradient(Spectrum.of(PAPER.kernel(table)), problem))
    assert np.array_equal(SharedAqka().sensitivity(table, problem), expected)


def test_targets_of_a_fixed_budget(half_seen):
    """Algorithm 1, lines 8 and 9, with B_t one number, pair by pair."""
    table, task = half_seen
    problem = Problem(task.y, task.ridge, reading=reading_of("literal"))
    arm, schedule = arm_as_read(Aqka(), None, PaperReading(targets="round"), budget=1000)
    assert isinstance(arm, FixedTarget)
    assert arm.target_budget == (1000 - 200) / 4
    assert schedule == Schedule()
    g = raise_to_floor(table.condense(ridge_gradient(Spectrum.of(PAPER.kernel(table)), problem)))
    score = g * PAPER.deviation(table)
    deficit = np.maximum(0, 200 * score / score.sum() - table.shots)
    shots = arm.ask(table, problem, 160, np.random.default_rng(0)).shots
    assert shots.sum() == 160
    assert np.all(np.abs(shots - 160 * deficit / deficit.sum()) < 1)
    whole, _ = arm_as_read(Aqka(), None, PaperReading(targets="total"), budget=1000)
    assert whole.target_budget == 1000


def test_which_arm_a_switch_reaches():
    assert arm_as_read(Uniform(), None, PaperReading(floor="none", oracle="bare"), 10)[0] == (
        Uniform()
    )
    assert arm_as_read(Aqka(), None, PaperReading(floor="none"), 10)[0].floor == 0.0
    bare, schedule = arm_as_read(AqkaOracle(), None, PaperReading(oracle="bare"), 10)
    assert (bare.floor, schedule.warmup) == (0.0, 0.0)
    given = Schedule(warmup=0.3)
    assert arm_as_read(AqkaOracle(), given, PaperReading(oracle="bare"), 10)[1] == given
    true, _ = arm_as_read(Bernoulli(), None, PaperReading(bernoulli="true"), 10)
    assert type(true) is TrueBernoulli
    # A multinomial draw has no target to fill to.
    drawn, _ = arm_as_read(Multinomial(), None, PaperReading(targets="total"), 10)
    assert isinstance(drawn, Multinomial)


def test_a_run_is_made_once_where_readings_agree():
    forget_runs()
    task = planted_sparse(20, 10, 3, seed=1)
    projected = PaperReading(variance="projected", unseen="filled")

    def run(method, reading):
        return read_run(task, method, 600, reading.name, seed=0)

    assert run("uniform", LITERAL) is run("uniform", projected)
    assert run("uniform", LITERAL) is not run("uniform", PaperReading(diagonal="known"))
    assert run("aqka-oracle", LITERAL) is run("aqka-oracle", projected)
    assert run("aqka", LITERAL) is not run("aqka", projected)
    assert run("aqka", LITERAL).table.total == 600
    # The warm-up is the same, so what both have bought of a pair has common outcomes.
    first, second = run("aqka", LITERAL).table, run("aqka", projected).table
    same = (first.shots == second.shots) & (first.shots <= 64)
    assert same.sum() > 20
    assert np.array_equal(first.hits[same], second.hits[same])
    forget_runs()
