"""What a backend answers is checked before anything is written or believed."""

from aqka._util.arrays import IntArray
from aqka._util.secrets import without_secrets
from aqka._util.text import inert
from aqka.core.plans import ShotPlan, checked_hits
from aqka.errors import InputError, JobError

MAX_EVIDENCE_CHARACTERS = 2000


class WrongAnswer(JobError):
    """A backend answered with something that is no hits of the plan.

    The shots were run, so they count against the budget; the answer is kept as evidence.
    """

    def __init__(self, plan: ShotPlan, answer: object, reason: str) -> None:
        super().__init__(f"the backend's answer cannot be used: {reason}", lost=plan.total)
        self.evidence = as_evidence(answer)


def check_answer(plan: ShotPlan, answer: object) -> IntArray:
    """Return a backend's answer as hits, checked before anything is written or believed."""
    try:
        return checked_hits(plan, answer)
    except InputError as error:
        raise WrongAnswer(plan, answer, str(error)) from error


def as_evidence(answer: object) -> str:
    """Return what a backend said, as text that is safe to keep."""
    said = without_secrets(f"{type(answer).__name__} {answer!r}")
    return inert(said, MAX_EVIDENCE_CHARACTERS)
