"""``python -m aqka`` is the command line."""

from aqka.cli.app import main

main()
