"""Runs the command line with a backend that, after some rounds, waits until a file is gone.

``python waiting_run.py FILE ROUNDS run study.toml``. So a test finds the run in the middle of its
work, however fast or slow the machine is.
"""

import sys
import time
from pathlib import Path

from aqka.backends.simulated import SimulatedBackend
from aqka.cli import main

collect = SimulatedBackend.collect


def wait_and_collect(backend, ticket):
    """Collect a ticket; of the round in question only when the file is gone."""
    global left
    left -= 1
    while left < 0 and gate.exists():
        time.sleep(0.01)
    return collect(backend, ticket)


if __name__ == "__main__":
    gate, left = Path(sys.argv[1]), int(sys.argv[2])
    SimulatedBackend.collect = wait_and_collect
    sys.argv[1:] = sys.argv[3:]
    main()
