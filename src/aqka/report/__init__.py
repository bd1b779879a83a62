"""The report of a run: what it says, and how it looks."""
