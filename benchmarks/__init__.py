"""Measurements: how right and how fast. ``python -m benchmarks`` writes docs/benchmarks.md."""
