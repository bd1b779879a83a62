"""Do the files of a run belong together? Its ledger holds the digests of all others.

What a run begins with is sealed in the ledger's first entry, what it ends with in the last one;
each digest is written before the file it is of. A ledger of 0.1.0 has none, and is believed.
"""

import hashlib
from pathlib import Path

from aqka._util.text import inert
from aqka.errors import LedgerError
from aqka.runs.head import read_head
from aqka.runs.history import History
from aqka.runs.ledger import LEDGER_NAME

STUDY_NAME, DATA_NAME, RESULTS_NAME = "study.toml", "data.npz", "results.json"
MAP_NAME = "feature_map.qpy"
PREDICTIONS_NAME = "predictions"  # a directory with a ledger of its own

BEGUN_WITH = (STUDY_NAME, DATA_NAME, MAP_NAME, RESULTS_NAME)


def digest_of(content: bytes) -> str:
    """Return the digest of a file's content."""
    return hashlib.sha256(content).hexdigest()


def digest_files(directory: Path) -> dict[str, str]:
    """Return the digests of the files that a run begins with, by their names."""
    paths = (directory / name for name in BEGUN_WITH)
    return {path.name: digest_of(path.read_bytes()) for path in paths if path.exists()}


def final_digests(directory: Path, results: bytes) -> dict[str, str]:
    """Return the digests of what a run ends with: its results, and the end of its predictions."""
    head = read_head(directory / PREDICTIONS_NAME / LEDGER_NAME)
    digests = {RESULTS_NAME: digest_of(results)}
    if head is not None:
        digests[PREDICTIONS_NAME] = f"{head.entries}:{head.digest.hex()}"
    return digests


def check_seal(directory: Path, history: History) -> None:
    """Refuse a run one of whose files is another one than its ledger knows."""
    if history.files is None:
        return
    now = digest_files(directory)
    for name, digest in history.files.items():
        if name != RESULTS_NAME and now.get(name) != digest:
            _refuse(directory, name, "the run began with")
    # Missing results are written anew when the run is resumed.
    sealed = (history.sealed or {}).get(RESULTS_NAME)
    if now.get(RESULTS_NAME, sealed) not in (history.files.get(RESULTS_NAME), sealed):
        _refuse(directory, RESULTS_NAME, "the run wrote")
    if is_complete(directory, history):
        _check_predictions(directory, history)


def is_complete(directory: Path, history: History) -> bool:
    """Return whether the results are those that were sealed: nothing is left to do."""
    path = directory / RESULTS_NAME
    if history.files is None or history.sealed is None or not path.exists():
        return False
    return digest_of(path.read_bytes()) == history.sealed.get(RESULTS_NAME)


def _check_predictions(directory: Path, history: History) -> None:
    sealed = (history.sealed or {}).get(PREDICTIONS_NAME)
    ledger = directory / PREDICTIONS_NAME / LEDGER_NAME
    head = read_head(ledger)
    found = None if head is None else f"{head.entries}:{head.digest.hex()}"
    if found != sealed or not ledger.exists():
        _refuse(directory, f"{PREDICTIONS_NAME}/{LEDGER_NAME}", "the run ended with")


def _refuse(directory: Path, name: str, what: str) -> None:
    remedy = "Restore the directory from a copy."
    if name == RESULTS_NAME:
        remedy = "Remove it and resume the run, which writes it anew from the ledgers."
    raise LedgerError(
        f"{name} in {inert(directory, 300)} is not the one that {what}: its ledger knows another "
        f"digest. {remedy}"
    )
