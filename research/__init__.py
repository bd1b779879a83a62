"""So that pytest tells research/tests from tests; not installed."""
