"""The commands ``aqka init`` and ``aqka check``: parse, call, print."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from aqka._util.files import as_json as as_json_bytes
from aqka._util.files import explained
from aqka._util.progress_bar import progress_bar
from aqka._util.text import inert, percent
from aqka.cli.options import AllowCode, AsJson, StudyFile, make_table, quoted, say
from aqka.errors import InputError

if TYPE_CHECKING:
    from aqka.insight.fold_scores import FoldScores
    from aqka.insight.recommendation import Preflight
    from aqka.study.check import StudyCheck

SHOWN = 5  # settings of the scan


class Task(StrEnum):
    """What a target holds."""

    classification = "classification"
    regression = "regression"


def init(
    study: Annotated[Path, typer.Argument(help="File to write.")] = Path("study.toml"),
    data: Annotated[
        Path | None,
        typer.Option(help="Your .csv, .parquet or .npz file, in the study file's directory."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="With --data: the column of the labels.")
    ] = None,
    task: Annotated[Task | None, typer.Option(help="What the target holds.")] = None,
    id: Annotated[str | None, typer.Option(help="The column that names the points.")] = None,
    features: Annotated[str | None, typer.Option(help="The columns to use: a,b,c.")] = None,
    drop: Annotated[str | None, typer.Option(help="Columns to ignore: a,b,c.")] = None,
) -> None:
    """Write a commented study file: an example, or one for your data with settings that learn.

    With --data, maps, ranges and numbers of qubits are tried by simulation, without a shot. What
    you leave open about columns is inferred from their values, and printed. An existing file is
    not touched.
    """
    from aqka.study.new_study import example, study_of_data

    options = {"target": target, "task": task, "id": id, "features": features, "drop": drop}
    given: dict[str, Any] = {name: str(it) for name, it in options.items() if it is not None}
    if data is None and given:
        first = next(iter(given))
        raise InputError(f"--{first} is about columns of a file; name the file with --data.")
    given |= {name: given[name].split(",") for name in ("features", "drop") if name in given}
    if study.exists():
        raise InputError(f"{inert(study, 300)} exists already; name another file.")
    found: Preflight | None = None
    said: list[str] = []
    if data is None:
        text = example(study.name)
    else:
        text, found, said = study_of_data(study, data, run_with_bar, **given)
    with (
        explained(f"{inert(study, 300)} cannot be written"),
        study.open("x", encoding="utf-8") as stream,
    ):
        stream.write(text)
    if found is not None:
        nested = found.scan.nested
        said.append(
            f"The study file has the best of the settings that were tried; expected "
            f"{found.metrics[0]}: about {nested.means[0]:.2f} ± {nested.errors[0]:.2f} "
            f"(guessing: {found.guessing.means[0]:.2f})."
        )
    said.append(
        f"{inert(study, 300)} is written. Edit it, then run: aqka check {quoted(study)} && "
        f"aqka run {quoted(study)}"
    )
    for sentence in said:
        say(sentence)


def check(
    study: StudyFile,
    write: Annotated[
        bool, typer.Option("--write", help="Put the best settings that were found into the file.")
    ] = False,
    allow_code: AllowCode = False,
    as_json: AsJson = False,
) -> None:
    """Say whether a study's kernel is worth any shots, by simulating it; nothing is spent."""
    from aqka.study.check import StudyCheck
    from aqka.study.new_study import write_settings
    from aqka.study.schema import load_study

    read, text = load_study(study)
    planned = StudyCheck.of(read, study.parent, allow_code=allow_code)
    found = run_with_bar(planned)
    changes = planned.changes(found.scan.candidates[found.scan.best])
    if write and changes:
        write_settings(study, text, changes)
    if as_json:
        written = {"written": changes if write else {}}
        typer.echo(as_json_bytes(found.facts() | written), nl=False)
        return
    print_check(found, Console(), planned.shots)
    if write:
        name = inert(study, 300)
        typer.echo(f"Wrote the best settings to {name}." if changes else f"{name} is unchanged.")


