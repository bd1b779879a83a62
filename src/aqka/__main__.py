"""``python -m aqka`` is the command line."""

from aqka.cli import main

main()
