"""The soak as a command."""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

from tests.chaos.soak import soak


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on")
    parser.add_argument("--seed", type=int, default=0, help="of the first scenario")
    parser.add_argument("--only", help="one scenario by its name, for example to repeat a failure")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")  # failed rounds are the purpose
    with tempfile.TemporaryDirectory(prefix="aqka-chaos-") as place:
        tally = soak(Path(place), chosen.seconds, chosen.seed, chosen.only, print)
    print(tally.summary())
    return 0 if tally.clean else 1


sys.exit(main())
