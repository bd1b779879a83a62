"""The command line: parses, calls, prints."""

from aqka.cli.app import main

__all__ = ["main"]
