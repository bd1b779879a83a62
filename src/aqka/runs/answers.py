"""What a backend answers is checked before anything is written or believed."""

from aqka._util.text import inert, without_secrets
from aqka.core.plans import Answer, Plan
from aqka.errors import InputError, JobError

MAX_EVIDENCE_CHARACTERS = 2000


class WrongAnswer(JobError):
    """A backend answered with something that does not fit the plan.

    The shots were run, so they count against the budget; the answer is kept as evidence.
    """

    def __init__(self, plan: Plan, answer: object, reason: str) -> None:
        super().__init__(f"the backend's answer cannot be used: {reason}", lost=plan.total)
        self.evidence = as_evidence(answer)


def check_answer(plan: Plan, answer: object) -> Answer:
    """Return a backend's answer, checked before anything is written or believed."""
    try:
        return plan.checked(answer)  # type: ignore[no-any-return]
    except InputError as error:
        raise WrongAnswer(plan, answer, str(error)) from error


def as_evidence(answer: object) -> str:
    """Return what a backend said, as text that is safe to keep."""
    said = without_secrets(f"{type(answer).__name__} {answer!r}")
    return inert(said, MAX_EVIDENCE_CHARACTERS)
