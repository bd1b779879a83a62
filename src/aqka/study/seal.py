"""Do the files of a run belong together? Its ledger holds the digests of all others.

What a run begins with is sealed in the ledger's first entry, what it ends with in the last one;
each digest is written before the file it is of. That there are predictions is sealed before the
first of their shots.
"""

import hashlib
from pathlib import Path

from aqka._util.text import inert
from aqka.errors import LedgerError
from aqka.runs.head import NO_ENTRY, read_head, write_head
from aqka.runs.history import History
from aqka.runs.ledger import LEDGER_NAME, Ledger

STUDY_NAME, DATA_NAME, RESULTS_NAME = "study.toml", "data.npz", "results.json"
MAP_NAME = "feature_map.qpy"
PREDICTIONS_NAME = "predictions"  # a directory with a ledger of its own

BEGUN_WITH = (STUDY_NAME, DATA_NAME, MAP_NAME, RESULTS_NAME)
BEGUN = "begun"  # stands for the end of predictions that have none yet


def digest_of(content: bytes) -> str:
    """Return the digest of a file's content."""
    return hashlib.sha256(content).hexdigest()


def digest_files(directory: Path) -> dict[str, str]:
    """Return the digests of the files that a run begins with, by their names."""
    paths = (directory / name for name in BEGUN_WITH)
    return {path.name: digest_of(path.read_bytes()) for path in paths if path.exists()}


def begin_predictions(directory: Path) -> dict[str, str]:
    """Make the head of the predictions' ledger, and return what says that there is one."""
    ledger = directory / PREDICTIONS_NAME / LEDGER_NAME
    try:
        ledger.parent.mkdir(exist_ok=True)
        if not ledger.exists() and read_head(ledger) is None:
            write_head(ledger, NO_ENTRY)
    except OSError as error:
        raise LedgerError(
            f"cannot write in {inert(ledger.parent, 300)}: {error.strerror}; free some space and "
            "resume."
        ) from error
    return {PREDICTIONS_NAME: BEGUN}


def final_digests(results: bytes, predictions_end: str | None) -> dict[str, str]:
    """Return the digests of what a run ends with: its results, and the end of its predictions."""
    predictions = {} if predictions_end is None else {PREDICTIONS_NAME: predictions_end}
    return {RESULTS_NAME: digest_of(results)} | predictions


def check_seal(directory: Path, history: History) -> None:
    """Refuse a run one of whose files is another one than its ledger knows."""
    if history.files is None:
        if (directory / STUDY_NAME).exists():
            raise LedgerError(
                f"{LEDGER_NAME} in {inert(directory, 300)} was not begun by the {STUDY_NAME} "
                "beside it: it knows none of its files. Restore the directory from a copy."
            )
        return  # a run begun from Python is its ledger alone
    now = digest_files(directory)
    for name, digest in history.files.items():
        if name != RESULTS_NAME and now.get(name) != digest:
            _refuse(directory, name, "the run began with")
    # Missing results are written anew when the run is resumed.
    sealed = (history.sealed or {}).get(RESULTS_NAME)
    if now.get(RESULTS_NAME, sealed) not in (history.files.get(RESULTS_NAME), sealed):
        _refuse(directory, RESULTS_NAME, "the run wrote")
    if history.sealed is not None:
        _check_predictions(directory, history.sealed)


def is_complete(directory: Path, history: History) -> bool:
    """Return whether the results are those that were sealed: nothing is left to do."""
    path = directory / RESULTS_NAME
    if history.files is None or history.sealed is None or not path.exists():
        return False
    return digest_of(path.read_bytes()) == history.sealed.get(RESULTS_NAME)


def _check_predictions(directory: Path, sealed: dict[str, str]) -> None:
    ledger = directory / PREDICTIONS_NAME / LEDGER_NAME
    expected = sealed.get(PREDICTIONS_NAME)
    if expected is None:
        as_sealed = not ledger.exists()  # of a run that only trains
    elif expected == BEGUN:
        as_sealed = read_head(ledger) is not None  # the ledger itself knows the rest
    elif not ledger.exists():
        as_sealed = False
    else:
        with Ledger(ledger) as predictions:
            as_sealed = predictions.end() == expected
    if not as_sealed:
        _refuse(directory, f"{PREDICTIONS_NAME}/{LEDGER_NAME}", "the run has bought")


def _refuse(directory: Path, name: str, what: str) -> None:
    remedy = "Restore the directory from a copy."
    if name == RESULTS_NAME:
        remedy = "Remove it and resume the run, which writes it anew from the ledgers."
    raise LedgerError(
        f"{name} in {inert(directory, 300)} is not the one that {what}: its ledger knows another "
        f"digest. {remedy}"
    )
