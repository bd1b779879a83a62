"""Was it worth it: diagnostics, intervals, hindsight."""

from aqka.insight.diagnostics import Diagnostics, diagnose
from aqka.insight.intervals import with_total_interval

__all__ = ["Diagnostics", "diagnose", "with_total_interval"]
