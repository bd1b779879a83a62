"""Was it worth it: diagnostics, intervals, hindsight."""
