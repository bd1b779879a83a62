"""What a check found, printed."""

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqka._util.text import inert
from aqka.insight.recommendation import settings_text

if TYPE_CHECKING:
    from aqka.insight.preflight import Preflight

SHOWN = 5  # settings of the scan


def print_check(found: "Preflight", console: Console) -> None:
    """Print scores, what the kernel is like, the best settings, and the one sentence."""
    sample = f", a sample of {found.n_given:,}" if found.n_given > found.n_points else ""
    console.print(_scores(found, f"{found.n_points} points{sample}: no shot was spent"))
    console.print(_settings(found))
    for sentence in _sentences(found):
        console.print(sentence, highlight=False, markup=False, soft_wrap=True)


def _scores(found: "Preflight", title: str) -> Table:
    table = Table(title=title)
    table.add_column("model", no_wrap=True)
    for name in found.metrics:
        table.add_column(name, justify="right", no_wrap=True)
    for model in found.models:
        pairs = zip(model.means, model.errors, strict=True)
        table.add_row(Text(model.name), *(f"{mean:.3f} ± {error:.3f}" for mean, error in pairs))
    return table


def _settings(found: "Preflight") -> Table:
    table = Table(title=f"the best of {len(found.scan.candidates)} settings")
    table.add_column("settings")
    table.add_column(found.metrics[0], justify="right", no_wrap=True)
    own = found.scan.order.index(0)
    shown = found.scan.order[:SHOWN] + ([0] if own >= SHOWN else [])
    for number in shown:
        score = found.scan.scores[number]
        settings = settings_text(found.scan.candidates[number].settings)
        name = inert(settings.replace("feature_map.", ""), 100) + (" (yours)" if not number else "")
        table.add_row(Text(name), f"{score.means[0]:.3f} ± {score.errors[0]:.3f}")
    return table


def _sentences(found: "Preflight") -> list[str]:
    kernel, geometric = found.concentration, found.geometric
    shots = "" if found.forecast is None else ", as the same shots on every pair show them"
    sentences = [
        f"Models learn from {found.n_train} points each time{_fewer(found)}.",
        f"Settings are scored on the same folds{shots}; the best of many is flattered, here by "
        f"{max(found.scan.flattery, 0):.3f}: '{found.scan.nested.name}' is not.",
        f"{kernel.words} Entries: {kernel.mean:.3f} on average, spread {kernel.spread:.3f}"
        + ("" if kernel.shot_error is None else f", shot error {kernel.shot_error:.3f}")
        + f"; effective rank {kernel.effective_rank:.1f} of {kernel.n_points}.",
        f"Geometric difference to the nearest plain kernel ({geometric.nearest}): "
        f"{geometric.value:.1f}; far below {geometric.largest:.1f} a plain kernel can learn "
        "whatever this one can.",
        "",
        inert(found.recommendation.sentence, limit=None),
    ]
    return sentences


def _fewer(found: "Preflight") -> str:
    """Say that a sample is too small to train on as many points as the study does."""
    if found.n_train >= found.n_train_given:
        return ""
    return (
        f", not from the study's {found.n_train_given:,}, with as many shots a pair: with all of "
        "them every model, plain ones too, may score better"
    )
