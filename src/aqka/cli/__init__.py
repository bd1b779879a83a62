"""The command line: parses, calls, prints."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, also while it is loading."""
    try:
        from aqka.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
