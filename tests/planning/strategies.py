"""What quotes are asked for in the tests: schedules and devices of all kinds."""

from functools import partial

from hypothesis import strategies as st

import aqka
from aqka.allocators.schedule import Schedule
from aqka.planning import Wish
from aqka.planning.device import DeviceModel

ONE_ROUND = Schedule(warmup=0.0, rounds=1)
quote = partial(aqka.quote, wish=Wish(design="pairs"))

schedules = st.builds(
    Schedule, warmup=st.floats(0, 1, allow_subnormal=False), rounds=st.integers(1, 12)
)
devices = st.builds(
    DeviceModel,
    job_overhead=st.floats(0, 10),
    rep_delay=st.floats(1e-5, 1e-2),
    # Small, so that the ceiling matters.
    max_executions=st.integers(1, 2000),
)