def run_with_bar(check: "StudyCheck") -> "Preflight":
    """Run a check on one thread, with a bar on a terminal."""
    from threadpoolctl import threadpool_limits

    from aqka.insight.preflight import count_steps

    steps = count_steps(len(check.candidates))
    with threadpool_limits(1), progress_bar("simulating", steps) as bar:

        def step(words: str) -> None:
            bar.describe(words)
            bar.advance()

        return check.run(step)


def print_check(
    found: "Preflight", console: Console, shots: str = "the same shots on every pair"
) -> None:
    """Print scores, what the kernel is like, the best settings, and the one sentence."""
    from aqka.insight.recommendation import settings_text

    def scores(model: "FoldScores", count: int | None = None) -> list[str]:
        pairs = list(zip(model.means, model.errors, strict=True))[:count]
        return [f"{mean:.3f} ± {error:.3f}" for mean, error in pairs]

    sample = f" of {found.n_given:,}" if found.n_given > found.n_points else ""
    rows = [[model.name, *scores(model)] for model in found.models]
    title = f"{found.n_points}{sample} non-test points, simulated: no shots spent"
    console.print(make_table(title, ["model", *found.metrics], rows))
    scan = found.scan
    rows = []
    for number in scan.order[:SHOWN] + ([0] if scan.order.index(0) >= SHOWN else []):
        settings = settings_text(scan.candidates[number].settings).replace("feature_map.", "")
        name = inert(settings, 100) + (" (yours)" if not number else "")
        rows.append([name, *scores(scan.scores[number], 1)])
    title = f"the best of {len(scan.candidates)} settings"
    console.print(make_table(title, ["settings", found.metrics[0]], rows))
    for sentence in _sentences(found, shots):
        say(sentence)


def _sentences(found: "Preflight", shots: str) -> list[str]:
    kernel, geometric, forecast = found.concentration, found.geometric, found.forecast
    seen, fewer = "", ""
    if forecast is not None:
        how = "simulates the study's allocator and learner on" if found.null is None else "takes"
        seen = f", as {shots} show them. '{forecast.name}' {how} only half of these folds, so it "
        seen += "can differ"
    if found.n_train < found.n_train_given:  # a sample is too small to train on as many points
        fewer = (
            f", not on the study's {found.n_train_given:,}, with as many shots each: with all "
            "of them every model, plain ones too, may score better"
        )
    return [
        f"Each model is trained on {found.n_train} points{fewer}.",
        f"Settings are scored on the same folds{seen}.",
        "Picking the best of many settings inflates its score, here by "
        f"{max(found.scan.flattery, 0):.3f}; '{found.scan.nested.name}' corrects for this.",
        f"{kernel.words} Entries: {kernel.mean:.3f} on average, spread {kernel.spread:.3f}"
        + ("" if kernel.shot_error is None else f", shot error {kernel.shot_error:.3f}")
        + f"; effective rank {kernel.effective_rank:.1f} of {kernel.n_points}.",
        f"Geometric difference to the nearest plain kernel ({geometric.nearest}): "
        f"{geometric.value:.1f}; far below {geometric.largest:.1f} a plain kernel can learn "
        "whatever this one can.",
        *_about_features(found),
        "",
        inert(found.recommendation.sentence, limit=None),
    ]


def _about_features(found: "Preflight") -> list[str]:
    """Say of a map of many qubits what its features hold that the data do not."""
    from aqka.insight.fold_scores import difference

    if found.linear_share is None or found.null is None:
        return []
    gap = difference(found.own, found.null)
    learnt = "clearly better" if gap.clear else "not clearly better: it has learnt nothing"
    return [
        f"A linear model of the columns explains {percent(found.linear_share, 1)} of the "
        "features' variance, by leaving points out. Against the features of permuted points the "
        f"kernel is {learnt} ({gap})."
    ]
