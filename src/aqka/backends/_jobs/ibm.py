"""Jobs sent through IBM's client: the service, its limits and its options."""

import logging
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any

from aqka._util.optional import require
from aqka._util.text import did_you_mean, inert
from aqka.backends._jobs.transpile import FRACTIONAL
from aqka.backends.job_service import EXTRA, JobRequest, JobService
from aqka.errors import InputError

# IBM's job limits: control-system instructions per qubit of all rows of a job together, 26.8
# million, less some for dynamical decoupling; and what a gate counts.
MAX_INSTRUCTIONS = 20_000_000
INSTRUCTIONS = {"rz": 1, "delay": 1, "sx": 2, "x": 2, "cz": 5, "ecr": 5, "measure": 10}
INIT = 50
MAX_EXECUTION_SECONDS = 3 * 3600  # IBM's own limit of one job
FRACTIONAL_GATES = "fractional_gates"
WITHOUT_FRACTIONAL = (
    ("twirling", "enable_gates"),
    ("twirling", "enable_measure"),
    ("dynamical_decoupling", "enable"),
)


logger = logging.getLogger(__name__)


class Pace:
    """Lets five jobs be created in a minute, as IBM does for each token; the next one waits."""

    def __init__(self) -> None:
        self._latest: deque[float] = deque(maxlen=5)
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Return when a job may be created, and count it."""
        with self._lock:
            if len(self._latest) == self._latest.maxlen:
                left = self._latest[0] + 60.0 - time.monotonic()
                if left > 0:
                    logger.info("waiting %.0f s: IBM limits how often jobs are created", left)
                    time.sleep(left)
            self._latest.append(time.monotonic())


class IbmService(JobService):
    """IBM's service, reached through a backend of it, which holds the credentials.

    Nothing of them is read or kept here. ``options`` are the sampler's.
    """

    pace = Pace()  # one for all of this process, which seldom has more than one token

    def __init__(self, backend: Any, options: dict[str, Any]) -> None:
        self.target = backend
        self._options = options

    def __getstate__(self) -> dict[str, Any]:
        """Refuse to be pickled: the backend's service holds a token."""
        raise InputError(
            "a backend of IBM's service cannot be pickled, because its token would be stored too; "
            "create it again in the other process. Tickets are plain text and can be passed on."
        )

    def open(self, mode: str) -> Any:
        client = require("qiskit_ibm_runtime", EXTRA)
        return (client.Session if mode == "session" else client.Batch)(backend=self.target)

    def run(self, request: JobRequest) -> Any:
        sampler = self.sampler(self.handle, request.tags, request.seconds)
        self.pace.wait()
        return sampler.run([(request.circuit, request.values)], shots=request.shots)

    def sampler(self, mode: Any, tags: list[str], seconds: float | None = None) -> Any:
        """Return a sampler with the job's tags, and its QPU time limited to ``seconds``."""
        options = dict(self._options)
        if seconds is not None:
            most = options.get("max_execution_time") or MAX_EXECUTION_SECONDS
            options["max_execution_time"] = max(1, min(most, int(seconds)))
        client = require("qiskit_ibm_runtime.executor_sampler", EXTRA)
        sampler = client.Sampler(mode=mode or self.target, options=options)
        environment = sampler.options.environment
        environment.job_tags = [*(environment.job_tags or []), *tags]
        return sampler

    def job(self, job_id: str) -> Any:
        return self.target.service.job(job_id)

    def jobs(self, tags: list[str]) -> list[Any]:
        found: list[Any] = self.target.service.jobs(job_tags=tags, limit=None)
        return found


