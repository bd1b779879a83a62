"""How right and how fast. ``python -m benchmarks`` writes docs/measured/benchmarks.md."""
