"""The soak as a command."""

import argparse
import sys
import warnings

from tests.chaos.file_faults import with_interposer
from tests.chaos.soak import repeat, soak


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on")
    parser.add_argument("--seed", type=int, default=0, help="of the first scenario")
    parser.add_argument("--repeat", type=int, metavar="SEED", help="play the scenario of this seed")
    chosen = parser.parse_args()
    again = with_interposer("tests.chaos")
    if again is not None:
        return again
    warnings.simplefilter("ignore")  # failed rounds are the purpose
    if chosen.repeat is None:
        tally = soak(chosen.seconds, chosen.seed, print)
    else:
        tally = repeat(chosen.repeat, print)
    print(tally.summary())
    return 0 if tally.clean else 1


sys.exit(main())
