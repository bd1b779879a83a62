"""IBM's sampler options, checked before anything is sent: on fake devices too."""

from typing import Any

from aqka._util.optional import require
from aqka._util.text import did_you_mean, inert
from aqka.backends._jobs.ibm import EXTRA
from aqka.errors import InputError

MAX_EXECUTION_SECONDS = 3 * 3600  # IBM's own limit of one job


def check_options(options: Any) -> dict[str, Any]:
    """Return IBM's sampler options as given; refuse one that its sampler does not know."""
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise InputError(
            "options must be a dict of IBM's sampler options, such as "
            f"{{'max_execution_time': 300}}; got {type(options).__name__}."
        )
    model = _options_class()
    try:
        model(**options)
    except (ValueError, TypeError) as error:
        raise InputError(_say(error, model)) from None
    _check_execution_time(options.get("max_execution_time"))
    return dict(options)


def _options_class() -> Any:
    """Return the options of IBM's client-side sampler, or before qiskit-ibm-runtime 0.50 of V2."""
    try:
        return require("qiskit_ibm_runtime.options_models.sampler", EXTRA).SamplerOptions
    except InputError:
        return require("qiskit_ibm_runtime.options", EXTRA).SamplerOptions


def _check_execution_time(seconds: Any) -> None:
    if seconds is None:
        return
    whole = isinstance(seconds, int) and not isinstance(seconds, bool)
    if not whole or not 1 <= seconds <= MAX_EXECUTION_SECONDS:
        raise InputError(
            "options.max_execution_time must be a whole number of QPU seconds from 1 to "
            f"{MAX_EXECUTION_SECONDS:,}, got {inert(seconds)}."
        )


def _say(error: Exception, model: Any) -> str:
    """Return what is wrong with the first option that is refused."""
    found: list[Any] = getattr(error, "errors", list)()
    if not found:
        return f"options: {inert(error, 300)}."
    place = [str(part) for part in found[0]["loc"]]
    name = ".".join(inert(part) for part in place)
    if found[0]["type"] not in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"options.{name}: {inert(found[0]['msg'], 200)}."
    known = _names(model, place[:-1])
    hint = did_you_mean(place[-1], known)
    return f"unknown option {name!r} of IBM's sampler.{hint} Known: {', '.join(known)}."


def _names(model: Any, path: list[str]) -> list[str]:
    """Return the options that there are below a path."""
    there = model()
    for part in path:
        there = getattr(there, part, None)
    fields = getattr(type(there), "model_fields", None) or getattr(
        type(there), "__dataclass_fields__", {}
    )
    return sorted(name for name in fields if not name.startswith("_"))
