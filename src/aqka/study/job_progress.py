"""How the jobs stand that a run waits for, as its service says."""

from dataclasses import replace
from pathlib import Path

from aqka.backends.base import JobState
from aqka.backends.runtime import ask_service
from aqka.errors import InputError, JobError, TransientError
from aqka.study import backends
from aqka.study.directory import same_device
from aqka.study.progress import Progress
from aqka.study.schema import load_study
from aqka.study.seal import STUDY_NAME

UNKNOWN = "not known, the service could not be asked"


def ask_jobs(directory: Path, now: Progress) -> Progress:
    """Return the progress with the state of its jobs; a service out of reach is no error."""
    if not now.jobs or not (directory / STUDY_NAME).exists():
        return now
    study, _ = load_study(directory / STUDY_NAME)
    if study.backend.name != "ibm":
        return now
    try:
        device = backends.ibm_device(same_device(study.backend, directory))
        found = ask_service(device, [job.job_id for job in now.jobs])
    except (InputError, JobError, TransientError):
        found = [JobState(job.job_id, UNKNOWN) for job in now.jobs]
    return replace(now, jobs=tuple(found))