def row_limit(circuit: Any) -> int:
    """Return how many rows of a circuit one job may have, by IBM's limit of instructions."""
    load: dict[int, int] = {}
    for step in circuit.data:
        for qubit in step.qubits:
            position = circuit.find_bit(qubit).index
            by_size = 0 if step.name == "barrier" else (2 if len(step.qubits) == 1 else 5)
            load[position] = load.get(position, INIT) + INSTRUCTIONS.get(step.name, by_size)
    return max(1, MAX_INSTRUCTIONS // max(load.values()))


def check_options(options: Any) -> tuple[dict[str, Any], bool]:
    """Return IBM's sampler options, and whether to use fractional gates, which is ours.

    Refuse an option that its sampler does not know, and what does not go with fractional gates.
    """
    if options is None:
        return {}, False
    if not isinstance(options, dict):
        raise InputError(
            "options must be a dict of IBM's sampler options, such as "
            f"{{'max_execution_time': 300}}; got {type(options).__name__}."
        )
    model = require("qiskit_ibm_runtime.options_models.sampler", EXTRA).SamplerOptions
    options = dict(options)
    fractional = options.pop(FRACTIONAL_GATES, False)
    if not isinstance(fractional, bool):
        raise InputError(f"options.{FRACTIONAL_GATES} must be true or false, got {fractional!r}.")
    try:
        model(**options)
    except (ValueError, TypeError) as error:
        raise InputError(_say(error, model)) from None
    seconds = options.get("max_execution_time")
    whole = isinstance(seconds, int) and not isinstance(seconds, bool)
    if seconds is not None and not (whole and 1 <= seconds <= MAX_EXECUTION_SECONDS):
        raise InputError(
            "options.max_execution_time must be a whole number of QPU seconds from 1 to "
            f"{MAX_EXECUTION_SECONDS:,}, got {inert(seconds)}."
        )
    for name, key in WITHOUT_FRACTIONAL if fractional else ():
        if (options.get(name) or {}).get(key):
            raise InputError(
                f"options.{name}.{key} does not go with options.{FRACTIONAL_GATES}, which IBM runs "
                "without twirling and dynamical decoupling; leave one of them out."
            )
    return options, fractional


def with_fractional_gates(device: Any) -> Any:
    """Return a device, or a service's device, whose target has RZZ and RX; refuse one without."""
    client = require("qiskit_ibm_runtime", EXTRA)
    if isinstance(device, client.IBMBackend):
        with suppress(client.IBMInputValueError):  # one without them is refused below
            device = device.service.backend(
                device.name,
                instance=device._instance,  # which is billed; else the first that has the device
                use_fractional_gates=True,
            )
    chip = device.target if isinstance(device, JobService) else device
    target = getattr(chip, "target", None)
    if not {FRACTIONAL, "rx"} <= set(getattr(target, "operation_names", ())):
        name = getattr(chip, "name", type(chip).__name__)
        raise InputError(
            f"{name} has no fractional gates (rzz, rx): leave options.{FRACTIONAL_GATES} out, or "
            "take a Heron device."
        )
    return device


def rep_delay_of(options: dict[str, Any], device: Any) -> float | None:
    """Return the seconds that a device waits before each execution; None: it does not say.

    Refuse a ``rep_delay`` of the options that is outside the device's range.
    """
    chosen = (options.get("execution") or {}).get("rep_delay")
    if chosen is None:
        default = getattr(device, "default_rep_delay", None)
        return float(default) if isinstance(default, (int, float)) else None
    allowed = getattr(device, "rep_delay_range", None)
    if isinstance(allowed, (list, tuple)) and not allowed[0] <= chosen <= allowed[1]:
        raise InputError(
            f"options.execution.rep_delay must lie within {allowed[0]:g} and {allowed[1]:g} s, "
            f"the range of {getattr(device, 'name', 'the device')}; got {chosen:g}."
        )
    return float(chosen)


def _say(error: Exception, model: Any) -> str:
    """Return what is wrong with the first option that is refused."""
    found: list[Any] = getattr(error, "errors", list)()
    if not found:
        return f"options: {inert(error, 300)}."
    place = [str(part) for part in found[0]["loc"]]
    name = ".".join(inert(part) for part in place)
    if found[0]["type"] not in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"options.{name}: {inert(found[0]['msg'], 200)}."
    there = model()
    for part in place[:-1]:
        there = getattr(there, part)
    known = sorted(type(there).model_fields)
    hint = did_you_mean(place[-1], known)
    return f"unknown option {name!r} of IBM's sampler.{hint} Known: {', '.join(known)}."
